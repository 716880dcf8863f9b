import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { execa } from 'execa';
import { runTick } from '../commands/run.js';
import { identity, processStart } from '../world/host.js';
import { fullScenario, readBase, type Fixture } from './fixture.js';
import { overlay, type JsonObject } from './overlay.js';
import { makeScratch, writeFiles, type Scratch } from './scratch.js';
import { snapshot, type Snapshot } from './snapshot.js';

export type TickEnd = Awaited<ReturnType<typeof runTick>>;

/** A fixture after its last tick, with everything needed to judge it; the scratch still stands. */
export interface Played {
  readonly scratch: Scratch;
  readonly config: JsonObject;
  readonly ends: readonly TickEnd[];
  readonly before: Snapshot;
  readonly after: Snapshot;
  /** HEAD's commit before and after, '' where there is none. */
  readonly headBefore: string;
  readonly headAfter: string;
  readonly stateBefore: string | undefined;
  readonly lockBefore: string | undefined;
  /** How often each role was really called, by the scripted agent's own record. */
  readonly calls: Readonly<Record<string, number>>;
  /** How many checks really ran, by their own record. */
  readonly checks: number;
}

/** Plays a fixture in a scratch repository and hands the remains to `look`; nothing is left behind. */
export async function play<T>(fixture: Fixture, look: (played: Played) => Promise<T>): Promise<T> {
  const config = overlay(await readBase('config.json'), fixture.config);
  const scratch = await makeScratch({
    config,
    ...(fixture.raw_config !== undefined && { rawConfig: fixture.raw_config }),
    files: fixture.files ?? {},
    scenario: await fullScenario(fixture.scenario),
    env: fixture.env ?? {},
  });
  const holder = fixture.lock === undefined ? undefined : await placeLock(scratch.repo, fixture.lock);
  try {
    await prepare(scratch, fixture);
    return await look(await playIn(scratch, fixture, config));
  } finally {
    holder?.kill('SIGKILL');
    await scratch.dispose();
  }
}

async function prepare(scratch: Scratch, fixture: Fixture): Promise<void> {
  await writeFiles(scratch.repo, fixture.untracked ?? {});
  for (const step of fixture.setup ?? []) {
    await execa('/bin/sh', ['-ec', step], { cwd: scratch.repo, env: scratch.env, extendEnv: false });
  }
}

async function playIn(scratch: Scratch, fixture: Fixture, config: JsonObject): Promise<Played> {
  const { repo, env } = scratch;
  const stateBefore = await textOf(path.join(repo, 'relais', 'STATE.json'));
  const lockBefore = await textOf(path.join(repo, 'relais', 'lock.json'));
  const headBefore = await headOf(scratch);
  let before = await snapshot(repo, env);
  const ends: TickEnd[] = [];
  for (let tick = 1; tick <= (fixture.ticks ?? 1); tick += 1) {
    // The promise about the repository is the last tick's.
    if (tick > 1) before = await snapshot(repo, env);
    ends.push(await oneTick(scratch, fixture));
  }
  const calls = ((await textOf(`${scratch.scenario}.calls.ndjson`)) ?? '').split('\n').filter((line) => line !== '');
  const roles = calls.map((line) => (JSON.parse(line) as { role: string }).role);
  return {
    scratch,
    config,
    ends,
    before,
    after: await snapshot(repo, env),
    headBefore,
    headAfter: await headOf(scratch),
    stateBefore,
    lockBefore,
    calls: Object.fromEntries([...new Set(roles)].map((role) => [role, roles.filter((one) => one === role).length])),
    checks: ((await textOf(scratch.checkLog)) ?? '').split('\n').filter((line) => line !== '').length,
  };
}

async function oneTick({ repo, env }: Scratch, { signal }: Fixture): Promise<TickEnd> {
  const controller = new AbortController();
  let ended = false;
  const interrupt = async (plan: NonNullable<Fixture['signal']>): Promise<void> => {
    while (!ended && plan.when_path !== undefined && !existsSync(path.join(repo, plan.when_path))) await wait(20);
    controller.abort(plan.name);
  };
  try {
    return await runTick({
      cwd: repo,
      env,
      signal: controller.signal,
      onPhase: ({ phase }) => {
        if (signal !== undefined && phase.toLowerCase() === signal.after_phase) void interrupt(signal);
      },
    });
  } finally {
    ended = true;
  }
}

/** A lock that another living process holds, one of a boot long gone, or one that is not JSON. */
async function placeLock(
  repo: string,
  kind: NonNullable<Fixture['lock']>,
): Promise<ReturnType<typeof spawn> | undefined> {
  const file = path.join(repo, 'relais', 'lock.json');
  if (kind === 'corrupt') {
    await writeFile(file, '{"pid": 12');
    return undefined;
  }
  const me = { ...(await identity()), run_id: '20260101T120000Z-00000000', started_at: '2026-01-01T12:00:00.000Z' };
  if (kind === 'stale') {
    await writeFile(file, `${JSON.stringify({ ...me, boot_id: '00000000-0000-0000-0000-000000000000' }, null, 2)}\n`);
    return undefined;
  }
  const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const pid = holder.pid ?? 0;
  await writeFile(file, `${JSON.stringify({ ...me, pid, pid_start: (await processStart(pid)) ?? '' }, null, 2)}\n`);
  return holder;
}

async function headOf({ repo, env }: Scratch): Promise<string> {
  const head = await execa('git', ['rev-parse', '--verify', '--quiet', 'HEAD'], {
    cwd: repo,
    env,
    extendEnv: false,
    reject: false,
  });
  return head.exitCode === 0 ? head.stdout : '';
}

/** A file's text, or undefined where there is no such file. */
export async function textOf(file: string): Promise<string | undefined> {
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
}
