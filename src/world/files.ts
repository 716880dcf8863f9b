import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, rm, unlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import type { FileRead } from '../model.js';

const TEMP_OF_OURS = /^(?:(?:[A-Z]+|lock|journal|meta)\.(?:json|md)|baseline\.(?:tree|git))\.\d+$/;

/** The text of a regular file of at most so many bytes; links, folders and broken UTF-8 are unreadable. */
export async function readText(file: string, maxBytes: number): Promise<FileRead> {
  let handle;
  try {
    // O_NONBLOCK: opening a planted FIFO must not hang.
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { found: 'missing' };
    return { found: 'unreadable', why: code === 'ELOOP' ? 'it is a symbolic link' : message };
  }
  try {
    if (!(await handle.stat()).isFile()) return { found: 'unreadable', why: 'it is not a regular file' };
    const bytes = await readUpTo(handle, maxBytes + 1);
    if (bytes.length > maxBytes) return { found: 'unreadable', why: `it is larger than ${maxBytes} bytes` };
    return { found: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    return { found: 'unreadable', why: (error as Error).message };
  } finally {
    await handle.close();
  }
}

/** Replaces a file's content whole or not at all, and only returns once it would survive a power loss. */
export async function writeAtomic(file: string, data: string | Buffer, mode?: number): Promise<void> {
  const folder = path.dirname(file);
  await refuseRedirection(file, folder);
  try {
    await writeFileAtomic(file, data, mode === undefined ? {} : { mode });
    await syncFolder(folder);
  } catch (error) {
    throw naming(file, error);
  }
}

/** Writes a value as indented JSON with a final newline, atomically. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  await writeAtomic(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** The bytes of a regular file; throws for anything else, a link included. */
export async function readBytes(file: string | Buffer): Promise<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!(await handle.stat()).isFile()) throw new Error(`${file.toString()} is not a regular file`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Removes a file or link; one that is already gone is fine. */
export async function removeFile(file: string | Buffer): Promise<void> {
  await ignoring('ENOENT', unlink(file));
}

/** Removes a private folder with everything in it, links not followed; one that is already gone is fine. */
export async function removeTree(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** Removes what interrupted writes left directly inside a runner-owned folder, and names it. */
export async function cleanTemps(dir: string, isTemp: (name: string) => boolean): Promise<string[]> {
  const removed: string[] = [];
  for (const entry of (await ignoring('ENOENT', readdir(dir, { withFileTypes: true }))) ?? []) {
    const ours = isTemp(entry.name) || TEMP_OF_OURS.test(entry.name);
    if (!ours || entry.isDirectory()) continue;
    await removeFile(path.join(dir, entry.name));
    removed.push(entry.name);
  }
  return removed.toSorted();
}

/** The bytes of all files below a folder, links not followed; 0 for a folder that is not there or is none. */
export async function folderSize(dir: string): Promise<number> {
  if (!(await ignoring('ENOENT', lstat(dir)))?.isDirectory()) return 0;
  let total = 0;
  for (const entry of (await ignoring('ENOENT', readdir(dir, { withFileTypes: true }))) ?? []) {
    const child = path.join(dir, entry.name);
    total += entry.isDirectory() ? await folderSize(child) : ((await ignoring('ENOENT', lstat(child)))?.size ?? 0);
  }
  return total;
}

/** Makes a folder and its parents; throws when the name is taken by a link or a file. */
export async function ensureDir(dir: string, mode?: number): Promise<void> {
  await mkdir(dir, { recursive: true, ...(mode === undefined ? {} : { mode }) });
  if (!(await lstat(dir)).isDirectory()) throw new Error(`${dir} is a link, not a folder; remove it and try again`);
}

/** Makes a folder only this user can enter; throws when the name is taken by a link or by another user's folder. */
export async function ensurePrivateDir(dir: string): Promise<void> {
  await ensureDir(dir, 0o700);
  const { uid, mode } = await lstat(dir);
  if (process.getuid && uid !== process.getuid()) throw new Error(`${dir} belongs to another user; refusing to use it`);
  if ((mode & 0o777) !== 0o700) await chmod(dir, 0o700);
}

/** Whether a name stands for a folder itself, not for a link to one. */
export async function isFolder(dir: string): Promise<boolean> {
  return (await ignoring('ENOENT', lstat(dir)))?.isDirectory() ?? false;
}

/** The names in a folder, sorted; none for a folder that is not there. */
export async function list(dir: string): Promise<string[]> {
  return ((await ignoring('ENOENT', readdir(dir))) ?? []).toSorted();
}

/** Sets a file's time to now; one that is gone stays gone. */
export async function touch(file: string, now: Date): Promise<void> {
  await ignoring('ENOENT', utimes(file, now, now));
}

/** When a file was last written or touched, in ms; undefined for one that is not there. */
export async function modifiedMs(file: string): Promise<number | undefined> {
  return (await ignoring('ENOENT', lstat(file)))?.mtimeMs;
}

/** Gives a file another name in the same folder, durably. */
export async function move(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(path.dirname(to));
}

/** True when anything has this name, a dangling link included. */
export async function exists(file: string): Promise<boolean> {
  return (await ignoring('ENOENT', lstat(file))) !== undefined;
}

/** Makes renames, links and removals inside a folder durable. */
export async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** An error of the system says which call failed, but not always on which file. */
export function naming(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || error.message.includes(file)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return Object.assign(new Error(`${error.message}, ${file}`, { cause: error }), code !== undefined && { code });
}

async function refuseRedirection(file: string, folder: string): Promise<void> {
  if ((await lstat(folder)).isSymbolicLink()) throw new Error(`${folder} is a link; refusing to write into it`);
  const target = await ignoring('ENOENT', lstat(file));
  if (target && !target.isFile()) throw new Error(`${file} is a link or not a regular file; refusing to write it`);
  // write-file-atomic's temp names can be foreseen, and it opens them through a link.
  const prefix = `${path.basename(file)}.`;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const isTemp = entry.name.startsWith(prefix) && /^\d+$/.test(entry.name.slice(prefix.length));
    if (isTemp && !entry.isFile() && !entry.isDirectory()) await removeFile(path.join(folder, entry.name));
  }
}

async function readUpTo(handle: Awaited<ReturnType<typeof open>>, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length < limit) {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(Math.min(65_536, limit - length)));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}

async function ignoring<T>(code: string, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined;
    throw error;
  }
}
