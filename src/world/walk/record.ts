import { constants } from 'node:fs';
import type { Entry } from '../../model.js';
import { absolute, decodePath, pathBytes } from '../paths.js';
import type { Rules } from './caches.js';
import { kindOf } from './look.js';

/** Numbers per entry: mode with the kind, inode, links, size, mtime, ctime. */
export const WIDTH = 6;
/** A git index entry: ten numbers of lstat, a blob id and a length before the name; blocks of eight bytes. */
export const HEADER = 12;
export const BEFORE_NAME = 62;
const LONG_NAME = 0xfff;

/** What a record is made of, in memory and on disk. */
export interface RecordParts {
  readonly root: string;
  readonly rules: Rules;
  readonly startedMs: number;
  /** The regular files as a git index of version 2, so that git itself can tell which of them differ. */
  readonly index: Buffer;
  /** The same files in the same order: what lstat told, and the marks the caller set. */
  readonly stats: Float64Array;
  readonly marks: Uint8Array;
  /** Folders that were listed; the root comes first and is named ''. */
  readonly folders: readonly string[];
  readonly folderStats: Float64Array;
  /** What numbers do not tell: links, pipes, folders that were not listed or are closed; undefined where a path was gone again. */
  readonly special: ReadonlyMap<string, Entry | undefined>;
}

/** How a whole work tree stood at one moment: in columns, because an object for every file would cost more than looking at it. */
export class WalkRecord {
  readonly parts: RecordParts;
  readonly size: number;
  readonly #offsets: Uint32Array;
  #folderRows: Map<string, number> | undefined;
  #folderPaths: readonly (string | Buffer)[] | undefined;

  constructor(parts: RecordParts) {
    this.parts = parts;
    this.size = parts.marks.length;
    this.#offsets = offsetsOf(parts.index, this.size);
  }

  /** Where the name of a file lies in the index. */
  nameAt(row: number): readonly [from: number, to: number] {
    const { index } = this.parts;
    const from = (this.#offsets[row] ?? 0) + BEFORE_NAME;
    const length = index.readUInt16BE(from - 2) & LONG_NAME;
    return [from, length < LONG_NAME ? from + length : index.indexOf(0, from)];
  }

  pathAt(row: number): string {
    return decodePath(this.parts.index.subarray(...this.nameAt(row)));
  }

  /** The first row whose name is not less than these bytes. */
  lowerBound(name: Buffer): number {
    let [low, high] = [0, this.size];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(middle, name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The row of a regular file, -1 where none was recorded. */
  rowOf(path: string): number {
    const name = pathBytes(path);
    const row = this.lowerBound(name);
    return row < this.size && this.#compare(row, name) === 0 ? row : -1;
  }

  #compare(row: number, name: Buffer): number {
    const [from, to] = this.nameAt(row);
    return this.parts.index.compare(name, 0, name.length, from, to);
  }

  folderRow(folder: string): number | undefined {
    this.#folderRows ??= new Map(this.parts.folders.map((name, row) => [name, row]));
    return this.#folderRows.get(folder);
  }

  /** The recorded folders in the form node:fs takes. */
  folderPaths(): readonly (string | Buffer)[] {
    this.#folderPaths ??= this.parts.folders.map((folder) => absolute(this.parts.root, folder));
    return this.#folderPaths;
  }

  /** Whether a path was there or was at least met. */
  knows(path: string): boolean {
    return this.parts.special.has(path) || this.folderRow(path) !== undefined || this.rowOf(path) >= 0;
  }

  get(path: string): Entry | undefined {
    const { special, stats, folderStats } = this.parts;
    if (special.has(path)) return special.get(path);
    const folder = this.folderRow(path === '.' ? '' : path);
    if (folder !== undefined && path !== '') return entryFrom(folderStats, folder * WIDTH);
    const row = path === '' ? -1 : this.rowOf(path);
    return row < 0 ? undefined : entryFrom(stats, row * WIDTH);
  }

  /** The files directly in a folder; whole subfolders are leapt over. */
  *rowsIn(folder: string): Generator<number> {
    const { index } = this.parts;
    const prefix = pathBytes(folder === '' ? '' : `${folder}/`);
    let row = this.lowerBound(prefix);
    while (row < this.size) {
      const [from, to] = this.nameAt(row);
      if (index.compare(prefix, 0, prefix.length, from, Math.min(to, from + prefix.length)) !== 0) return;
      const slash = index.indexOf(0x2f, from + prefix.length);
      if (slash < 0 || slash >= to) {
        yield row;
        row += 1;
      } else {
        const next = Buffer.from(index.subarray(from, slash + 1));
        // The character after the slash: behind everything in the subfolder.
        next[next.length - 1] = 0x30;
        row = this.lowerBound(next);
      }
    }
  }

  /** Everything that was recorded, in no order that means anything. */
  *entries(): Generator<[string, Entry]> {
    const { special, stats, folders, folderStats } = this.parts;
    for (const [row, folder] of folders.entries())
      if (!special.has(folder)) yield [folder === '' ? '.' : folder, entryFrom(folderStats, row * WIDTH)];
    for (const [path, entry] of special) if (entry !== undefined) yield [path, entry];
    for (let row = 0; row < this.size; row += 1) yield [this.pathAt(row), entryFrom(stats, row * WIDTH)];
  }
}

function offsetsOf(index: Buffer, size: number): Uint32Array {
  const offsets = new Uint32Array(size);
  let at = HEADER;
  for (let row = 0; row < size; row += 1) {
    offsets[row] = at;
    const length = ((index[at + BEFORE_NAME - 2] ?? 0) << 8) | (index[at + BEFORE_NAME - 1] ?? 0);
    const name = at + BEFORE_NAME;
    const end = length < LONG_NAME ? name + length : index.indexOf(0, name);
    // At least one NUL ends the name, and the next entry begins at a multiple of eight.
    at += (end - at + 8) & ~7;
    if (end < name || at > index.length) throw new Error('not a complete record of a work tree');
  }
  return offsets;
}

/** The recorded numbers as an entry. */
export function entryFrom(from: ArrayLike<number>, at: number): Entry {
  const mode = from[at] ?? 0;
  return {
    kind: kindOf(mode),
    ino: from[at + 1] ?? 0,
    nlink: from[at + 2] ?? 0,
    size: from[at + 3] ?? 0,
    mode: mode & 0o7777,
    mtimeMs: from[at + 4] ?? 0,
    ctimeMs: from[at + 5] ?? 0,
  };
}

/** What lstat tells and a record keeps. */
export type Numbers = Record<'mode' | 'ino' | 'nlink' | 'size' | 'mtimeMs' | 'ctimeMs', number>;

export function put(into: { [at: number]: number }, at: number, stats: Numbers): void {
  into[at] = stats.mode;
  into[at + 1] = stats.ino;
  into[at + 2] = stats.nlink;
  into[at + 3] = stats.size;
  into[at + 4] = stats.mtimeMs;
  into[at + 5] = stats.ctimeMs;
}

/** Whether lstat says just what was recorded. */
export function sameNumbers(from: ArrayLike<number>, at: number, stats: Numbers): boolean {
  return (
    from[at + 5] === stats.ctimeMs &&
    from[at] === stats.mode &&
    from[at + 1] === stats.ino &&
    from[at + 2] === stats.nlink &&
    from[at + 3] === stats.size &&
    from[at + 4] === stats.mtimeMs
  );
}

/** Whether lstat's mode is a regular file's. */
export function isRegular(mode: number): boolean {
  return (mode & constants.S_IFMT) === constants.S_IFREG;
}
