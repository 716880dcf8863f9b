import { constants, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import type { Entry, Inventory, Kind, Repository } from '../model.js';
import { blobHash, hashIfReadable } from './blobHash.js';
import { absolute, decodePath, pathBytes } from './paths.js';

export { blobHash } from './blobHash.js';
export { changes, emptyFolders } from './compare.js';
export { absolute } from './paths.js';
export { deserialize, serialize } from './inventoryFormat.js';

const KINDS = new Map<number, Kind>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'dir'],
  [constants.S_IFLNK, 'link'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFSOCK, 'socket'],
  [constants.S_IFBLK, 'block'],
  [constants.S_IFCHR, 'char'],
]);
const RACY_MS = 2000;
/** Reading more than this takes longer than the moment it is about. */
const LARGE_BYTES = 64 * 1024 * 1024;

export interface WalkOptions {
  /** Neither recorded nor entered. */
  readonly skip: (path: string) => boolean;
  /** A folder that is recorded but not entered. */
  readonly prune: (path: string) => boolean;
}

/** Records root, as `.`, and everything under it as lstat sees it; a top-level `.git` is recorded but not entered, links are never followed. */
export async function walk(root: string, options: WalkOptions): Promise<Inventory> {
  const found = new Map<string, Entry>();
  const names = list(root, '');
  const own = look(root, '.');
  if (names === undefined || own === undefined || own === 'unreachable')
    throw new Error(`the folder ${root} cannot be listed`);
  found.set('.', own);
  const pending: [folder: string, names: string[]][] = [['', names]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [folder, inside] = next;
    const base = folder === '' ? '' : `${folder}/`;
    for (const name of inside) {
      const path = base + name;
      if (options.skip(path)) continue;
      const entry = look(root, path);
      if (entry === undefined) continue;
      if (entry === 'unreachable') {
        markUnreadable(found, folder, root);
        continue;
      }
      found.set(path, entry);
      if (entry.kind !== 'dir' || path === '.git') continue;
      if (options.prune(path)) found.set(path, { ...entry, pruned: true });
      else enter(root, path, { found, pending });
    }
  }
  return found;
}

function enter(root: string, path: string, into: { found: Map<string, Entry>; pending: [string, string[]][] }): void {
  const names = list(root, path);
  if (names !== undefined) {
    into.pending.push([path, names]);
    return;
  }
  // Gone, replaced or closed to us since lstat: what it is now decides.
  const now = look(root, path);
  if (now === undefined || now === 'unreachable') into.found.delete(path);
  else into.found.set(path, now.kind === 'dir' ? { ...now, unreadable: true } : now);
}

function markUnreadable(found: Map<string, Entry>, folder: string, root: string): void {
  const entry = found.get(folder);
  if (entry === undefined) throw new Error(`the folder ${root} cannot be searched`);
  found.set(folder, { ...entry, unreadable: true });
}

/** The names in a folder, or undefined where it is gone, is no folder, or may not be listed. */
function list(root: string, path: string): string[] | undefined {
  const folder = absolute(root, path);
  try {
    const names = readdirSync(folder, 'utf8');
    if (!names.some((name) => name.includes('\ufffd'))) return names;
    return readdirSync(folder, 'buffer').map(decodePath);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

function look(root: string, path: string): Entry | undefined | 'unreachable' {
  const at = absolute(root, path);
  try {
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const entry = entryOf(stats);
    return entry.kind === 'link' ? { ...entry, target: decodePath(readlinkSync(at, 'buffer')) } : entry;
  } catch (error) {
    // EINVAL: a link was replaced between lstat and readlink; the next walk will see it.
    if (['ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined;
    if (['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(codeOf(error))) return 'unreachable';
    throw error;
  }
}

/** What lstat told, without a link's target. */
export function entryOf(stats: Stats): Entry {
  const kind = KINDS.get(stats.mode & constants.S_IFMT);
  if (kind === undefined) throw new Error(`unknown kind of file, mode ${stats.mode.toString(8)}`);
  const { ino, nlink, size, mtimeMs, ctimeMs } = stats;
  return { kind, ino, nlink, size, mode: stats.mode & 0o7777, mtimeMs, ctimeMs };
}

/** One path as it is now, or undefined where nothing is there. */
export async function entryAt(root: string, path: string): Promise<Entry | undefined> {
  const entry = look(root, path);
  if (entry === 'unreachable') throw new Error(`${path} cannot be examined`);
  return entry;
}

/** The bytes of a link's target. */
export function targetBytes(entry: Entry): Buffer {
  if (entry.target === undefined) throw new Error(`a ${entry.kind} has no target`);
  return pathBytes(entry.target);
}

/** Fills `hash` for files changed so shortly before the walk that a later change could leave the same times. */
export async function markRacy(
  inventory: Inventory,
  startedMs: number,
  root: string,
  format: Repository['objectFormat'],
): Promise<void> {
  const entries = inventory as Map<string, Entry>;
  for (const [path, entry] of entries) {
    if (entry.kind !== 'file' || entry.ctimeMs <= startedMs - RACY_MS || entry.size > LARGE_BYTES) continue;
    const hash = await hashIfReadable(() => blobHash(absolute(root, path), entry.size, format));
    if (hash !== undefined) entries.set(path, { ...entry, hash });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
