import { constants, lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import type { Entry, Kind } from '../../model.js';
import { absolute, decodePath } from '../paths.js';

const KINDS = new Map<number, Kind>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'dir'],
  [constants.S_IFLNK, 'link'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFSOCK, 'socket'],
  [constants.S_IFBLK, 'block'],
  [constants.S_IFCHR, 'char'],
]);
/** Times younger than this prove nothing: a later change could leave the same ones. */
export const RACY_MS = 2000;

/** What lstat's mode says it is. */
export function kindOf(mode: number): Kind {
  const kind = KINDS.get(mode & constants.S_IFMT);
  if (kind === undefined) throw new Error(`unknown kind of file, mode ${mode.toString(8)}`);
  return kind;
}

/** What lstat told, without a link's target. */
export function entryOf(stats: Stats): Entry {
  const { ino, nlink, size, mtimeMs, ctimeMs } = stats;
  return { kind: kindOf(stats.mode), ino, nlink, size, mode: stats.mode & 0o7777, mtimeMs, ctimeMs };
}

/** The names in a folder, or undefined where it is gone, is no folder, or may not be listed. */
export function list(root: string, path: string): string[] | undefined {
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

/** lstat, where `unreachable` says that the folder around it is closed or the name too long. */
export function statOf(at: string | Buffer): Stats | undefined | 'unreachable' {
  try {
    return lstatSync(at, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(codeOf(error))) return 'unreachable';
    throw error;
  }
}

/** One path as it is now, with the target of a link. */
export function look(root: string, path: string): Entry | undefined | 'unreachable' {
  const at = absolute(root, path);
  const stats = statOf(at);
  if (stats === undefined || stats === 'unreachable') return stats;
  return withTarget(at, entryOf(stats));
}

/** Adds a link's target; undefined where it is no longer a link. */
export function withTarget(at: string | Buffer, entry: Entry): Entry | undefined | 'unreachable' {
  if (entry.kind !== 'link') return entry;
  try {
    return { ...entry, target: decodePath(readlinkSync(at, 'buffer')) };
  } catch (error) {
    // EINVAL: a link was replaced between lstat and readlink; the next walk will see it.
    if (['ENOENT', 'EINVAL'].includes(codeOf(error))) return undefined;
    if (['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(codeOf(error))) return 'unreachable';
    throw error;
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
