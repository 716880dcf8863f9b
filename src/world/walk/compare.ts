import type { Change, Entry, Inventory } from '../../model.js';
import { hashIfReadable } from './blobHash.js';
import { isInstalled, parentOf } from '../paths.js';
import { mayDiffer, remarkable } from './columns.js';

type HashOf = (path: string, entry: Entry) => Promise<string>;

/** Every path that differs; content is compared by hash wherever the times do not prove it equal, and unknown content counts as changed. */
export async function changes(
  before: Inventory,
  after: Inventory,
  baseHash: (path: string, entry: Entry) => string | undefined,
  hashAfter: HashOf,
): Promise<Change[]> {
  const found: Change[] = [];
  const closed = new Set<string>();
  for (const [path, entry] of remarkable(before)) if (entry?.unreadable) closed.add(path);
  for (const path of mayDiffer(before, after)) {
    const [old, now] = [before.get(path), after.get(path)];
    if (old !== undefined && now === undefined) {
      if (counts(old)) found.push({ path, before: old });
    } else if (old === undefined && now !== undefined) {
      // What lies in a folder that could not be listed before may be older than the tick.
      if (counts(now) && (closed.size === 0 || !hasAncestor(path, closed))) found.push({ path, after: now });
    } else if (old !== undefined && now !== undefined) {
      const differs = shapeDiffers(path, old, now) || (await contentDiffers([path, old, now], baseHash, hashAfter));
      if (differs) found.push({ path, before: old, after: now });
    }
  }
  return found.sort(inOrder);
}

/** What was there before comes first; then as a walk meets it: a folder's own entries before what lies deeper, the last folder first. */
function inOrder(one: Change, other: Change): number {
  if ((one.before === undefined) !== (other.before === undefined)) return one.before === undefined ? 1 : -1;
  const [a, b] = [one.path.split('/'), other.path.split('/')];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const [aDeep, bDeep] = [a.length - at > 1, b.length - at > 1];
  if (aDeep !== bDeep) return aDeep ? 1 : -1;
  const sign = (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
  return aDeep ? -sign : sign;
}

/** A folder is told by what is in it, unless nobody looks inside. */
function counts(entry: Entry): boolean {
  return entry.kind !== 'dir' || entry.pruned === true || entry.unreadable === true;
}

async function contentDiffers(
  [path, old, now]: [string, Entry, Entry],
  baseHash: (path: string, entry: Entry) => string | undefined,
  hashAfter: HashOf,
): Promise<boolean> {
  if (old.kind !== 'file' || (old.hash === undefined && sameStat(old, now))) return false;
  const base = old.hash ?? baseHash(path, old);
  if (base === undefined || old.size !== now.size) return true;
  return (now.hash ?? (await hashIfReadable(() => hashAfter(path, now)))) !== base;
}

function shapeDiffers(path: string, old: Entry, now: Entry): boolean {
  if (old.kind !== now.kind || old.mode !== now.mode || old.target !== now.target) return true;
  if (old.kind === 'dir')
    return (
      old.unreadable !== now.unreadable || old.pruned !== now.pruned || (old.pruned === true && old.ino !== now.ino)
    );
  // An installed file may share its bytes with a store that other projects link to and unlink from.
  return old.nlink !== now.nlink && !(old.kind === 'file' && isInstalled(path));
}

function sameStat(old: Entry, now: Entry): boolean {
  return old.ino === now.ino && old.size === now.size && old.mtimeMs === now.mtimeMs && old.ctimeMs === now.ctimeMs;
}

function hasAncestor(path: string, folders: ReadonlySet<string>): boolean {
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) if (folders.has(folder)) return true;
  return false;
}

/** Folders without a file at any depth that are only in one of the inventories; `changes` does not list them. */
export function emptyFolders(before: Inventory, after: Inventory): { created: string[]; removed: string[] } {
  return { created: emptyOnlyIn(after, before), removed: emptyOnlyIn(before, after) };
}

function emptyOnlyIn(one: Inventory, other: Inventory): string[] {
  const missing: string[] = [];
  const filled = new Set<string>();
  // What lies in a folder that only one has is in that one only, too.
  for (const path of mayDiffer(one, other)) {
    const entry = one.get(path);
    if (entry === undefined || other.has(path)) continue;
    if (entry.kind === 'dir') missing.push(path);
    if (!counts(entry)) continue;
    if (entry.kind === 'dir') filled.add(path);
    for (let folder = parentOf(path); folder !== '' && !filled.has(folder); folder = parentOf(folder))
      filled.add(folder);
  }
  return missing.filter((path) => !filled.has(path)).sort();
}
