import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  type Stats,
  writeSync,
} from 'node:fs';
import type { Readable } from 'node:stream';
import type { Entry } from '../../model.js';
import { targetBytes } from '../walk/inventory.js';
import { absolute, decodePath, parentOf, pathBytes } from '../paths.js';

const OWNER_ALL = 0o700;
/** Systems take 1024 or 4096 bytes; below this a name of 255 bytes fits everywhere. */
const LONG_BYTES = 700;

/** What is at a path now, links not followed; undefined where nothing is. */
export function lstatOf(root: string, path: string): Stats | undefined {
  try {
    return lstatSync(absolute(root, path), { throwIfNoEntry: false });
  } catch (error) {
    // A file where a folder should be: nothing can lie in it.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** True when every folder above the path is a real folder, so that the path cannot lead out of the root. */
export function reachable(root: string, path: string): boolean {
  for (const folder of ancestors(path)) if (!lstatOf(root, folder)?.isDirectory()) return false;
  return true;
}

/** The folders above a path, the topmost first. */
export function ancestors(path: string): string[] {
  const folders: string[] = [];
  for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) folders.unshift(folder);
  return folders;
}

/** Removes whatever is at a path, a folder with everything in it, however deep; a link itself, never what it points to. */
export function removeAll(root: string, path: string): void {
  const pending = [path];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) removeShort(root, next, pending);
}

/** Folders whose path grows too long for the system are moved up first, and left to the caller. */
function removeShort(root: string, path: string, pending: string[]): void {
  const stats = lstatOf(root, path);
  if (stats === undefined) return;
  const at = absolute(root, path);
  if (!stats.isDirectory()) {
    unlinkSync(at);
    return;
  }
  openUp(root, path, stats);
  if (isLong(root, path)) {
    const up = tempName();
    renameSync(at, absolute(root, up));
    pending.push(up);
    return;
  }
  for (const name of readdirSync(at, 'buffer')) removeShort(root, `${path}/${decodePath(name)}`, pending);
  rmdirSync(at);
}

/** Whether a name in this folder could be too long a path to be given to the system. */
function isLong(root: string, path: string): boolean {
  return pathBytes(path).length + root.length > LONG_BYTES && path.includes('/');
}

/** Removes a folder unless something is in it; tells whether it did. */
export function removeIfEmpty(root: string, path: string): boolean {
  try {
    rmdirSync(absolute(root, path));
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Lets the owner list and change a folder; tells whether that was needed. */
export function openUp(root: string, path: string, stats: Stats): boolean {
  if ((stats.mode & OWNER_ALL) === OWNER_ALL) return false;
  chmodSync(absolute(root, path), (stats.mode & 0o7777) | OWNER_ALL);
  return true;
}

/** Makes a real folder at a path, in place of anything else that is there; tells whether it had to be made. */
export function makeFolder(root: string, path: string): boolean {
  const stats = lstatOf(root, path);
  if (stats?.isDirectory()) return false;
  if (stats !== undefined) unlinkSync(absolute(root, path));
  mkdirSync(absolute(root, path), OWNER_ALL);
  return true;
}

/** Puts a complete file with these bytes, this mode and this time in a path's place. */
export async function replaceFile(
  root: string,
  path: string,
  wanted: Pick<Entry, 'mode' | 'mtimeMs'>,
  content: Readable | Buffer,
): Promise<void> {
  const temp = tempBeside(root, path);
  const fd = openSync(
    absolute(root, temp),
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o600,
  );
  try {
    try {
      if (Buffer.isBuffer(content)) writeAll(fd, content);
      else for await (const chunk of content) writeAll(fd, chunk as Buffer);
      keepOwner(root, path, fd);
      fchmodSync(fd, wanted.mode);
      futimesSync(fd, wanted.mtimeMs / 1000, wanted.mtimeMs / 1000);
    } finally {
      closeSync(fd);
    }
    renameSync(absolute(root, temp), absolute(root, path));
  } catch (error) {
    rmSync(absolute(root, temp), { force: true });
    throw error;
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

/** Root gives a replaced file to whoever had it, or to its folder's owner. */
function keepOwner(root: string, path: string, fd: number): void {
  if (process.getuid?.() !== 0) return;
  const model = lstatOf(root, path) ?? lstatOf(root, parentOf(path));
  if (model !== undefined) fchownSync(fd, model.uid, model.gid);
}

/** Puts a link with the wanted target in a path's place. */
export function replaceLink(root: string, path: string, wanted: Entry): void {
  const temp = tempBeside(root, path);
  symlinkSync(targetBytes(wanted), absolute(root, temp));
  lutimesSync(absolute(root, temp), wanted.mtimeMs / 1000, wanted.mtimeMs / 1000);
  renameSync(absolute(root, temp), absolute(root, path));
}

/** Makes a path a second name of a file that was restored already. */
export function replaceByHardLink(root: string, path: string, first: string): void {
  // A rename between two names of one file does nothing, so the old name has to go first.
  if (lstatOf(root, path) !== undefined) unlinkSync(absolute(root, path));
  linkSync(absolute(root, first), absolute(root, path));
}

function tempBeside(root: string, path: string): string {
  const folder = parentOf(path);
  return folder === '' || isLong(root, path) ? tempName() : `${folder}/${tempName()}`;
}

/** Whether a name is one that a replacement bears until it is complete. */
export function isUnfinished(path: string): boolean {
  return /(?:^|\/)\.relais-[0-9a-f]{16}\.tmp$/.test(path);
}

function tempName(): string {
  return `.relais-${randomBytes(8).toString('hex')}.tmp`;
}
