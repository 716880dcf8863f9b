import type { Entry, Inventory } from '../../model.js';
import { list, look } from './look.js';

export interface WalkOptions {
  /** Neither recorded nor entered. */
  readonly skip: (path: string) => boolean;
  /** A folder that is recorded but not entered. */
  readonly prune: (path: string) => boolean;
}

type Found = Map<string, Entry | undefined>;

/** Records root, as `.`, and everything under it as lstat sees it; a top-level `.git` is recorded but not entered, links are never followed. */
export async function walk(root: string, options: WalkOptions): Promise<Inventory> {
  const found = new Map<string, Entry>();
  const names = list(root, '');
  const own = look(root, '.');
  if (names === undefined || own === undefined || own === 'unreachable')
    throw new Error(`the folder ${root} cannot be listed`);
  found.set('.', own);
  explore(root, ['', names], options, found);
  return found;
}

/** Records these names of a folder, and everything under them. */
export function explore(
  root: string,
  from: [folder: string, names: string[]],
  options: WalkOptions,
  into: Found,
): void {
  const pending = [from];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [folder, inside] = next;
    const base = folder === '' ? '' : `${folder}/`;
    for (const name of inside) {
      const path = base + name;
      if (options.skip(path)) continue;
      const entry = look(root, path);
      if (entry === undefined) continue;
      if (entry === 'unreachable') {
        markUnreadable(into, folder, root);
        continue;
      }
      into.set(path, entry);
      if (entry.kind !== 'dir' || path === '.git') continue;
      if (options.prune(path)) into.set(path, { ...entry, pruned: true });
      else enter(root, path, { into, pending });
    }
  }
}

function enter(root: string, path: string, { into, pending }: { into: Found; pending: [string, string[]][] }): void {
  const names = list(root, path);
  if (names !== undefined) {
    pending.push([path, names]);
    return;
  }
  const now = closedFolder(root, path);
  if (now === undefined) into.delete(path);
  else into.set(path, now);
}

/** A folder that could not be listed: gone, replaced or closed to us since lstat; what it is now decides. */
export function closedFolder(root: string, path: string): Entry | undefined {
  const now = look(root, path);
  if (now === undefined || now === 'unreachable') return undefined;
  return now.kind === 'dir' ? { ...now, unreadable: true } : now;
}

/** A folder whose names can be listed but not examined. */
export function markUnreadable(found: Found, folder: string, root: string): void {
  const entry = found.get(folder);
  if (entry === undefined) throw new Error(`the folder ${root} cannot be searched`);
  found.set(folder, { ...entry, unreadable: true });
}
