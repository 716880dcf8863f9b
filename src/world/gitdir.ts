import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Entry, Head, Inventory, RefMap, Repository } from '../model.js';
import { blobHash, changes, emptyFolders, entryAt, markRacy, walk } from './inventory.js';
import { absolute, parentOf } from './paths.js';
import { packedRefsBroken } from './refs.js';
import { dropPackedReplacements, replacePacked, restoreBranch } from './refsBack.js';
import { makeFolder } from './replace.js';
import { restoreTree } from './restore.js';
import type { Vault } from './vault.js';

export { changedRefs, readHead, readRefs, refsProblem } from './refs.js';

const TOP_FILES = new Set([
  'HEAD',
  'config',
  'config.worktree',
  'packed-refs',
  'shallow',
  'index',
  'commondir',
  'gitdir',
  'SQUASH_MSG',
  'AUTO_MERGE',
]);
const TOP_FOLDERS = new Set([
  'hooks',
  'info',
  'refs',
  'reftable',
  'branches',
  'remotes',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
]);
/** What all work trees share; the rest of a shared folder belongs to the main work tree, where somebody else may be at work. */
const SHARED = new Set([
  'config',
  'config.worktree',
  'packed-refs',
  'shallow',
  'hooks',
  'info',
  'refs',
  'branches',
  'remotes',
  'objects',
  'worktrees',
  'modules',
]);
const OPERATION = /^(MERGE_|CHERRY_PICK_|REVERT_|REBASE_|BISECT_|NOTES_MERGE_)/;
const OTHER_WORK_TREE = /^worktrees\/[^/]+(\/(config\.worktree|gitdir|commondir|hooks(\/.*)?))?$/;
const MODULE_NOISE = /\/(index|COMMIT_EDITMSG|ORIG_HEAD|FETCH_HEAD|gc\.log|gc\.pid|[^/]*\.lock)$/;
/** Put back, but not held against anybody: honest git commands and their automatic upkeep write them. */
const EXEMPT =
  /^(HEAD|index|sharedindex\.[^/]*|index\.lock|HEAD\.lock|packed-refs\.lock|refs\/.*\.lock|objects\/info\/(packs|commit-graph|commit-graphs(\/.*)?)|info\/refs)$/;
/** Caches git makes again: without a copy it is enough that a changed one goes. */
const CACHE = /^(objects\/info\/(packs|commit-graph|commit-graphs(\/.*)?)|info\/refs)$/;

type Part = 'git' | 'common';

function parts(repo: Repository): [Part, string][] {
  return repo.gitDir === repo.commonDir
    ? [['git', repo.gitDir]]
    : [
        ['git', repo.gitDir],
        ['common', repo.commonDir],
      ];
}

/** Records git's metadata; keys begin with `git/` and, in a linked work tree, `common/`. */
export async function walkMetadata(repo: Repository): Promise<Inventory> {
  const all = new Map<string, Entry>();
  for (const [part, dir] of parts(repo)) {
    const root = await entryAt(dir, '');
    if (root?.kind !== 'dir')
      throw new Error(
        `the git folder ${dir} is ${root === undefined ? 'gone' : `now a ${root.kind}`}; put it back by hand`,
      );
    const startedMs = Date.now();
    const found = await walk(dir, { skip: skipper(repo, dir), prune: () => false });
    await markRacy(found, startedMs, dir, repo.objectFormat);
    for (const [name, entry] of found) all.set(`${part}/${name}`, entry);
  }
  return all;
}

function skipper(repo: Repository, dir: string): (name: string) => boolean {
  const own = path.relative(dir, repo.gitDir);
  return (name) => {
    const top = name.includes('/') ? name.slice(0, name.indexOf('/')) : name;
    if (dir !== repo.gitDir && !SHARED.has(top)) return true;
    if (TOP_FOLDERS.has(top)) return false;
    if (top === 'objects') return name !== top && !/^objects\/info(\/|$)/.test(name);
    if (top === 'worktrees') return name !== top && (name === own || !OTHER_WORK_TREE.test(name));
    if (top === 'modules') return skipInModules(dir, name);
    return (
      name !== top ||
      !(TOP_FILES.has(name) || OPERATION.test(name) || name.endsWith('.lock') || name.startsWith('sharedindex.'))
    );
  };
}

/** A module may itself be named `objects` or `logs`; only beside a HEAD are those git's own folders. */
function skipInModules(dir: string, name: string): boolean {
  if (MODULE_NOISE.test(name)) return true;
  const folder = parentOf(name);
  const base = path.posix.basename(name);
  if (base === 'logs') return isGitFolder(dir, folder);
  return folder.endsWith('/objects') && base !== 'info' && isGitFolder(dir, parentOf(folder));
}

function isGitFolder(dir: string, folder: string): boolean {
  return existsSync(absolute(dir, `${folder}/HEAD`));
}

function within(inventory: Inventory, part: Part): Inventory {
  const prefix = `${part}/`;
  return new Map(
    [...inventory]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, entry]) => [name.slice(prefix.length), entry]),
  );
}

/** Other branches and tags: compared by value, never put back. A replacing ref is no branch: it changes what every object means. */
function isRef(name: string): boolean {
  if (name === 'packed-refs' || name === 'refs') return true;
  return name.startsWith('refs/') && !name.endsWith('.lock') && !/^refs\/replace(\/|$)/.test(name);
}

/** A work tree that was added meanwhile may be somebody else's: it is told of, and left whole. */
function isNewWorkTree(name: string, before: Inventory): boolean {
  const [top, tree] = name.split('/');
  return top === 'worktrees' && tree !== undefined && !before.has(`worktrees/${tree}`);
}

/** Copies into the vault all metadata that would be put back by bytes. */
export async function keepMetadata(
  repo: Repository,
  metadata: Inventory,
  vault: Vault,
): Promise<{ kept: string[]; tooLarge: string[] }> {
  if (vault.format !== repo.objectFormat)
    throw new Error(`the vault was opened for ${vault.format}, the repository uses ${repo.objectFormat}`);
  const kept: string[] = [];
  const tooLarge: string[] = [];
  for (const [part, dir] of parts(repo)) {
    const inside = within(metadata, part);
    const result = await vault.keep(
      part,
      dir,
      // Refs are not put back, but a broken packed-refs is: without it git answers nothing.
      [...inside.keys()].filter((name) => !isRef(name) || name === 'packed-refs'),
      inside,
    );
    kept.push(...result.kept.map((name) => `${part}/${name}`));
    tooLarge.push(...result.tooLarge.map((name) => `${part}/${name}`));
  }
  return { kept, tooLarge };
}

/**
 * Puts git's metadata back by bytes, HEAD, the index and the own branch included; other refs stay.
 * Throws where something could not be put back: no git command may run then.
 */
export async function restoreMetadata(
  repo: Repository,
  before: Inventory,
  vault: Vault,
  { head, refs }: { readonly head: Head; readonly refs: RefMap },
): Promise<{ changed: string[] }> {
  const now = await walkMetadata(repo);
  const changed: string[] = [];
  for (const [part, dir] of parts(repo)) {
    const paths = await restorePart({ part, dir, repo, vault }, within(before, part), within(now, part));
    changed.push(...paths.filter((name) => !EXEMPT.test(name)));
  }
  if (packedRefsBroken(repo.commonDir)) changed.push(await replacePacked(repo, before, vault));
  changed.push(...(await dropPackedReplacements(repo, refs)));
  // Without this folder git no longer takes the place for a repository.
  makeFolder(repo.commonDir, 'refs');
  if (head.ref !== undefined) await restoreBranch(repo, before, head.ref, head.commit);
  return { changed: [...new Set(changed)].sort() };
}

interface Place {
  readonly part: Part;
  readonly dir: string;
  readonly repo: Repository;
  readonly vault: Vault;
}

async function restorePart({ part, dir, repo, vault }: Place, before: Inventory, now: Inventory): Promise<string[]> {
  const differing = await changes(
    before,
    now,
    (name) => vault.hashOf(part, name),
    (name, entry) => blobHash(absolute(dir, name), entry.size, repo.objectFormat),
  );
  const paths = differing.map((change) => change.path).filter((name) => !isRef(name));
  const folders = emptyFolders(before, now);
  const empty = [...folders.created, ...folders.removed].filter((name) => !isRef(name));
  const restorable = [...paths, ...empty].filter((name) => !isNewWorkTree(name, before));
  // A cache that is too large to be kept is not wanted back.
  const wanted = new Map(
    [...before].filter(([name, entry]) => entry.kind !== 'file' || vault.has(part, name) || !CACHE.test(name)),
  );
  const problems = await restoreTree(dir, wanted, now, restorable, (name) => vault.bytes(part, name));
  if (problems.length > 0) throw new Error(`git's metadata in ${dir} could not be put back: ${problems.join('; ')}`);
  return paths;
}
