import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, readlink, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { execa } from 'execa';
import { dir as temporaryDir } from 'tmp-promise';
import { afterEach } from 'vitest';
import { fullScenario, readBase } from '../../src/rehearse/fixture.js';
import { overlay, type JsonObject } from '../../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../../src/rehearse/scratch.js';
import { packageRoot } from '../../src/world/packageRoot.js';

const PROGRAM = path.join(packageRoot(), 'dist', 'cli.js');

/** A folder with a home, a state folder and a temp folder of its own, and the environment that names them. */
export interface Sandbox {
  readonly root: string;
  readonly env: Record<string, string>;
}

export interface Ended {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

const made: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const dispose of made.splice(0)) await dispose();
});

/** Starts the built program and leaves it running. */
export function start(args: readonly string[], at: { cwd: string; env: NodeJS.ProcessEnv }) {
  return execa(process.execPath, [PROGRAM, ...args], {
    cwd: at.cwd,
    env: at.env,
    extendEnv: false,
    reject: false,
    stdin: 'ignore',
  });
}

/** Waits until something has this name. */
export async function until(file: string): Promise<void> {
  while (!existsSync(file)) await wait(20);
}

/** Runs the built program to its end. */
export async function relais(args: readonly string[], at: { cwd: string; env: NodeJS.ProcessEnv }): Promise<Ended> {
  const end = await start(args, at);
  return { code: end.exitCode, stdout: end.stdout, stderr: end.stderr };
}

/** The one JSON object on stdout; throws where there is anything else. */
export function json(end: Ended): any {
  if (end.stdout.split('\n').length !== 1) throw new Error(`not one line: ${end.stdout}`);
  return JSON.parse(end.stdout);
}

/** A sandbox that is removed after the test. */
export async function sandbox(): Promise<Sandbox> {
  const root = await realpath((await temporaryDir({ prefix: 'relais cli' })).path);
  made.push(() => rm(root, { recursive: true, force: true, maxRetries: 3 }));
  for (const folder of ['home', 'state', 'tmp']) await mkdir(path.join(root, folder));
  return {
    root,
    env: {
      PATH: [path.dirname(process.execPath), process.env['PATH'] ?? ''].join(path.delimiter),
      HOME: path.join(root, 'home'),
      RELAIS_STATE_DIR: path.join(root, 'state'),
      TMPDIR: path.join(root, 'tmp'),
      TZ: 'UTC',
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
    },
  };
}

/** A git repository with these files, not committed unless asked; a name that ends in `/` makes a folder. */
export async function project(
  { root, env }: Sandbox,
  files: Readonly<Record<string, string>>,
  options: { commit?: boolean } = {},
): Promise<string> {
  const repo = path.join(root, 'a project');
  await mkdir(repo);
  await git(['init', '--quiet', '--initial-branch=main'], { repo, env });
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(repo, name);
    await mkdir(name.endsWith('/') ? file : path.dirname(file), { recursive: true });
    if (!name.endsWith('/')) await writeFile(file, text);
  }
  if (options.commit === true) await commitAll({ repo, env });
  return repo;
}

/** Runs git in a repository and gives its output. */
export async function git(args: readonly string[], at: { repo: string; env: NodeJS.ProcessEnv }): Promise<string> {
  const { stdout } = await execa('git', args, { cwd: at.repo, env: at.env, extendEnv: false });
  return stdout;
}

export async function commitAll(at: { repo: string; env: NodeJS.ProcessEnv }): Promise<void> {
  await git(['add', '-A'], at);
  await git(['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'Start'], at);
}

/** A committed repository whose agent plays these steps; `task` and `result` are laid over the fixtures' own. */
export async function scripted(scenario: JsonObject, config: JsonObject = {}): Promise<Scratch> {
  const scratch = await makeScratch({
    config: overlay(await readBase('config.json'), config),
    scenario: await fullScenario(scenario),
  });
  made.push(() => scratch.dispose());
  return scratch;
}

export const HONEST: JsonObject = {
  orchestrator: [{ task: {} }],
  builder: [{ do: [{ append: 'src/greet.js', text: '// hello\n' }], result: {} }],
};

export const ASKING: JsonObject = {
  orchestrator: [
    {
      task: {
        task_kind: 'question',
        question: { prompt: 'Which greeting is wanted?', choices: ['Hello', 'Hi'] },
        verification: { fast: [], slow: [] },
      },
    },
  ],
  builder: [{ do: [], result: {} }],
};

/** Writes one file and then sleeps until it is ended. */
export const SLEEPING: JsonObject = {
  orchestrator: [{ task: {} }],
  builder: [{ do: [{ write: 'src/half.js', text: 'x\n' }, { sleep_ms: 60_000 }], result: {} }],
};

/** Every path below a folder with everything lstat tells about it, times included, and its content. */
export async function everything(folder: string): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  const look = async (name: string): Promise<void> => {
    const file = path.join(folder, name);
    const stat = await lstat(file, { bigint: true });
    const about = [stat.mode, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
    const content = stat.isSymbolicLink() ? await readlink(file) : stat.isFile() ? hash(await readFile(file)) : '';
    seen.set(name, `${about} ${content}`);
    if (stat.isDirectory()) for (const child of await readdir(file)) await look(path.join(name, child));
  };
  await look('');
  return seen;
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
