import { readdirSync, readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { afterEach, describe, expect, it } from 'vitest';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import { overlay, type JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';
import { differences, snapshot } from '../src/rehearse/snapshot.js';
import { packageRoot } from '../src/world/packageRoot.js';

const MB = 1024 * 1024;
const LIMIT_MB = 300;
const PROGRAM = path.join(packageRoot(), 'dist/cli.js');
/** Said by the runner itself as it ends: the most it ever held, which a look from outside could miss. */
const TELL = `
import { readFileSync, writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.RELAIS_TEST_PEAK, readFileSync('/proc/self/status')));
`;

let scratch: Scratch | undefined;

afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

interface Plan {
  /** Shell steps before the tick. */
  readonly setup?: string;
  /** What the Hands do in the work tree. */
  readonly sh?: string;
  /** Stands in for the builder's program, called with its arguments. */
  readonly program?: string;
  readonly task?: JsonObject;
}

interface Weighed {
  readonly code: string;
  readonly evidence: string;
  /** Megabytes at the most: the runner, and the heaviest of its git processes as far as a look now and then shows. */
  readonly runnerMb: number;
  readonly gitMb: number;
  readonly changed: readonly string[];
}

/** Plays one tick as a process of its own and weighs it. */
async function weigh({ setup, sh, program, task = {} }: Plan): Promise<Weighed> {
  const base = await readBase('config.json');
  const scenario = await fullScenario({
    orchestrator: [{ task }],
    builder: [{ do: sh === undefined ? [] : [{ sh }], result: {} }],
  });
  scratch = await makeScratch({ config: base, scenario });
  const { repo, root, env } = scratch;
  if (program !== undefined) await useProgram(scratch, base, program);
  if (setup !== undefined) await execa('/bin/sh', ['-ec', setup], { cwd: repo, env, extendEnv: false });
  const before = await snapshot(repo, env);
  const peak = path.join(root, 'peak');
  await writeFile(path.join(root, 'tell.mjs'), TELL);
  const child = execa(process.execPath, ['--import', path.join(root, 'tell.mjs'), PROGRAM, 'run', '--json'], {
    cwd: repo,
    env: { ...env, RELAIS_TEST_PEAK: peak },
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
  let gitMb = 0;
  const watch = setInterval(() => (gitMb = Math.max(gitMb, heaviestGit(child.pid ?? 0))), 20);
  const end = await child;
  clearInterval(watch);
  const said = JSON.parse(end.stdout) as { code: string; evidence: string[] };
  const weighed = {
    code: said.code,
    evidence: said.evidence.join('\n'),
    runnerMb: peakOf(await readFile(peak, 'utf8')),
    gitMb,
    changed: differences(before, await snapshot(repo, env)),
  };
  console.log(`${said.code}: runner ${weighed.runnerMb} MB, git ${gitMb} MB at the most`);
  return weighed;
}

/** Another program than the scripted one for the builder, the way an operator would configure it. */
async function useProgram({ repo, root, env }: Scratch, base: JsonObject, program: string): Promise<void> {
  const file = path.join(root, 'agent.sh');
  await writeFile(file, program);
  await chmod(file, 0o755);
  const config = overlay(base, { claude_code_cli: { command: file }, builder: { agent: 'claude' } });
  await writeFile(path.join(repo, 'relais.config.json'), JSON.stringify(config));
  await execa('git', ['commit', '-qam', 'Another program'], { cwd: repo, env, extendEnv: false });
}

/** VmHWM, in megabytes. */
function peakOf(status: string): number {
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024);
}

/** The most that any git process started by this one holds or held. */
function heaviestGit(pid: number): number {
  const parents = new Map<string, string[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = /\) \S (\d+) /.exec(readIfThere(`/proc/${name}/stat`))?.[1] ?? '';
    parents.set(parent, [...(parents.get(parent) ?? []), name]);
  }
  const gits = (parents.get(String(pid)) ?? []).filter((one) => readIfThere(`/proc/${one}/comm`).startsWith('git'));
  return Math.max(0, ...gits.map((one) => peakOf(readIfThere(`/proc/${one}/status`))).filter(Number.isFinite));
}

/** Processes end while they are looked at. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}

/** Text in lines of 64 characters; nothing in it compresses to nothing, and none of it is binary. */
const text = (megabytes: number): string =>
  `head -c ${(megabytes * MB * 3) / 4} /dev/urandom | base64 -w 64 | head -c ${megabytes * MB}`;
const FLOOD = `head -c ${500 * MB} /dev/zero | tr '\\0' x`;
const NEW = { scope: { allow_new_files: true } };
const WIDEST = { ...NEW, diff_limits: { max_files_touched: 5, max_lines_changed: 5000 } };

describe.skipIf(process.platform !== 'linux')('a tick stays small', () => {
  it('with a builder that writes 500 MB to stdout', async () => {
    const end = await weigh({ program: `#!/bin/sh\n${FLOOD}\n` });
    expect(end.code).toBe('STOP_INTERRUPTED');
    expect(end.evidence).toContain('more output than the runner accepts');
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 120_000);

  it('with a builder that writes 500 MB of short lines to stdout', async () => {
    const end = await weigh({ program: `#!/bin/sh\nyes | head -c ${500 * MB}\n` });
    expect(end.code).toBe('STOP_INTERRUPTED');
    expect(end.evidence).toContain('more output than the runner accepts');
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 120_000);

  it('with a builder that writes 500 MB to stderr', async () => {
    const end = await weigh({ sh: `${FLOOD} >&2` });
    expect(end.code).toBe('STOP_INTERRUPTED');
    expect(end.evidence).toContain('more output than the runner accepts');
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 120_000);

  it('with a sparse file of 2 GB in scope', async () => {
    const end = await weigh({ sh: 'truncate -s 2G src/huge.bin', task: WIDEST });
    expect(end.code).toBe('STOP_DIFF_TOO_LARGE');
    expect(end.evidence).toContain(`${Math.ceil((2048 * MB) / 80)} lines changed`);
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.gitMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 120_000);

  it('with a text file of 500 MB in scope', async () => {
    const end = await weigh({ sh: `${text(500)} > src/huge.txt`, task: WIDEST });
    expect(end.code).toBe('STOP_DIFF_TOO_LARGE');
    expect(end.evidence).toContain(`${Math.ceil((500 * MB) / 80)} lines changed`);
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.gitMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 300_000);

  it('with files just small enough to be counted line by line', async () => {
    const end = await weigh({ sh: `for i in 1 2 3 4 5; do ${text(15.5)} > src/$i.txt; done`, task: WIDEST });
    expect(end.code).toBe('STOP_DIFF_TOO_LARGE');
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.gitMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 120_000);

  it('with a tracked file of 100 MB that is rewritten', async () => {
    const end = await weigh({
      setup: `${text(100)} > src/huge.txt && git add . && git commit -qm Huge`,
      sh: `${text(100)} > src/huge.txt`,
      task: WIDEST,
    });
    expect(end.code).toBe('STOP_DIFF_TOO_LARGE');
    expect(end.evidence).toContain(`${2 * Math.ceil((100 * MB) / 80)} lines changed`);
    expect(end.runnerMb).toBeLessThan(LIMIT_MB);
    expect(end.gitMb).toBeLessThan(LIMIT_MB);
    expect(end.changed).toEqual([]);
  }, 300_000);
});
