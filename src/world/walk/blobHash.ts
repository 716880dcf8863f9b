import { createHash } from 'node:crypto';
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from 'node:fs';
import type { Repository } from '../../model.js';

const SMALL_BYTES = 1024 * 1024;

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

/** A hash, or undefined for what can't be read: unknown content counts as changed. */
export async function hashIfReadable(hash: () => Promise<string>): Promise<string | undefined> {
  try {
    return await hash();
  } catch (error) {
    // Not to be read, gone or replaced: the content is unknown, and unknown counts as changed.
    if (
      ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')
    )
      return undefined;
    throw error;
  }
}
