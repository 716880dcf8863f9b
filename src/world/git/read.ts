import { lstat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Head, Repository, TrackedFiles } from '../../model.js';
import { GitError, joinZ, type GitCall } from './call.js';
import { decodePath, pathBytes, splitZ } from '../paths.js';
import { ListedIndex } from './trackedFiles.js';

const OPERATIONS: Readonly<Record<string, string>> = {
  MERGE_HEAD: 'a merge',
  CHERRY_PICK_HEAD: 'a cherry-pick',
  REVERT_HEAD: 'a revert',
  BISECT_LOG: 'a bisect',
  'rebase-merge': 'a rebase',
  'rebase-apply': 'a rebase or am',
  sequencer: 'a sequence of picks or reverts',
};

/** HEAD's commit, if there is one, and changed and untracked paths: every file named, renames as two changes. */
export async function status(git: GitCall): Promise<Status> {
  // -uall names every file in a new folder; dirty: git must not start itself inside a submodule.
  const args = ['status', '--porcelain=v2', '--branch', '-z', '-uall', '--no-renames', '--ignore-submodules=dirty'];
  const records = splitZ((await git(args)).stdout);
  const commit = records.find((record) => record.startsWith('# branch.oid '))?.slice('# branch.oid '.length);
  const changes = records
    .filter((record) => !record.startsWith('# '))
    .map((record) => {
      if (record.startsWith('? ')) return { path: record.slice(2), xy: '??' };
      // "1 XY sub mH mI mW hH hI path" and "u XY sub m1 m2 m3 mW h1 h2 h3 path": a path may hold blanks.
      const fields = record.startsWith('1 ') ? 8 : record.startsWith('u ') ? 10 : undefined;
      if (fields === undefined) throw new GitError(args, 0, `a record nobody knows: ${record.slice(0, 80)}`);
      return { path: record.split(' ').slice(fields).join(' '), xy: record.slice(2, 4) };
    });
  return { ...(commit !== undefined && commit !== '(initial)' && { commit }), changes };
}

/** How the work tree and the index differ from HEAD. */
export interface Status {
  readonly commit?: string;
  readonly changes: readonly { readonly path: string; readonly xy: string }[];
}

/** Which operations (merge, rebase, bisect …) are half done in this work tree. */
export async function operationInProgress(repository: Repository): Promise<string[]> {
  const found: string[] = [];
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (await isThere(path.join(repository.gitDir, name))) found.push(operation);
  }
  return found;
}

/** HEAD's branch, commit and tree; undefined while there is no commit. */
export async function head(git: GitCall): Promise<(Head & { readonly tree: string }) | undefined> {
  const names = ['HEAD^{commit}', 'HEAD^{tree}', '--symbolic-full-name', 'HEAD', '--'];
  const answer = await git(['rev-parse', ...names], { answers: [128] });
  const [commit = '', tree = '', name = ''] = line(answer.stdout).split('\n');
  if (answer.exitCode !== 0) return undefined;
  return { ...(name !== 'HEAD' && { ref: name }), commit, tree };
}

/** The object a name stands for; undefined when there is none. */
export async function resolve(git: GitCall, name: string): Promise<string | undefined> {
  const answer = await git(['rev-parse', '--quiet', '--verify', '--end-of-options', name], { answers: [1] });
  return answer.exitCode === 0 ? line(answer.stdout) : undefined;
}

/** The tree of a commit. */
export async function treeOf(git: GitCall, commit: string): Promise<string> {
  const tree = await resolve(git, `${commit}^{tree}`);
  if (tree === undefined) throw new GitError(['rev-parse', `${commit}^{tree}`], 1, 'there is no such tree');
  return tree;
}

/** The user's index, by path. */
export async function indexEntries(git: GitCall): Promise<TrackedFiles> {
  // -v: the letter before the mode is lower case for assume-unchanged, S for skip-worktree.
  return new ListedIndex((await git(['ls-files', '--stage', '-v', '-z'])).stdout);
}

/** The files of a private index whose lstat is another now; undefined where git could not look at all of them. */
export async function differing(git: GitCall, indexFile: string, gitDir: string): Promise<string[] | undefined> {
  const settings = [
    // Everything lstat tells counts, and nobody's configuration says otherwise.
    ['core.trustctime', 'true'],
    ['core.checkStat', 'default'],
    ['core.fileMode', 'true'],
    ['core.ignoreCase', 'false'],
    ['core.precomposeUnicode', 'false'],
    // Looks at the files with several threads.
    ['core.preloadIndex', 'true'],
  ].flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const env = { GIT_DIR: gitDir, GIT_INDEX_FILE: indexFile };
  const answer = await git([...settings, 'diff-files', '-z', '--name-only', '--no-renames'], {
    env,
    answers: [1, 128],
  });
  // A file that git could not look at is only mentioned.
  return answer.exitCode === 0 && answer.stderr === '' ? splitZ(answer.stdout) : undefined;
}

/** Those of the paths that the ignore rules found under ruleRoot (and the user's own) ignore, tracked or not. */
export async function ignored(git: GitCall, paths: readonly string[], ruleRoot: string): Promise<Set<string>> {
  if (paths.length === 0) return new Set();
  // check-ignore refuses to take paths literally; behind "./" no name can be taken for pathspec magic.
  const stdin = joinZ(paths.map((file) => `./${file}`));
  // Exit 1: none of them is ignored.
  const options = { stdin, workTree: ruleRoot, env: { GIT_LITERAL_PATHSPECS: '0' }, answers: [1] };
  const { stdout } = await git(['check-ignore', '--no-index', '-z', '--stdin'], options);
  return new Set(splitZ(stdout).map((file) => file.slice(2)));
}

/** The differing paths of two trees with their mode and blob in the second; oid null where it is gone. */
export async function treeChanges(
  git: GitCall,
  from: string,
  to: string,
): Promise<{ path: string; mode: string; oid: string | null }[]> {
  const { stdout } = await git(['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to]);
  const records = splitZ(stdout);
  const changes: { path: string; mode: string; oid: string | null }[] = [];
  for (let at = 0; at + 1 < records.length; at += 2) {
    const [, mode = '', , oid = '', letter] = (records[at] ?? '').split(' ');
    changes.push({ path: records[at + 1] ?? '', mode, oid: letter === 'D' ? null : oid });
  }
  return changes;
}

/** The content of one object as a stream that fails when git does. */
export function blobTo(git: GitCall, oid: string): Readable {
  return git.stream(['cat-file', 'blob', oid]);
}

/** The size of every object asked for, by its id. */
export async function blobSizes(git: GitCall, oids: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  const { stdout } = await git(['cat-file', '--batch-check=%(objectname) %(objectsize)'], {
    stdin: `${[...new Set(oids)].join('\n')}\n`,
  });
  for (const answer of stdout.toString('latin1').trimEnd().split('\n')) {
    const [oid = '', size = ''] = answer.split(' ');
    if (/^\d+$/.test(size)) sizes.set(oid, Number(size));
  }
  return sizes;
}

/** Those of the paths for which one of the attributes is set to something that changes bytes. */
export async function withAttributes(
  git: GitCall,
  paths: readonly string[],
  attributes: readonly string[],
): Promise<Set<string>> {
  const { stdout } = await git(['check-attr', '-z', '--stdin', ...attributes], { stdin: joinZ(paths) });
  const fields = splitZ(stdout);
  const found = new Set<string>();
  for (let at = 0; at + 2 < fields.length; at += 3) {
    if (!['unspecified', 'unset'].includes(fields[at + 2] ?? '')) found.add(fields[at] ?? '');
  }
  return found;
}

/** The one line git printed, without its line end. */
export function line(stdout: Buffer): string {
  return decodePath(stdout).replace(/\n$/, '');
}

/** A path quoted the way git reads it back from a line. */
export function quoted(file: string): string {
  let text = '"';
  for (const byte of pathBytes(file)) {
    const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    text += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `${text}"`;
}

async function isThere(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
