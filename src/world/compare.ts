import type { Change, Entry, Inventory } from '../model.js';
import { hashIfReadable } from './blobHash.js';
import { parentOf } from './paths.js';

/** Every path that differs; content is compared by hash wherever the times do not prove it equal, and unknown content counts as changed. */
export async function changes(
  before: Inventory,
  after: Inventory,
  baseHash: (path: string, entry: Entry) => string | undefined,
  hashAfter: (path: string, entry: Entry) => Promise<string>,
): Promise<Change[]> {
  const found: Change[] = [];
  const closed = new Set([...before].filter(([, entry]) => entry.unreadable).map(([path]) => path));
  for (const [path, old] of before) {
    const now = after.get(path);
    if (now === undefined) {
      if (old.kind !== 'dir' || old.pruned || old.unreadable) found.push({ path, before: old });
    } else if (shapeDiffers(old, now)) found.push({ path, before: old, after: now });
    else if (old.kind === 'file' && !(old.hash === undefined && sameStat(old, now))) {
      const base = old.hash ?? baseHash(path, old);
      const hash =
        base === undefined || old.size !== now.size
          ? undefined
          : (now.hash ?? (await hashIfReadable(() => hashAfter(path, now))));
      if (hash === undefined || hash !== base) found.push({ path, before: old, after: now });
    }
  }
  for (const [path, now] of after) {
    if (before.has(path) || (now.kind === 'dir' && !now.pruned && !now.unreadable)) continue;
    // What lies in a folder that could not be listed before may be older than the tick.
    if (closed.size === 0 || !hasAncestor(path, closed)) found.push({ path, after: now });
  }
  return found;
}

function shapeDiffers(old: Entry, now: Entry): boolean {
  if (old.kind !== now.kind || old.mode !== now.mode || old.target !== now.target) return true;
  if (old.kind === 'dir')
    return (
      old.unreadable !== now.unreadable || old.pruned !== now.pruned || (old.pruned === true && old.ino !== now.ino)
    );
  return old.nlink !== now.nlink;
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
  const missing = [...one].filter(([path, entry]) => entry.kind === 'dir' && !other.has(path)).map(([path]) => path);
  if (missing.length === 0) return [];
  const filled = new Set<string>();
  for (const [path, entry] of one) {
    if (entry.kind === 'dir' && !entry.pruned && !entry.unreadable) continue;
    if (entry.kind === 'dir') filled.add(path);
    for (let folder = parentOf(path); folder !== '' && !filled.has(folder); folder = parentOf(folder))
      filled.add(folder);
  }
  return missing.filter((path) => !filled.has(path)).sort();
}
