import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  createWriteStream,
  fstatSync,
  mkdirSync,
  openSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Entry, Inventory } from '../../model.js';
import { entryOf } from '../walk/inventory.js';
import { absolute, parentOf } from '../paths.js';
import {
  ancestors,
  lstatOf,
  makeFolder,
  openUp,
  reachable,
  removeAll,
  removeIfEmpty,
  replaceByHardLink,
  replaceFile,
  replaceLink,
} from './replace.js';

export { isUnfinished } from './replace.js';

interface Work {
  readonly root: string;
  readonly wanted: Inventory;
  readonly current: Inventory;
  readonly content: (path: string, entry: Entry) => Promise<Readable | Buffer>;
  /** Folders whose mode is set at the end. */
  readonly folderModes: Map<string, number>;
  /** A name that already stands of every file that had several. */
  readonly firstNames: Map<number, string>;
  readonly problems: string[];
}

/**
 * Brings the given paths, and nothing else, back to the wanted inventory by replacing, never by writing into.
 * Returns one line for every path that could not be brought back.
 */
export async function restoreTree(
  root: string,
  wanted: Inventory,
  current: Inventory,
  paths: readonly string[],
  content: (path: string, entry: Entry) => Promise<Readable | Buffer>,
): Promise<string[]> {
  const ordered = [...new Set(paths)].sort();
  const firstNames = survivors(wanted, current, new Set(ordered));
  const work: Work = { root, wanted, current, content, folderModes: new Map(), firstNames, problems: [] };
  for (const path of ordered) await attempt(work, path, () => openFolders(work, path));
  // The reverse of the sorted order has what lies in a folder before the folder.
  for (const path of ordered.toReversed()) await attempt(work, path, () => removeUnwanted(work, path));
  for (const path of ordered) {
    const entry = wanted.get(path);
    if (entry !== undefined) await attempt(work, path, () => bringBack(work, path, entry));
  }
  for (const [path, mode] of [...work.folderModes].sort(([a], [b]) => (a < b ? 1 : -1)))
    await attempt(work, path, () => setFolderMode(root, path, mode));
  return work.problems;
}

/** Names of files with several names that nobody touched: the others are linked to them again. */
function survivors(wanted: Inventory, current: Inventory, touched: ReadonlySet<string>): Map<number, string> {
  const names = new Map<number, string>();
  for (const path of touched) {
    const entry = wanted.get(path);
    if ((entry?.kind === 'file' || entry?.kind === 'link') && entry.nlink > 1) names.set(entry.ino, '');
  }
  if (names.size === 0) return names;
  for (const [path, entry] of wanted) {
    if (names.get(entry.ino) === '' && !touched.has(path) && current.get(path)?.ino === entry.ino)
      names.set(entry.ino, path);
  }
  return new Map([...names].filter(([, path]) => path !== ''));
}

/** One path that resists must not keep the others from coming back. */
async function attempt(work: Work, path: string, act: () => void | Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    work.problems.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function openFolders(work: Work, path: string): void {
  for (const folder of [...ancestors(path), path]) {
    const stats = lstatOf(work.root, folder);
    if (!stats?.isDirectory()) return;
    const mode = work.wanted.get(folder)?.kind === 'dir' ? work.wanted.get(folder)?.mode : undefined;
    if (openUp(work.root, folder, stats)) noteMode(work, folder, mode ?? stats.mode & 0o7777);
  }
}

function noteMode(work: Work, folder: string, mode: number): void {
  if (!work.folderModes.has(folder)) work.folderModes.set(folder, mode);
}

function removeUnwanted(work: Work, path: string): void {
  const { root } = work;
  if (!reachable(root, path)) return;
  const stats = lstatOf(root, path);
  const want = work.wanted.get(path);
  if (stats === undefined) return;
  if (want === undefined) {
    const seen = work.current.get(path);
    if (!stats.isDirectory()) unlinkSync(absolute(root, path));
    else if (seen?.pruned || seen?.unreadable) removeAll(root, path);
    else removeIfEmpty(root, path);
    for (const folder of ancestors(path).toReversed()) {
      if (work.wanted.get(folder) !== undefined || !removeIfEmpty(root, folder)) break;
    }
  } else if (want.kind !== 'dir' && stats.isDirectory()) {
    // Where a file or link was, everything in the folder is newer than that.
    removeAll(root, path);
  } else if (want.kind !== entryOf(stats).kind) unlinkSync(absolute(root, path));
}

async function bringBack(work: Work, path: string, entry: Entry): Promise<void> {
  const { root, wanted } = work;
  for (const folder of ancestors(path)) {
    if (makeFolder(root, folder)) noteMode(work, folder, wanted.get(folder)?.mode ?? 0o755);
  }
  if (entry.kind === 'dir') {
    if (entry.pruned && lstatOf(root, path) === undefined)
      throw new Error('its content was not recorded, so the folder cannot come back');
    makeFolder(root, path);
    noteMode(work, path, entry.mode);
  } else if (entry.kind === 'link' || entry.kind === 'file') await bringBackContent(work, path, entry);
  else if (lstatOf(root, path) === undefined) throw new Error(`a ${entry.kind} cannot be made again`);
  else chmodSync(absolute(root, path), entry.mode);
}

/** A file or a link; both may have several names. */
async function bringBackContent(work: Work, path: string, entry: Entry): Promise<void> {
  const first = entry.nlink > 1 ? work.firstNames.get(entry.ino) : undefined;
  if (first !== undefined) {
    replaceByHardLink(work.root, path, first);
    return;
  }
  if (entry.kind === 'link') replaceLink(work.root, path, entry);
  else await replaceFile(work.root, path, entry, await work.content(path, entry));
  if (entry.nlink > 1) work.firstNames.set(entry.ino, path);
}

function setFolderMode(root: string, path: string, mode: number): void {
  const stats = lstatOf(root, path);
  if (stats?.isDirectory() && (stats.mode & 0o7777) !== mode) chmodSync(absolute(root, path), mode);
}

const UNREADABLE = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'ENAMETOOLONG'];

/** Copies regular files, never through a link, to the same paths below another folder; names those it could not copy. */
export async function freeze(root: string, paths: readonly string[], destRoot: string): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  for (const path of paths) {
    try {
      await freezeOne(root, path, destRoot);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (!(error instanceof NotAFile) && !UNREADABLE.includes(code ?? '')) throw error;
      refused.set(path, code ?? (error as Error).message);
    }
  }
  return refused;
}

class NotAFile extends Error {}

async function freezeOne(root: string, path: string, destRoot: string): Promise<void> {
  if (!reachable(root, path)) throw new NotAFile('it no longer lies in a real folder');
  mkdirSync(absolute(destRoot, parentOf(path)), { recursive: true, mode: 0o700 });
  const fd = openSync(absolute(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) throw new NotAFile('it is no longer a regular file');
    // An attempt that was interrupted may have left a part of it.
    rmSync(absolute(destRoot, path), { force: true });
    await copyOpenFile(fd, absolute(destRoot, path));
  } finally {
    closeSync(fd);
  }
  chmodSync(absolute(destRoot, path), 0o600);
}

/** Copies an open file to a new one, without its bytes passing through this process where the disk can share them. */
export async function copyOpenFile(fd: number, dest: string | Buffer): Promise<void> {
  // Through /proc the open file itself is cloned, not whatever has its name by now.
  if (process.platform === 'linux')
    copyFileSync(`/proc/self/fd/${fd}`, dest, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  else
    await pipeline(
      createReadStream('', { fd, autoClose: false }),
      createWriteStream(dest, { flags: 'wx', mode: 0o600 }),
    );
}
