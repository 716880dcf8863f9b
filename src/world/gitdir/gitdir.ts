import { accessSync, chmodSync, constants } from 'node:fs';
import type { Change, Entry, Head, Inventory, RefMap, Repository } from '../../model.js';
import { blobHash, changes, emptyFolders, entryAt, markRacy, walk } from '../walk/inventory.js';
import { absolute, parentOf } from '../paths.js';
import { putBackFolder } from './folder.js';
import { isDispensable, isExempt, isNewWorkTree, isRef, isRemade, isTools, isToolsWork, skipper } from './names.js';
import { keepObjects } from './objectCopies.js';
import { objectRoots, restoreObjects } from './objects.js';
import { isLog, restoreLogs } from './reflogs.js';
import { packedRefsBroken, readHead, readRefs } from './refs.js';
import { dropPackedReplacements, removeUnreadable, replacePacked, restoreBranch, writeRefs } from './refsBack.js';
import { lstatOf, makeFolder, removeAll } from '../keep/replace.js';
import { restoreTree } from '../keep/restore.js';
import type { Vault } from '../keep/vault.js';

export { keepMovedRefs, movedPrefix } from './movedRefs.js';
export { changedRefs, readHead, readRefs, refsProblem } from './refs.js';

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
    for (const [name, entry] of found) {
      // The walk does not enter a folder of this name: a new one goes as a whole.
      const closed = name === '.git' && entry.kind === 'dir';
      all.set(`${part}/${name}`, closed ? { ...entry, pruned: true } : entry);
    }
  }
  return all;
}

function within(inventory: Inventory, part: Part): Inventory {
  const prefix = `${part}/`;
  return new Map(
    [...inventory]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, entry]) => [name.slice(prefix.length), entry]),
  );
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
    // Refs are not put back, but a broken packed-refs is: without it git answers nothing.
    const wanted = [...inside.keys()].filter((name) => (!isRef(name) || name === 'packed-refs') && !isTools(name));
    const closed = wanted.filter(
      (name) => inside.get(name)?.kind === 'file' && isDispensable(name) && !isReadable(dir, name),
    );
    const result = await vault.keep(
      part,
      dir,
      wanted.filter((name) => !closed.includes(name)),
      inside,
    );
    kept.push(...result.kept.map((name) => `${part}/${name}`));
    tooLarge.push(...[...result.tooLarge, ...closed].map((name) => `${part}/${name}`));
  }
  tooLarge.push(...(await keepObjects(repo.commonDir, objectRoots(repo, metadata), vault)));
  return { kept, tooLarge };
}

function isReadable(dir: string, name: string): boolean {
  try {
    accessSync(absolute(dir, name), constants.R_OK);
    return true;
  } catch (error) {
    if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** HEAD and refs as they were left, also in a folder that was moved away or closed until now. */
interface Found {
  readonly head: Awaited<ReturnType<typeof readHead>>;
  readonly refs: RefMap;
}

/**
 * Puts git's metadata and objects back by bytes, HEAD, the index and the own branch included; other refs stay.
 * Throws where something could not be put back: no git command may run then.
 */
export async function restoreMetadata(
  repo: Repository,
  before: Inventory,
  vault: Vault,
  { head, refs }: { readonly head: Head; readonly refs: RefMap },
): Promise<{ changed: string[]; found: Found }> {
  const { changed, anew } = putBackFolders(repo, before, vault);
  const { now, opened } = await openClosed(repo, before);
  changed.push(...opened);
  const found = { head: await readHead(repo), refs: await readRefs(repo) };
  for (const [part, dir] of parts(repo)) {
    const paths = await restorePart({ part, dir, repo, vault }, within(before, part), within(now, part));
    changed.push(...paths.filter((name) => !isExempt(name)));
  }
  changed.push(...(await restoreObjects(repo, objectRoots(repo, before), vault)));
  changed.push(...removeUnreadable(repo, before, now));
  if (anew || packedRefsBroken(repo.commonDir)) changed.push(await replacePacked(repo, before, vault));
  changed.push(...(await dropPackedReplacements(repo, refs)));
  // Without this folder git no longer takes the place for a repository.
  makeFolder(repo.commonDir, 'refs');
  // Nobody moved the refs of a folder that was gone as a whole.
  if (anew) await writeRefs(repo, refs);
  if (head.ref !== undefined) await restoreBranch(repo, before, head.ref, head.commit);
  const refsNow = await readRefs(repo);
  for (const [part, dir] of parts(repo)) {
    const logs = { part, dir, vault, refsBefore: refs, refsNow };
    changed.push(...(await restoreLogs(logs, within(before, part), within(now, part))));
    changed.push(...clearLogs(dir, within(before, part), within(now, part)));
  }
  if (opened.length > 0) await mustBeOpen(repo, before);
  return { changed: [...new Set(changed)].sort(), found };
}

/** Brings the git folders themselves back; `anew` where nothing of the shared one was left. */
function putBackFolders(repo: Repository, before: Inventory, vault: Vault): { changed: string[]; anew: boolean } {
  const changed: string[] = [];
  let anew = false;
  // The shared folder first: a linked work tree's own lies in it.
  for (const [part, dir] of parts(repo).toReversed()) {
    const above = parentOf(dir) === `${repo.commonDir}/worktrees` ? 'worktrees' : undefined;
    if (above !== undefined && open(repo.commonDir, above, before.get(`common/${above}`))) changed.push(above);
    const found = putBackFolder(dir, before.get(`${part}/.`), repo.workTree, vault.dir);
    if (found.state === 'moved back') changed.push(`. (it had been moved to ${found.from})`);
    if (found.state === 'made anew') changed.push('. (it was gone)');
    anew ||= found.state === 'made anew' && dir === repo.commonDir;
    if (open(dir, '', before.get(`${part}/.`))) changed.push('.');
  }
  return { changed, anew };
}

/** Gives a folder that was closed to its owner its rights back. */
function open(dir: string, name: string, before: Entry | undefined): boolean {
  const stats = before?.kind === 'dir' ? lstatOf(dir, name) : undefined;
  if (before === undefined || !stats?.isDirectory() || (stats.mode & 0o500) === 0o500) return false;
  if ((stats.mode & 0o7777) === before.mode) return false;
  chmodSync(absolute(dir, name), before.mode);
  return true;
}

/** Looks at everything; known folders that were closed are opened level by level, and named. A new one goes as a whole. */
async function openClosed(repo: Repository, before: Inventory): Promise<{ now: Inventory; opened: string[] }> {
  const opened = new Set<string>();
  for (;;) {
    const now = await walkMetadata(repo);
    const known = opened.size;
    for (const [part, dir] of parts(repo)) {
      for (const name of closedIn(within(before, part), within(now, part)))
        if (open(dir, name, before.get(`${part}/${name}`))) opened.add(name);
    }
    if (opened.size === known) return { now, opened: [...opened] };
  }
}

function closedIn(before: Inventory, now: Inventory): string[] {
  return [...now]
    .filter(([name, entry]) => entry.unreadable && !before.get(name)?.unreadable && !isNewWorkTree(name, before))
    .map(([name]) => name);
}

async function mustBeOpen(repo: Repository, before: Inventory): Promise<void> {
  const now = await walkMetadata(repo);
  const closed = parts(repo).flatMap(([part]) => closedIn(within(before, part), within(now, part)));
  if (closed.length > 0) throw new Error(`folders of git's cannot be looked into: ${closed.join(', ')}`);
}

interface Place {
  readonly part: Part;
  readonly dir: string;
  readonly repo: Repository;
  readonly vault: Vault;
}

async function restorePart(place: Place, before: Inventory, now: Inventory): Promise<string[]> {
  const { part, dir, repo, vault } = place;
  const differing = await changes(
    before,
    now,
    (name) => vault.hashOf(part, name),
    (name, entry) => blobHash(absolute(dir, name), entry.size, repo.objectFormat),
  );
  const counts = (name: string): boolean =>
    !isRef(name) && !isLog(name) && !isToolsWork(name, before.get(name), now.get(name));
  const paths = differing.filter((change) => counts(change.path) && !hasEnded(change)).map(({ path }) => path);
  const folders = emptyFolders(before, now);
  const empty = [...folders.created, ...folders.removed].filter(counts);
  const wanted = new Map([...before].filter(([name, entry]) => canComeBack(place, name, entry, now.get(name))));
  const lost = (name: string): boolean => before.has(name) && !wanted.has(name) && !isRemade(name);
  const restorable = [...paths, ...empty].filter(
    (name) => !isNewWorkTree(name, before) && !(lost(name) && now.get(name)?.kind === 'file'),
  );
  const problems = await restoreTree(dir, wanted, now, restorable, (name) => vault.bytes(part, name));
  if (problems.length > 0) throw new Error(`git's metadata in ${dir} could not be put back: ${problems.join('; ')}`);
  // A new submodule's folder also holds objects, which are not listed.
  for (const [name, { kind }] of now) {
    const top = kind === 'dir' && /^modules(\/|$)/.test(name) && !before.has(name);
    if (top && (name === 'modules' || before.has(parentOf(name)))) removeAll(dir, name);
  }
  return paths.map((name) => (lost(name) ? `${name} (it could not be put back)` : name));
}

/** A program that listened here and has ended left nothing to bring back. */
function hasEnded({ before, after }: Change): boolean {
  return after === undefined && before !== undefined && !['file', 'dir', 'link'].includes(before.kind);
}

/** Without a copy only what git depends on is asked for, and fails loudly. */
function canComeBack({ part, vault }: Place, name: string, entry: Entry, now: Entry | undefined): boolean {
  if (entry.kind === 'file') return vault.has(part, name) || !isDispensable(name);
  return entry.kind === 'dir' || entry.kind === 'link' || now?.kind === entry.kind;
}

/** In the logs, locks of a command that was ended go without a word; a new folder that nobody can look into is named. */
function clearLogs(dir: string, before: Inventory, now: Inventory): string[] {
  const fresh = [...now].filter(([name]) => isLog(name) && !before.has(name) && !isNewWorkTree(name, before));
  const closed = fresh.filter(([, entry]) => entry.unreadable).map(([name]) => name);
  const locks = fresh.filter(([name, { kind }]) => kind === 'file' && name.endsWith('.lock')).map(([name]) => name);
  for (const name of [...closed, ...locks]) removeAll(dir, name);
  return closed;
}
