import { open } from 'node:fs/promises';
import { removeFile } from '../files.js';
import { GitError, joinZ, type GitCall } from './call.js';
import type { Repository } from '../../model.js';
import { line, quoted, resolve } from './read.js';
import { pathBytes } from '../paths.js';

/** One path of a tree to be: its blob, or null where it is to be gone. */
export interface TreeChange {
  readonly path: string;
  readonly mode: string;
  readonly oid: string | null;
}

/** Stores files as git would add them, with root as the work tree: its attributes and the user's filters apply. */
export async function storeFiles(git: GitCall, root: string, paths: readonly string[]): Promise<Map<string, string>> {
  if (paths.length === 0) return new Map();
  const args = ['hash-object', '-w', '--stdin-paths'];
  // There is no -z here; a quoted line can hold every name.
  const stdin = paths.map((file) => `${quoted(file)}\n`).join('');
  const oids = line((await git(args, { workTree: root, stdin })).stdout).split('\n');
  if (oids.length !== paths.length) throw new GitError(args, 0, `${paths.length} files, ${oids.length} answers`);
  return new Map(paths.map((file, at) => [file, oids[at] ?? '']));
}

/** Stores bytes as a file of that name in root would be. */
export async function storeAs(git: GitCall, root: string, file: string, bytes: Buffer): Promise<string> {
  return line((await git(['hash-object', '-w', '--stdin', `--path=${file}`], { workTree: root, stdin: bytes })).stdout);
}

/** Stores bytes as they are. */
export async function storeBytes(git: GitCall, bytes: Buffer): Promise<string> {
  return line((await git(['hash-object', '-w', '--stdin', '--no-filters'], { stdin: bytes })).stdout);
}

/** A sparse or split user index must not shape a private one. */
export const PLAIN_INDEX = [
  '-c',
  'core.sparseCheckout=false',
  '-c',
  'core.splitIndex=false',
  '-c',
  'index.sparse=false',
];

/** A private index of a whole commit with some paths replaced; the user's is not looked at. */
export async function fillIndex(
  git: GitCall,
  base: string,
  changes: readonly TreeChange[],
  indexFile: string,
): Promise<void> {
  const env = { GIT_INDEX_FILE: indexFile };
  await removeFile(indexFile);
  await git([...PLAIN_INDEX, 'read-tree', base], { env });
  await git([...PLAIN_INDEX, 'update-index', '-z', '--index-info'], { env, stdin: indexInfo(changes, base) });
}

/** A name git does not accept in an index is only mentioned, and left out. */
export function refusedNames(changes: readonly TreeChange[], stderr: string, args: readonly string[]): string[] {
  const refused = changes.map(({ path }) => path).filter((path) => stderr.includes(`Ignoring path ${path}\n`));
  if (/Ignoring path/.test(stderr) && refused.length === 0) throw new GitError(args, 0, stderr);
  return refused;
}

/** Puts entries into the user's index and has it take note of the files as they are now. */
export async function stage(
  git: GitCall,
  entries: readonly TreeChange[],
  format: Repository['objectFormat'],
): Promise<void> {
  if (entries.length === 0) return;
  const none = '0'.repeat(format === 'sha1' ? 40 : 64);
  await git(['update-index', '-z', '--index-info'], { stdin: indexInfo(entries, none) });
  const there = entries.filter((entry) => entry.oid !== null).map((entry) => entry.path);
  if (there.length === 0) return;
  // Takes note of the files' times; exit 1 says that one lies outside a sparse checkout.
  const refresh = ['add', '--refresh', '--pathspec-from-file=-', '--pathspec-file-nul'];
  await git(refresh, { stdin: joinZ(there), answers: [1] });
}

/** Writes the difference of two trees as a binary-safe patch, up to so many bytes. */
export async function patch(
  git: GitCall,
  trees: readonly [from: string, to: string],
  file: string,
  maxBytes: number,
): Promise<{ cut: boolean }> {
  await removeFile(file);
  const handle = await open(file, 'wx', 0o600);
  try {
    const shape = [
      '--binary',
      '--full-index',
      '--no-renames',
      '--no-ext-diff',
      '--no-textconv',
      '--no-color',
      '--src-prefix=a/',
      '--dst-prefix=b/',
    ];
    let left = maxBytes;
    for await (const chunk of git.stream(['diff-tree', '-r', '-p', ...shape, ...trees])) {
      const bytes = chunk as Buffer;
      await handle.writeFile(bytes.subarray(0, left));
      if (bytes.length > left) return { cut: true };
      left -= bytes.length;
    }
    return { cut: false };
  } finally {
    await handle.close();
  }
}

/** Makes a commit object, unsigned and without hooks; no ref moves. */
export async function commitTree(
  git: GitCall,
  commit: { tree: string; parents: readonly string[]; message: string; date: Date },
): Promise<string> {
  const date = `@${Math.floor(commit.date.getTime() / 1000)} +0000`;
  const args = ['commit-tree', ...commit.parents.flatMap((parent) => ['-p', parent]), '-F', '-', commit.tree];
  const env = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  return line((await git(args, { env, stdin: commit.message })).stdout);
}

/** Moves a ref; with `old` only from there, and false, nothing moved, when it stands elsewhere. */
export async function updateRef(
  git: GitCall,
  ref: string,
  move: { to: string; from: string | undefined },
  reason: string,
): Promise<boolean> {
  // --no-deref: HEAD means HEAD itself; a branch is always given by its own name.
  const args = [
    'update-ref',
    '--no-deref',
    '-m',
    reason,
    ref,
    move.to,
    ...(move.from === undefined ? [] : [move.from]),
  ];
  const answer = await git(args, { answers: [1, 128] });
  if (answer.exitCode === 0) return true;
  if (move.from !== undefined && (await resolve(git, ref)) !== move.from) return false;
  throw new GitError(args, answer.exitCode, answer.stderr);
}

/** Applies a patch to the work tree, or only says whether it would; a patch that does not fit is an answer. */
export async function applyPatch(
  git: GitCall,
  text: string,
  options: { check: boolean },
): Promise<{ ok: boolean; stderr: string }> {
  const args = ['apply', '--whitespace=nowarn', ...(options.check ? ['--check'] : []), '-'];
  const answer = await git(args, { stdin: text, answers: [1, 128] });
  return { ok: answer.exitCode === 0, stderr: answer.stderr };
}

/** Deletions come first: a file can only take a folder's place once the folder is empty. */
export function indexInfo(changes: readonly TreeChange[], anyOid: string): Buffer {
  const none = '0'.repeat(anyOid.length);
  const gone = changes.filter((change) => change.oid === null).map((change) => ({ ...change, mode: '0', oid: none }));
  const there = changes.filter((change) => change.oid !== null);
  const nul = Buffer.from([0]);
  return Buffer.concat(
    [...gone, ...there].flatMap(({ mode, oid, path }) => [Buffer.from(`${mode} ${oid}\t`), pathBytes(path), nul]),
  );
}
