import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { execa } from 'execa';
import type { Repository } from '../../model.js';
import { pathBytes } from '../paths.js';
import { enclosing, gitProgram, type Environment } from './program.js';
import { trustedPath } from '../programs.js';

/** A git command that failed: never to be taken for "nothing found". */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly argv: readonly string[];
  readonly exitCode: number;
  readonly stderr: string;

  constructor(argv: readonly string[], exitCode: number, stderr: string) {
    super(`git ${argv.join(' ')} failed (exit ${exitCode}): ${stderr.trim() || 'no message'}`);
    this.argv = argv;
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** What the user's own configuration said before anybody else could write to it. */
export interface GitSettings {
  /** The environment the settings were read in, and git is called in. */
  readonly env: Environment;
  readonly name: string;
  readonly email: string;
  /** Passed to every call as if given with `-c`, in order. */
  readonly config: readonly (readonly [key: string, value: string])[];
}

/** One hardened call: bytes in, bytes out. */
export interface CallOptions {
  readonly stdin?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Stands in for the work tree; also the folder git is started in. */
  readonly workTree?: string;
  /** Exit codes that are answers, besides 0. */
  readonly answers?: readonly number[];
}

export interface Answer {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** The one way git is started for a repository. */
export interface GitCall {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workTree: string;
  (args: readonly string[], options?: CallOptions): Promise<Answer>;
  /** The same with stdout as a stream, which fails when git does; destroying it ends git. */
  stream(args: readonly string[], stdin?: string): Readable;
  /** A process to ask again and again; it ends when its stdin does. */
  talk(args: readonly string[]): { readonly stdin: Writable; readonly stdout: Readable; readonly ended: Promise<void> };
}

const MAX_BUFFER = 1024 * 1024 * 1024;

const OVERRIDES: readonly (readonly [string, string])[] = [
  // Programs a repository could name.
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', ''],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['commit.gpgSign', 'false'],
  ['log.showSignature', 'false'],
  // Nothing is fetched, repacked or done in submodules behind our back.
  ['protocol.allow', 'never'],
  ['submodule.recurse', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  // Output that can be parsed; a conversion warning must not become an error.
  ['core.quotePath', 'false'],
  ['color.ui', 'false'],
  ['core.safecrlf', 'false'],
  ['i18n.commitEncoding', 'UTF-8'],
  ['i18n.logOutputEncoding', 'UTF-8'],
];

/** Makes the one function through which git is called, with nothing inherited that could redirect it. */
export function hardenedGit(repository: Repository, settings: GitSettings): GitCall {
  const program = gitProgram(repository.workTree, settings.env);
  const env = hardenedEnv(repository, settings);
  const call = async (args: readonly string[], options: CallOptions = {}): Promise<Answer> => {
    const tree = options.workTree ?? repository.workTree;
    const answer = await callGit(program, args, tree, { ...env, GIT_WORK_TREE: tree, ...options.env }, options.stdin);
    if (answer.exitCode === 0 || options.answers?.includes(answer.exitCode)) return answer;
    throw new GitError(args, answer.exitCode, answer.stderr);
  };
  const stream = (args: readonly string[], stdin?: string): Readable =>
    streamGit(program, args, { cwd: repository.workTree, env: { ...env, GIT_WORK_TREE: repository.workTree } }, stdin);
  const talk = (args: readonly string[]): ReturnType<GitCall['talk']> =>
    talkGit(program, args, { cwd: repository.workTree, env: { ...env, GIT_WORK_TREE: repository.workTree } });
  return Object.assign(call, {
    program,
    env: { ...env, GIT_WORK_TREE: repository.workTree },
    workTree: repository.workTree,
    stream,
    talk,
  });
}

/** Git as the user would get it, for finding the repository and reading the settings before the Hands. */
export async function plainGit(cwd: string, args: readonly string[], given: Environment): Promise<Answer> {
  const root = enclosing(cwd);
  const env: Record<string, string> = {
    ...inherited(root, given),
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
  };
  // These say where the user's own configuration is; every other GIT_* could redirect us.
  for (const name of ['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM']) {
    const value = given[name];
    if (value !== undefined) env[name] = value;
  }
  return callGit(gitProgram(root, given), args, cwd, env, undefined);
}

/** Paths for `-z --stdin`. */
export function joinZ(paths: readonly string[]): Buffer {
  const nul = Buffer.from([0]);
  return Buffer.concat(paths.flatMap((file) => [pathBytes(file), nul]));
}

/** Ctrl-C on a terminal reaches every process of the group: git is not to be cut off in the middle of a rollback. */
const OWN_GROUP = { detached: true, extendEnv: false, reject: false } as const;

async function callGit(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
  stdin: string | Buffer | undefined,
): Promise<Answer> {
  const options = { ...OWN_GROUP, cwd, env, encoding: 'buffer', stripFinalNewline: false } as const;
  const result = await execa(program, [...args], { ...options, input: stdin ?? '', maxBuffer: MAX_BUFFER });
  // Where the program could not even be started there is no output.
  const stderr = Buffer.from(result.stderr ?? '').toString('utf8');
  if (result.exitCode === undefined || result.isMaxBuffer)
    throw new GitError(args, -1, stderr || (result.shortMessage ?? 'it did not start'));
  return { exitCode: result.exitCode, stdout: Buffer.from(result.stdout), stderr };
}

function streamGit(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
  stdin: string | undefined,
): Readable {
  const buffer = { stdout: false, stderr: true } as const;
  const child = execa(program, [...args], {
    ...OWN_GROUP,
    ...options,
    encoding: 'buffer',
    buffer,
    input: stdin ?? '',
  });
  // Held back until git has ended well: the end of a broken object must not look like its end.
  const out = new PassThrough();
  const finish = async (): Promise<void> => {
    const [result] = await Promise.all([child, pipeline(child.stdout, out, { end: false })]);
    if (result.exitCode !== 0)
      throw new GitError(args, result.exitCode ?? -1, Buffer.from(result.stderr).toString('utf8'));
    out.end();
  };
  finish().catch((error: unknown) => out.destroy(error as Error));
  out.once('close', () => child.kill());
  return out;
}

function talkGit(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
): ReturnType<GitCall['talk']> {
  const child = execa(program, [...args], {
    ...OWN_GROUP,
    ...options,
    encoding: 'buffer',
    buffer: false,
    stdin: 'pipe',
    stderr: 'ignore',
  });
  // A git that ended early, or never started, is told by its stdout ending before the answer.
  for (const stream of [child.stdin, child.stdout]) stream.on('error', () => undefined);
  return { stdin: child.stdin, stdout: child.stdout, ended: child.then(() => undefined) };
}

function hardenedEnv(repository: Repository, settings: GitSettings): Record<string, string> {
  const config = [...settings.config, ...OVERRIDES];
  const env: Record<string, string> = {
    ...inherited(repository.workTree, settings.env),
    LC_ALL: 'C',
    GIT_DIR: repository.gitDir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: settings.name,
    GIT_AUTHOR_EMAIL: settings.email,
    GIT_COMMITTER_NAME: settings.name,
    GIT_COMMITTER_EMAIL: settings.email,
    GIT_CONFIG_COUNT: String(config.length),
  };
  for (const [index, [key, value]] of config.entries()) {
    env[`GIT_CONFIG_KEY_${index}`] = key;
    env[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return env;
}

/** What git and a filter like git-lfs need from us: no GIT_*, and no program folder inside the repository. */
function inherited(workTree: string, given: Environment): Record<string, string> {
  const env: Record<string, string> = { PATH: trustedPath(given['PATH'], workTree) };
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'TMPDIR', 'USER', 'LOGNAME', 'TZ']) {
    const value = given[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}
