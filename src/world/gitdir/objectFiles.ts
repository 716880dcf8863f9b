import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createInflate, inflateSync } from 'node:zlib';
import { execa } from 'execa';
import type { Repository } from '../../model.js';
import { gitProgram } from '../git/program.js';
import { trustedPath } from '../programs.js';

type Format = Repository['objectFormat'];

const LOOSE = /(?:^|\/)objects\/([0-9a-f]{2})\/([0-9a-f]{38}|[0-9a-f]{62})$/;
const HEADER = /^(?:blob|tree|commit|tag) (0|[1-9][0-9]*)$/;
const SMALL_FILE = 256 * 1024;
const SMALL_OBJECT = 4 * 1024 * 1024;
const MAX_HEADER = 32;
/** What a file that is gone, closed or of another kind answers: its content proves nothing. */
const UNREADABLE = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'];

/** The id a loose object's path promises; undefined for every other path. */
export function looseId(name: string): string | undefined {
  const match = LOOSE.exec(name);
  return match === null ? undefined : `${match[1]}${match[2]}`;
}

/** Whether a loose object file holds the object of this id and nothing else; git itself does not check when it reads. */
export async function looseIsTrue(file: string | Buffer, id: string, format: Format): Promise<boolean> {
  return withFile(file, async (fd, size) => {
    if (size > SMALL_FILE) return streamIsTrue(fd, size, { id, format });
    const small = inflateSmall(readFileSync(fd));
    if (small === 'broken') return false;
    if (small === 'large') return streamIsTrue(fd, size, { id, format });
    const end = small.subarray(0, MAX_HEADER).indexOf(0);
    if (end < 0 || declared(small.subarray(0, end)) !== small.length - end - 1) return false;
    return createHash(format).update(small).digest('hex') === id;
  });
}

/** The SHA-256 of a regular file, read in pieces; undefined where it can't be read. */
export async function sha256Of(file: string | Buffer): Promise<string | undefined> {
  const found = await withFile(file, async (fd) => {
    const hash = createHash('sha256');
    for (const chunk of pieces(fd)) hash.update(chunk);
    return hash.digest('hex');
  });
  return found === false ? undefined : found;
}

/** Whether a pack and its index are whole and every id in the index stands for its object; asked outside of any repository. */
export async function packIsTrue(pack: string, format: Format, workTree: string): Promise<boolean> {
  const env = {
    PATH: trustedPath(process.env['PATH'], workTree),
    LC_ALL: 'C',
    GIT_DIR: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  // Larger objects are streamed instead of held in memory.
  const args = ['-c', 'core.bigFileThreshold=16m', 'index-pack', '--verify', `--object-format=${format}`, pack];
  const options = { env, extendEnv: false, reject: false, cwd: path.dirname(pack), stdin: 'ignore' } as const;
  const result = await execa(gitProgram(workTree, process.env), args, { ...options, buffer: false });
  if (result.exitCode === undefined && result.signal === undefined)
    throw new Error(`git could not be started to verify ${pack}: ${result.shortMessage ?? 'no message'}`);
  return result.exitCode === 0;
}

async function withFile<T>(file: string | Buffer, use: (fd: number, size: number) => Promise<T>): Promise<T | false> {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (UNREADABLE.includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() ? await use(fd, stats.size) : false;
  } finally {
    closeSync(fd);
  }
}

function* pieces(fd: number): Generator<Buffer> {
  for (let at = 0; ;) {
    const bytes = Buffer.allocUnsafe(1024 * 1024);
    const read = readSync(fd, bytes, 0, bytes.length, at);
    if (read === 0) return;
    at += read;
    yield bytes.subarray(0, read);
  }
}

/** The size the header of an object declares. */
function declared(header: Buffer): number | undefined {
  const size = HEADER.exec(header.toString('latin1'))?.[1];
  return size === undefined ? undefined : Number(size);
}

function inflateSmall(bytes: Buffer): Buffer | 'broken' | 'large' {
  try {
    // With `info` the engine tells how much it took: git refuses bytes after the end.
    const { buffer, engine } = inflateSync(bytes, { info: true, maxOutputLength: SMALL_OBJECT }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    return engine.bytesWritten === bytes.length ? buffer : 'broken';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'large' : 'broken';
  }
}

async function streamIsTrue(fd: number, size: number, want: { id: string; format: Format }): Promise<boolean> {
  const inflate = createInflate();
  const source = Readable.from(pieces(fd));
  source.on('error', (error) => inflate.destroy(error));
  const hash = createHash(want.format);
  let head = Buffer.alloc(0);
  let total: number | undefined;
  let seen = 0;
  try {
    for await (const chunk of source.pipe(inflate)) {
      const bytes = chunk as Buffer;
      hash.update(bytes);
      seen += bytes.length;
      if (total === undefined) {
        head = Buffer.concat([head, bytes.subarray(0, MAX_HEADER)]);
        const end = head.indexOf(0);
        const body = end < 0 ? undefined : declared(head.subarray(0, end));
        if (body === undefined) return false;
        total = end + 1 + body;
      }
      // Whoever declares little and delivers without end is not waited for.
      if (seen > total) return false;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_')) return false;
    throw error;
  } finally {
    source.destroy();
    inflate.destroy();
  }
  return seen === total && inflate.bytesWritten === size && hash.digest('hex') === want.id;
}
