import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { execa } from 'execa';
import { afterEach, describe, expect, it } from 'vitest';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import type { JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';
import { differences, snapshot } from '../src/rehearse/snapshot.js';

const CLI = path.resolve('dist/cli.js');
/** Longer than a living tick ever goes without a sign. */
const DEAD_FOR_SURE_MS = 2500;

let scratch: Scratch | undefined;

afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

async function prepared(scenario: JsonObject): Promise<Scratch> {
  const config = await readBase('config.json');
  const made = await makeScratch({ config, scenario: await fullScenario(scenario) });
  // In a namespace nothing outlives the runner, and a process does not know its number outside.
  scratch = { ...made, env: { ...made.env, RELAIS_CONTAINMENT: 'group' } };
  return scratch;
}

async function relais({ repo, env }: Scratch, ...args: string[]) {
  return execa(process.execPath, [CLI, ...args], { cwd: repo, env, extendEnv: false, reject: false, all: true });
}

async function git({ repo, env }: Scratch, ...args: string[]): Promise<string> {
  return (await execa('git', args, { cwd: repo, env, extendEnv: false })).stdout;
}

async function appears(file: string): Promise<void> {
  for (let round = 0; round < 1500 && !existsSync(file); round += 1) await wait(20);
  if (!existsSync(file)) throw new Error(`${file} did not appear`);
}

/** Starts a tick, waits for a file and kills the runner, and only it, without warning. */
async function killed(at: Scratch, when: string): Promise<void> {
  const child = spawn(process.execPath, [CLI, 'run'], { cwd: at.repo, env: at.env, stdio: 'ignore' });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  await appears(path.join(at.repo, when));
  child.kill('SIGKILL');
  await gone;
}

async function pidOf(at: Scratch, role: string): Promise<number> {
  const lines = (await readFile(`${at.scenario}.calls.ndjson`, 'utf8')).trim().split('\n');
  const call = lines.map((line) => JSON.parse(line) as { role: string; pid: number }).find((one) => one.role === role);
  if (call === undefined) throw new Error(`no ${role} was called`);
  return call.pid;
}

/** A process nobody has waited for is still there, but dead. */
async function isAlive(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return (await execa('ps', ['-p', String(pid)], { reject: false })).exitCode === 0;
  const stat = existsSync(`/proc/${pid}`) ? await readFile(`/proc/${pid}/stat`, 'latin1') : '';
  return /^\d+ \(.*\) [^ZX]/.test(stat);
}

const WRITES_AND_HANGS = {
  orchestrator: [{ task: {} }],
  builder: [
    {
      do: [
        { write: 'src/greet.js', text: 'export const half = 1;\n' },
        { write: 'docs/guide.md', text: 'gone\n' },
        { write: 'src/half.js', text: '1\n' },
        { sleep_ms: 60_000 },
      ],
      result: {},
    },
    { do: [], result: {} },
  ],
} as unknown as JsonObject;

describe('a runner killed while the Hands work', () => {
  it('blocks the next tick, and recover undoes it, keeps the work and ends the orphan', async () => {
    const at = await prepared(WRITES_AND_HANGS);
    const before = await snapshot(at.repo, at.env);
    await killed(at, 'src/half.js');
    const orphan = await pidOf(at, 'builder');
    expect(await isAlive(orphan)).toBe(true);

    const next = await relais(at, 'run');
    expect(next.exitCode).toBe(3);
    expect(next.all).toContain('BLOCKED_CRASH_RECOVERY_REQUIRED');
    expect(next.all).toContain('relais recover');

    const dry = await relais(at, 'recover', '--dry-run');
    expect(dry.all).toContain('interrupted in build');
    expect(existsSync(path.join(at.repo, 'src/half.js'))).toBe(true);

    const recovered = await relais(at, 'recover', '--json');
    expect(recovered.exitCode).toBe(0);
    const told = JSON.parse(recovered.stdout) as { steps: string[]; left: string[] };
    expect(told.left).toEqual([]);
    // Only Linux shows a process's marker to others.
    expect(await isAlive(orphan)).toBe(process.platform !== 'linux');
    const after = await snapshot(at.repo, at.env);
    expect(differences(before, after).filter((name) => !name.startsWith('ref refs/relais/'))).toEqual([]);

    const [ref = ''] = (await git(at, 'for-each-ref', '--format=%(refname)', 'refs/relais/rejected')).split('\n');
    expect(await git(at, 'show', `${ref}:docs/guide.md`)).toBe('gone');

    expect((await relais(at, 'recover')).all).toContain('Nothing was interrupted');
    expect((await relais(at, 'run')).exitCode).toBe(0);
  });

  it('leaves alone what the user edited since', async () => {
    const at = await prepared(WRITES_AND_HANGS);
    await killed(at, 'src/half.js');
    await wait(DEAD_FOR_SURE_MS);
    await writeFile(path.join(at.repo, 'docs/guide.md'), 'my own words\n');
    const recovered = await relais(at, 'recover');
    expect(recovered.exitCode).toBe(0);
    expect(recovered.all).toContain('docs/guide.md was edited after');
    expect(await readFile(path.join(at.repo, 'docs/guide.md'), 'utf8')).toBe('my own words\n');
    expect(await git(at, 'status', '--porcelain')).toBe(' M docs/guide.md');
  });

  it('does not undo a commit the user made since, and --keep closes the tick', async () => {
    const at = await prepared(WRITES_AND_HANGS);
    await killed(at, 'src/half.js');
    process.kill(await pidOf(at, 'builder'), 'SIGKILL');
    await wait(DEAD_FOR_SURE_MS);
    await git(at, 'commit', '-qam', 'mine');
    const mine = await git(at, 'rev-parse', 'HEAD');
    const refused = await relais(at, 'recover');
    expect(refused.exitCode).toBe(2);
    expect(refused.all).toContain('relais recover --keep');
    expect(await git(at, 'rev-parse', 'HEAD')).toBe(mine);
    expect(existsSync(path.join(at.repo, 'src/half.js'))).toBe(true);
    expect((await relais(at, 'recover', '--keep')).exitCode).toBe(0);
    expect(await git(at, 'rev-parse', 'HEAD')).toBe(mine);
    expect((await relais(at, 'recover')).all).toContain('Nothing was interrupted');
  });
});

describe('a runner killed while the Brain thinks', () => {
  it('changes nothing, and the next tick goes on by itself with the call counted', async () => {
    const at = await prepared({
      orchestrator: [{ do: [{ sh: 'touch ../thinking' }, { sleep_ms: 60_000 }], task: {} }, { task: {} }],
      builder: [{ do: [], result: {} }],
    });
    await killed(at, '../thinking');
    process.kill(await pidOf(at, 'orchestrator'), 'SIGKILL');
    const next = await relais(at, 'run');
    expect(next.exitCode).toBe(0);
    const state = JSON.parse(await readFile(path.join(at.repo, 'relais/STATE.json'), 'utf8')) as {
      milestones: { ticks: number; orchestrator_calls: number }[];
    };
    expect(state.milestones[0]).toMatchObject({ ticks: 2, orchestrator_calls: 2 });
  });
});

const ASKS = {
  orchestrator: [
    {
      task: {
        task_kind: 'question',
        question: { prompt: 'Which one?', choices: ['This', 'That'] },
        verification: { fast: [], slow: [] },
      },
    },
  ],
  builder: [{ do: [], result: {} }],
} as unknown as JsonObject;
const PRELOAD = path.resolve('scripts/faults/preload.cjs');

describe('a runner killed while it reports', () => {
  it('has its report, its history and its question written by recover, and answered once', async () => {
    const at = await prepared(ASKS);
    const copy = path.join(at.root, 'copy');
    await cp(at.repo, copy, { recursive: true });
    const tick = (env: NodeJS.ProcessEnv, cwd = at.repo) =>
      execa(process.execPath, ['--require', PRELOAD, CLI, 'run'], { cwd, env, extendEnv: false, reject: false });
    const trace = path.join(at.root, 'trace');
    await tick({ ...at.env, RELAIS_FAULT_TRACE: trace }, copy);
    const points = (await readFile(trace, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const { point } = points.find(
      ({ phase, kind, what }) => phase === 'REPORT' && kind === 'rename' && /STATE\.json/.test(what),
    );
    await rm(`${at.scenario}.calls.ndjson`, { force: true });
    expect((await tick({ ...at.env, RELAIS_FAULT: `${point}:before:SIGKILL` })).signal).toBe('SIGKILL');
    expect(existsSync(path.join(at.repo, 'relais/REPORT.json'))).toBe(false);

    expect((await relais(at, 'run')).exitCode).toBe(3);
    expect((await relais(at, 'recover')).exitCode).toBe(0);
    const report = JSON.parse(await readFile(path.join(at.repo, 'relais/REPORT.json'), 'utf8'));
    expect(report).toMatchObject({ code: 'SUCCESS', task: { task_kind: 'question' } });
    const history = path.join(at.repo, 'relais/history', report.run_id);
    for (const name of ['report.json', 'meta.json', 'report.md', 'diff.patch', 'verify.log'])
      expect(existsSync(path.join(history, name)), name).toBe(true);
    expect((await relais(at, 'run')).exitCode).toBe(1);
    expect((await relais(at, 'answer', '--choice', '1')).exitCode).toBe(0);
    expect((await relais(at, 'answer', '--choice', '1')).exitCode).toBe(3);
  });
});
