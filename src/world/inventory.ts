import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import type { Change, Entry, Inventory, Kind, Repository } from '../model.js';
import { absolute, decodePath, parentOf, pathBytes } from './paths.js';

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
const SMALL_BYTES = 1024 * 1024;

export interface WalkOptions {
  /** Neither recorded nor entered. */
  readonly skip: (path: string) => boolean;
  /** A folder that is recorded but not entered. */
  readonly prune: (path: string) => boolean;
}

/** Records everything under root as lstat sees it; a top-level `.git` is recorded but not entered, links are never followed. */
export async function walk(root: string, options: WalkOptions): Promise<Inventory> {
  const found = new Map<string, Entry>();
  const names = list(root, '');
  if (names === undefined) throw new Error(`the folder ${root} cannot be listed`);
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

/** The git blob id of a regular file's raw bytes; never follows a link, never waits on a pipe. */
export async function blobHash(
  abs: string | Buffer,
  size: number,
  format: Repository['objectFormat'],
): Promise<string> {
  const fd = openSync(abs, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new Error(`${abs.toString()} is not a regular file`);
    const hash = createHash(format).update(`blob ${stats.size}\0`);
    let total = 0;
    if (size <= SMALL_BYTES && stats.size <= SMALL_BYTES) {
      const bytes = Buffer.allocUnsafe(stats.size + 1);
      for (let read = -1; read !== 0 && total < bytes.length; total += read)
        read = readSync(fd, bytes, total, bytes.length - total, null);
      hash.update(bytes.subarray(0, total));
    } else {
      for await (const chunk of createReadStream('', { fd, autoClose: false, highWaterMark: SMALL_BYTES })) {
        total += (chunk as Buffer).length;
        hash.update(chunk as Buffer);
      }
    }
    if (total !== stats.size) throw new Error(`${abs.toString()} changed while it was read`);
    return hash.digest('hex');
  } finally {
    closeSync(fd);
  }
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
    if (entry.kind !== 'file' || entry.ctimeMs <= startedMs - RACY_MS) continue;
    const hash = await hashIfReadable(() => blobHash(absolute(root, path), entry.size, format));
    if (hash !== undefined) entries.set(path, { ...entry, hash });
  }
}

async function hashIfReadable(hash: () => Promise<string>): Promise<string | undefined> {
  try {
    return await hash();
  } catch (error) {
    // Not to be read, gone or replaced: the content is unknown, and unknown counts as changed.
    if (['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

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

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
