import path from 'node:path';
import { GitError, joinZ, type GitCall } from './call.js';
import { commitTree } from './write.js';
import { decodePath, splitZ } from '../paths.js';

/** What three trees make together, or the paths at which they can't agree. */
export type Merged = { readonly tree: string } | { readonly conflicts: readonly string[] };

/** Three-way merge of trees alone: no work tree, no index, no attributes of files are looked at. */
export async function mergeTrees(
  git: GitCall,
  trees: { readonly base: string; readonly ours: string; readonly theirs: string },
  emptyDir: string,
): Promise<Merged> {
  // merge-tree wants commits, and finds the base by itself: these stand for the trees and nothing else.
  const standIn = (tree: string, parents: readonly string[]): Promise<string> =>
    commitTree(git, { tree, parents, message: 'stands for a tree\n', date: new Date(0) });
  const base = await standIn(trees.base, []);
  const sides = [await standIn(trees.ours, [base]), await standIn(trees.theirs, [base])];
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ...sides];
  const env = { GIT_INDEX_FILE: path.join(emptyDir, 'no-index') };
  const answer = await git(args, { env, workTree: emptyDir, answers: [1] });
  const [tree, ...conflicts] = splitZ(answer.stdout);
  if (tree === undefined) throw new GitError(args, answer.exitCode, answer.stderr);
  if (answer.exitCode === 0) return { tree };
  if (conflicts.length === 0) throw new GitError(args, 1, answer.stderr);
  return { conflicts: [...new Set(conflicts)].sort() };
}

/** Writes files and links of an index below a folder, as a checkout would: the attributes in that index and the user's filters apply. */
export async function checkOut(
  git: GitCall,
  indexFile: string,
  folder: string,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  await git(['checkout-index', '-q', '-z', '--stdin'], {
    stdin: joinZ(paths),
    workTree: folder,
    env: { GIT_INDEX_FILE: indexFile },
  });
}

/** Removes a ref that still stands there; false where it does not. */
export async function deleteRef(git: GitCall, ref: string, from: string): Promise<boolean> {
  return (await git(['update-ref', '--no-deref', '-d', ref, from], { answers: [1, 128] })).exitCode === 0;
}

/** One commit, read without following any ref. */
export interface CommitObject {
  readonly tree: string;
  readonly parents: readonly string[];
  /** When it was committed, in seconds. */
  readonly seconds: number;
  readonly message: string;
}

const MAX_COMMIT = 1024 * 1024;

/** Reads many commits in one process; what is no commit, is missing or far too large is left out. */
export async function readCommits(git: GitCall, oids: readonly string[]): Promise<Map<string, CommitObject>> {
  const found = new Map<string, CommitObject>();
  const commits = await plainCommits(git, oids);
  if (commits.length === 0) return found;
  const { stdout } = await git(['cat-file', '--batch'], { stdin: `${commits.join('\n')}\n` });
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf(10, at);
    const [oid = '', kind = '', size] = stdout.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (size === undefined) continue;
    const bytes = stdout.subarray(at, at + Number(size));
    at += Number(size) + 1;
    const commit = kind === 'commit' ? parseCommit(decodePath(bytes)) : undefined;
    if (commit !== undefined) found.set(oid, commit);
  }
  return found;
}

/** A ref may lead to anything, a blob of gigabytes too: nothing is read before its kind and size are known. */
async function plainCommits(git: GitCall, oids: readonly string[]): Promise<string[]> {
  if (oids.length === 0) return [];
  const format = '--batch-check=%(objectname) %(objecttype) %(objectsize)';
  const { stdout } = await git(['cat-file', format], { stdin: `${[...new Set(oids)].join('\n')}\n` });
  return stdout
    .toString('latin1')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, kind, size]) => kind === 'commit' && Number(size) <= MAX_COMMIT)
    .map(([oid = '']) => oid);
}

function parseCommit(text: string): CommitObject | undefined {
  const split = text.indexOf('\n\n');
  const head = (split < 0 ? text : text.slice(0, split)).split('\n');
  const tree = head[0]?.startsWith('tree ') ? head[0].slice('tree '.length) : undefined;
  const committer = head.find((line) => line.startsWith('committer '));
  const seconds = Number(/ (-?\d+) [+-]\d{4}$/.exec(committer ?? '')?.[1]);
  if (tree === undefined || !Number.isFinite(seconds)) return undefined;
  const parents = head.filter((line) => line.startsWith('parent ')).map((line) => line.slice('parent '.length));
  return { tree, parents, seconds, message: split < 0 ? '' : text.slice(split + 2) };
}

/** A commit of Relais on the current branch. */
export interface OwnCommit {
  readonly commit: string;
  readonly parents: readonly string[];
  readonly tree: string;
  readonly runId: string;
  /** The run it takes back, where it is an undo. */
  readonly undoes?: string;
  readonly subject: string;
}

const TRAILER = (key: string): string => `%(trailers:key=${key},valueonly,separator=%x2c)`;

/** Every commit reachable from HEAD whose trailers name a run, newest first. */
export async function ownCommits(git: GitCall): Promise<OwnCommit[]> {
  const fields = ['%H', '%P', '%T', TRAILER('Relais-Run'), TRAILER('Relais-Undoes'), '%s'];
  // The grep only spares the others from being parsed; the trailers decide.
  const args = [
    'log',
    '-z',
    '--no-show-signature',
    '--no-color',
    '--grep=^Relais-Run: ',
    `--format=${fields.join('%x1f')}`,
  ];
  return splitZ((await git([...args, 'HEAD', '--'])).stdout).flatMap((record) => {
    const [commit = '', parents = '', tree = '', runId = '', undoes = '', ...subject] = record.split('\x1f');
    if (runId === '') return [];
    return [
      {
        commit,
        parents: parents === '' ? [] : parents.split(' '),
        tree,
        runId,
        ...(undoes !== '' && { undoes }),
        subject: subject.join(' '),
      },
    ];
  });
}
