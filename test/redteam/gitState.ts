import { readFileSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import { bytePath, describe, walkAll, type Things } from './walk.js';

/** Git as a user would call it, by bytes: output is latin1. */
export async function git(repo: string, ...args: string[]): Promise<{ exitCode: number; stdout: string }> {
  const done = await execa('git', args, {
    cwd: repo,
    env: {
      PATH: process.env['PATH'],
      HOME: '/nonexistent',
      LC_ALL: 'C',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_OPTIONAL_LOCKS: '0',
    },
    extendEnv: false,
    reject: false,
    encoding: 'latin1',
    stripFinalNewline: false,
    all: true,
  });
  const ok = done.exitCode === 0;
  return { exitCode: done.exitCode ?? -1, stdout: ok ? done.stdout : `failed: ${done.all}` };
}

/** Where a repository keeps its own files. */
export function gitDirOf(repo: string): string {
  return path.join(repo, '.git');
}

const VOLATILE = /(^|\/)(COMMIT_EDITMSG|ORIG_HEAD|FETCH_HEAD|gc\.log)$/;
const OF_REPOSITORY = /^((modules|worktrees)\/.+\/)?(index|logs|objects\/(?!info(\/|$)).*)$/;

/** Git's own files but refs, index, logs and objects, which have other ways of being the same. */
export function metadataOf(repo: string): Things {
  return walkAll(gitDirOf(repo), (name) => {
    if (name.endsWith('.lock')) return false;
    return name === 'refs' || name === 'packed-refs' || VOLATILE.test(name) || OF_REPOSITORY.test(name);
  });
}

/** What every ref is, loose and packed together, by own reading. */
export function refsOf(repo: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of textAt(repo, 'packed-refs').split('\n')) {
    const [, value = '', name = ''] = /^([0-9a-f]{40,64}) (.+)$/.exec(line) ?? [];
    if (name !== '') refs.set(name, value);
  }
  for (const [name, thing] of walkAll(path.join(gitDirOf(repo), 'refs'))) {
    if (thing.kind === 'dir') continue;
    const value = thing.kind === 'file' ? textAt(repo, `refs/${name}`).trimEnd() : describe(thing);
    refs.set(`refs/${name}`, value);
  }
  return refs;
}

/** The commit HEAD and the branch it names stand at. */
export function headOf(repo: string): { readonly ref: string | undefined; readonly commit: string | undefined } {
  const text = textAt(repo, 'HEAD').trimEnd();
  const ref = text.startsWith('ref: ') ? text.slice('ref: '.length) : undefined;
  return { ref, commit: ref === undefined ? text : refsOf(repo).get(ref) };
}

/** Every line of every log, by the ref it belongs to. */
export function logsOf(repo: string): Map<string, string> {
  const logs = new Map<string, string>();
  for (const [name, thing] of walkAll(path.join(gitDirOf(repo), 'logs')))
    if (thing.kind === 'file') logs.set(name, textAt(repo, `logs/${name}`));
  return logs;
}

/** Refs, index entries with all flags, and the stash, each under a name of its own. */
export async function gitEntries(repo: string): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  const [refs, staged, flags, tags, stash] = await Promise.all([
    git(repo, 'for-each-ref', '--format=%(refname)%00%(objectname)%00%(symref)'),
    git(repo, 'ls-files', '-s', '-z'),
    git(repo, 'ls-files', '--debug', '-z'),
    git(repo, 'ls-files', '-v', '-t', '-z'),
    git(repo, 'stash', 'list', '--format=%H %gd %gs'),
  ]);
  for (const [name, value] of refsOf(repo)) entries.set(`ref ${name}`, value);
  for (const line of refs.stdout.split('\n')) {
    const [name = '', ...values] = line.split('\0');
    if (name !== '') add(entries, `ref ${name}`, `(git: ${values.join(' ')})`);
  }
  for (const line of staged.stdout.split('\0')) {
    const [facts, name] = split(line, '\t');
    if (name !== undefined) add(entries, `index ${name}`, facts);
  }
  for (const line of tags.stdout.split('\0')) {
    const [tag, name] = split(line, ' ');
    if (name !== undefined) add(entries, `index ${name}`, tag);
  }
  for (const [, name = '', flag = ''] of flags.stdout.matchAll(/([^\0]+)\0 {2}ctime: [^\0]*?flags: (\w+)\n/g))
    add(entries, `index ${name}`, flag);
  for (const answer of [refs, staged, flags, tags, stash])
    if (answer.exitCode !== 0) add(entries, 'git', answer.stdout);
  entries.set('stash', stash.stdout);
  return entries;
}

/** Every object that refs, logs and the index of a repository need. */
export async function neededObjects(repo: string): Promise<string[]> {
  const { stdout } = await git(repo, 'rev-list', '--objects', '--all', '--reflog', '--indexed-objects');
  return stdout
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .filter((id) => id !== '');
}

/** Which of these objects a repository lacks. */
export async function missingObjects(repo: string, ids: readonly string[]): Promise<string[]> {
  const done = await execa('git', ['cat-file', '--batch-check'], { cwd: repo, input: ids.join('\n'), reject: false });
  return done.stdout.split('\n').filter((line) => line.endsWith(' missing'));
}

function add(entries: Map<string, string>, name: string, value: string): void {
  const before = entries.get(name);
  entries.set(name, before === undefined ? value : `${before} ${value}`);
}

function split(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function textAt(repo: string, name: string): string {
  try {
    return readFileSync(bytePath(gitDirOf(repo), name), 'latin1');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES'].includes(code)) return '';
    throw error;
  }
}
