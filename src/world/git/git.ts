import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Entry, Head, Repository, TrackedFiles } from '../../model.js';
import { exists } from '../files.js';
import { GitError, hardenedGit, plainGit, type GitCall, type GitSettings } from './call.js';
import type { Environment } from './program.js';
import { numstat } from './lines.js';
import { openBlobs, type BlobReader } from './blobs.js';
import * as merge from './merge.js';
import * as read from './read.js';
import { attributeRules } from './rules.js';
import { buildTree } from './tree.js';
import * as write from './write.js';
import { decodePath, splitZ } from '../paths.js';

export { copyRules } from './rules.js';

const CONVERTING = ['filter', 'ident', 'working-tree-encoding'];
const KEPT_KEYS =
  /^(?:core\.(?:excludesfile|attributesfile|autocrlf|eol)|safe\.directory|filter\..+\.(?:clean|smudge|process|required))$/;

export type Found =
  | { readonly found: 'yes'; readonly repository: Repository }
  | { readonly found: 'no'; readonly why: string };

/** One repository's questions and verbs, each a single hardened git call or few. */
export interface Git {
  status(): Promise<read.Status>;
  operationInProgress(): Promise<string[]>;
  head(): Promise<(Head & { readonly tree: string }) | undefined>;
  treeOf(commit: string): Promise<string>;
  refExists(ref: string): Promise<boolean>;
  indexEntries(): Promise<TrackedFiles>;
  /** Files of a private index that lstat tells to be others now, asked in a git folder that holds nothing else. */
  differing(indexFile: string, gitDir: string): Promise<string[] | undefined>;
  /** Tracked files whose bytes in the work tree may differ from their blob's. */
  convertedPaths(index: TrackedFiles, entryOf: (path: string) => Entry | undefined): Promise<Set<string>>;
  ignored(paths: readonly string[], ruleRoot: string): Promise<Set<string>>;
  storeFiles(root: string, paths: readonly string[]): Promise<Map<string, string>>;
  /** Bytes as a file of that name would be stored. */
  storeAs(root: string, file: string, bytes: Buffer): Promise<string>;
  /** The commands of the user's filters as they are called when files in this folder are stored. */
  filterCommands(root: string): string[];
  storeBytes(bytes: Buffer): Promise<string>;
  /** The tree, and the names git does not accept in one. */
  buildTree(
    base: string,
    changes: readonly write.TreeChange[],
    indexFile: string,
  ): Promise<{ tree: string; refused: string[] }>;
  /** A private index of a whole commit, with some paths replaced. */
  fillIndex(base: string, changes: readonly write.TreeChange[], indexFile: string): Promise<void>;
  numstat(from: string, to: string): Promise<Map<string, { added: number; deleted: number }>>;
  patch(from: string, to: string, file: string, maxBytes: number): Promise<{ cut: boolean }>;
  commitTree(commit: { tree: string; parents: readonly string[]; message: string; date: Date }): Promise<string>;
  /** With `old` undefined the ref is set wherever it stood; otherwise false when it stands elsewhere. */
  updateRef(ref: string, to: string, old: string | undefined, reason: string): Promise<boolean>;
  blobTo(oid: string): Promise<Readable>;
  /** One process for many blobs; to be closed. */
  openBlobs(): BlobReader;
  treeChanges(from: string, to: string): Promise<write.TreeChange[]>;
  /** Puts these entries into the user's index and has it take note of the files as they are now. */
  stage(entries: readonly write.TreeChange[]): Promise<void>;
  applyPatch(patch: string, options: { check: boolean }): Promise<{ ok: boolean; stderr: string }>;
  /** Three-way; needs git 2.38 and an empty folder. */
  mergeTrees(trees: { base: string; ours: string; theirs: string }, emptyDir: string): Promise<merge.Merged>;
  checkOut(indexFile: string, folder: string, paths: readonly string[]): Promise<void>;
  deleteRef(ref: string, from: string): Promise<boolean>;
  readCommits(oids: readonly string[]): Promise<Map<string, merge.CommitObject>>;
  ownCommits(): Promise<merge.OwnCommit[]>;
  recentCommits(count: number): Promise<string[]>;
  version(): Promise<string>;
}

const LOCATE = [
  'rev-parse',
  '--path-format=absolute',
  '--show-toplevel',
  '--git-dir',
  '--git-common-dir',
  '--show-object-format',
];

/** Finds the repository around a folder, and where its parts are. */
export async function openRepository(cwd: string, env: Environment = process.env): Promise<Found> {
  const answer = await plainGit(cwd, LOCATE, env);
  if (answer.exitCode !== 0)
    return { found: 'no', why: answer.stderr.trim().split('\n')[0] || `git rev-parse ended with ${answer.exitCode}` };
  const [workTree, gitDir, commonDir, objectFormat, ...rest] = decodePath(answer.stdout).replace(/\n$/, '').split('\n');
  // With the u flag only lone surrogates match: bytes that were not UTF-8.
  const odd = rest.length > 0 || [workTree, gitDir, commonDir].some((part) => /[\uD800-\uDFFF]/u.test(part ?? ''));
  if (odd || !workTree || !gitDir || !commonDir)
    return { found: 'no', why: 'its path holds a line break or is not UTF-8' };
  if (objectFormat !== 'sha1' && objectFormat !== 'sha256')
    return { found: 'no', why: `unknown object format ${objectFormat ?? ''}` };
  const mainTree = gitDir === commonDir ? workTree : ((await firstTree(workTree, env)) ?? workTree);
  return { found: 'yes', repository: { workTree, gitDir, commonDir, mainTree, objectFormat } };
}

/** Reads what hardened calls need of the user's configuration; to be called before the Hands. */
export async function readSettings(cwd: string, env: Environment = process.env): Promise<GitSettings> {
  const args = ['config', '--list', '-z', '--includes'];
  const answer = await plainGit(cwd, args, env);
  if (answer.exitCode !== 0) throw new GitError(args, answer.exitCode, answer.stderr);
  const last = new Map<string, string>();
  const kept: [string, string][] = [];
  for (const record of splitZ(answer.stdout)) {
    const at = record.indexOf('\n');
    // A key without "=" means true.
    const [key, value] = at < 0 ? [record, 'true'] : [record.slice(0, at), record.slice(at + 1)];
    last.set(key, value);
    if (KEPT_KEYS.test(key)) kept.push([key, value]);
  }
  // Calls are made from other folders, too.
  const settled = (key: string, value: string): string =>
    key.endsWith('file') && /^[^/~%]/.test(value) ? path.resolve(cwd, value) : value;
  // Several values only mean something for safe.directory; elsewhere the last one holds.
  const config = kept
    .filter(([key, value]) => key === 'safe.directory' || last.get(key) === value)
    .map(([key, value]) => [key, settled(key, value)] as const);
  return { env, name: last.get('user.name') || 'Relais', email: last.get('user.email') || 'relais@localhost', config };
}

/** Every git verb the runner uses on one repository, hardened against what the repository may say. */
export function createGit(repository: Repository, settings: GitSettings): Git {
  const git = hardenedGit(repository, settings);
  // A filter that is called by its place in the work tree is called in the other folder instead.
  const at = (root: string): GitCall =>
    hardenedGit(repository, {
      ...settings,
      config: [...settings.config, ...filterCommands(repository, settings, root)],
    });
  return {
    status: () => read.status(git),
    operationInProgress: () => read.operationInProgress(repository),
    head: () => read.head(git),
    treeOf: (commit) => read.treeOf(git, commit),
    refExists: async (ref) => (await read.resolve(git, ref)) !== undefined,
    indexEntries: () => read.indexEntries(git),
    differing: (indexFile, gitDir) => read.differing(git, indexFile, gitDir),
    convertedPaths: (index, entryOf) => convertedPaths(git, { repository, settings }, index, entryOf),
    ignored: (paths, ruleRoot) => read.ignored(git, paths, ruleRoot),
    filterCommands: (root) => filterCommands(repository, settings, root).map(([, command]) => command),
    storeFiles: (root, paths) => write.storeFiles(at(root), root, paths),
    storeAs: (root, file, bytes) => write.storeAs(at(root), root, file, bytes),
    storeBytes: (bytes) => write.storeBytes(git, bytes),
    buildTree: (base, changes, indexFile) => buildTree(git, base, changes, indexFile),
    fillIndex: (base, changes, indexFile) => write.fillIndex(git, base, changes, indexFile),
    numstat: (from, to) => numstat(git, repository, from, to),
    patch: (from, to, file, maxBytes) => write.patch(git, [from, to], file, maxBytes),
    commitTree: (commit) => write.commitTree(git, commit),
    updateRef: (ref, to, old, reason) => write.updateRef(git, ref, { to, from: old }, reason),
    blobTo: async (oid) => read.blobTo(git, oid),
    openBlobs: () => openBlobs(git),
    treeChanges: (from, to) => read.treeChanges(git, from, to),
    stage: (entries) => write.stage(git, entries, repository.objectFormat),
    applyPatch: (patch, options) => write.applyPatch(git, patch, options),
    mergeTrees: (trees, emptyDir) => merge.mergeTrees(git, trees, emptyDir),
    checkOut: (indexFile, folder, paths) => merge.checkOut(git, indexFile, folder, paths),
    deleteRef: (ref, from) => merge.deleteRef(git, ref, from),
    readCommits: (oids) => merge.readCommits(git, oids),
    ownCommits: () => merge.ownCommits(git),
    recentCommits: async (count) => {
      const log = await (
        await porcelain(git)
      ).raw('log', `--max-count=${count}`, '--no-show-signature', '--format=%h %ad %s', '--date=short');
      return log.split('\n').filter((entry) => entry !== '');
    },
    version: async () => (await porcelain(git)).raw('version').then((text) => text.trim().replace(/^git version /, '')),
  };
}

/** The commands by which filters store files, with the work tree's folder replaced by another. */
function filterCommands(
  { workTree }: Repository,
  settings: GitSettings,
  root: string,
): (readonly [key: string, command: string])[] {
  return settings.config
    .filter(([key]) => /^filter\..+\.(?:clean|process)$/.test(key))
    .map(([key, command]) => [key, command.replaceAll(`${workTree}/`, `${root}/`)] as const);
}

/** simple-git on the same program and environment; its guards would refuse the very settings that harden the call. */
async function porcelain(git: GitCall): Promise<import('simple-git').SimpleGit> {
  const { simpleGit } = await import('simple-git');
  const unsafe = {
    allowUnsafeCustomBinary: true,
    allowUnsafeConfigEnvCount: true,
    allowUnsafeConfigPaths: true,
    allowUnsafeHooksPath: true,
    allowUnsafeFsMonitor: true,
    allowUnsafePager: true,
    allowUnsafeEditor: true,
    allowUnsafeAskPass: true,
    allowUnsafeSshCommand: true,
    allowUnsafeCredentialHelper: true,
    allowUnsafeProtocolOverride: true,
    allowUnsafeFilter: true,
  };
  return simpleGit({ baseDir: git.workTree, binary: git.program, allowEnvironment: Object.keys(git.env), unsafe }).env({
    ...git.env,
  });
}

async function convertedPaths(
  git: GitCall,
  { repository, settings }: { readonly repository: Repository; readonly settings: GitSettings },
  index: TrackedFiles,
  entryOf: (path: string) => Entry | undefined,
): Promise<Set<string>> {
  const rules = await attributeRules(repository, settings, index.named('.gitattributes'));
  const autocrlf = settings.config.some(([key, value]) => key === 'core.autocrlf' && value !== 'false');
  if (rules.length === 0 && !autocrlf) return new Set();
  const files = [...index].flatMap(([path, { oid }]) => {
    const entry = entryOf(path);
    return entry?.kind === 'file' ? [{ path, oid, size: entry.size }] : [];
  });
  if (files.length === 0) return new Set();
  // Asked only where some rule mentions such an attribute at all: the answer is long.
  const mentioned = CONVERTING.filter((name) => rules.some((text) => text.includes(name)));
  const paths = files.map(({ path }) => path);
  const converted = mentioned.length === 0 ? new Set<string>() : await read.withAttributes(git, paths, mentioned);
  const sizes = await read.blobSizes(
    git,
    files.map(({ oid }) => oid),
  );
  // Converted line ends always change the size.
  for (const { path, oid, size } of files) if (sizes.get(oid) !== size) converted.add(path);
  return converted;
}

/** The main work tree, as git lists it first; undefined where it is bare or gone. */
async function firstTree(cwd: string, env: Environment): Promise<string | undefined> {
  // Without -z, which git 2.31 does not know here; the main work tree comes first, its path alone on the line.
  const answer = await plainGit(cwd, ['worktree', 'list', '--porcelain'], env);
  if (answer.exitCode !== 0) throw new GitError(['worktree', 'list'], answer.exitCode, answer.stderr);
  const lines = decodePath(answer.stdout).split('\n');
  const first = lines.slice(0, lines.indexOf(''));
  const tree = first.find((line) => line.startsWith('worktree '))?.slice('worktree '.length);
  if (tree === undefined || first.includes('bare')) return undefined;
  return (await exists(tree)) ? tree : undefined;
}
