import { createHash } from 'node:crypto';
import { closeSync, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

/** One thing on the disk, by itself: nothing of the product's inventory is used here. */
export interface Thing {
  readonly kind: 'file' | 'dir' | 'link' | 'fifo' | 'socket' | 'block' | 'char';
  readonly mode: number;
  /** A file's sha256, a link's target, or nothing. */
  readonly content: string;
}

/** Paths are latin1 strings: one character a byte, so that no name is lost. */
export type Things = ReadonlyMap<string, Thing>;

const CHUNK = Buffer.alloc(1024 * 1024);

/** Everything at and below a folder, itself as `.`; what `skip` names is left out with all below it. */
export function walkAll(root: string, skip: (name: string) => boolean = () => false): Things {
  const seen = new Map<string, Thing>();
  const enter = (name: string): void => {
    const thing = thingAt(root, name);
    if (thing === undefined) return;
    seen.set(name === '' ? '.' : name, thing);
    if (thing.kind !== 'dir') return;
    for (const child of namesIn(root, name)) {
      const below = name === '' ? child : `${name}/${child}`;
      if (!skip(below)) enter(below);
    }
  };
  enter('');
  return seen;
}

/** A thing in one line, for comparing and for people. */
export function describe({ kind, mode, content }: Thing): string {
  return kind === 'link' ? `link ${content}` : `${kind} ${mode.toString(8)} ${content}`;
}

/** The path of an entry below a root, as bytes. */
export function bytePath(root: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(name === '' ? root : `${root}/`), Buffer.from(name, 'latin1')]);
}

function namesIn(root: string, name: string): string[] {
  try {
    return readdirSync(bytePath(root, name), { encoding: 'buffer' }).map((child) => child.toString('latin1'));
  } catch (error) {
    // A folder that can't be read is told apart from every other by its mode.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw error;
  }
}

function thingAt(root: string, name: string): Thing | undefined {
  const file = bytePath(root, name);
  try {
    const stats = lstatSync(file);
    const mode = stats.mode & 0o7777;
    if (stats.isSymbolicLink()) return { kind: 'link', mode: 0o777, content: readlinkSync(file, 'latin1') };
    if (stats.isFile()) return { kind: 'file', mode, content: hashOf(file) };
    const kinds = [
      ['dir', stats.isDirectory()],
      ['fifo', stats.isFIFO()],
      ['socket', stats.isSocket()],
      ['block', stats.isBlockDevice()],
      ['char', stats.isCharacterDevice()],
    ] as const;
    return { kind: kinds.find(([, is]) => is)?.[0] ?? 'file', mode, content: '' };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(code)) return undefined;
    throw error;
  }
}

function hashOf(file: Buffer): string {
  const hash = createHash('sha256');
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return 'closed';
    throw error;
  }
  try {
    for (let size = readSync(handle, CHUNK); size > 0; size = readSync(handle, CHUNK))
      hash.update(CHUNK.subarray(0, size));
  } finally {
    closeSync(handle);
  }
  return hash.digest('hex');
}
