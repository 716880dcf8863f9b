import type { Stats } from 'node:fs';
import type { Entry } from '../../model.js';
import { kindOf } from './look.js';

/** Numbers per entry: mode with the kind, inode, links, size, mtime, ctime. */
export const WIDTH = 6;
const FIRST = 1024;

/** Which folders are recorded but not entered. */
export interface Rules {
  /** Names of cache folders directly inside a `node_modules`. */
  readonly caches: readonly string[];
  /** Those of them that hold tracked files, and so are entered. */
  readonly entered: readonly string[];
}

/** Whether a folder is a cache of installed tools, which anybody may write to at any time. */
export function isCache(path: string, { caches, entered }: Rules): boolean {
  const at = path.lastIndexOf('/node_modules/') + 1;
  if (!path.startsWith('node_modules/', at)) return false;
  return caches.includes(path.slice(at + 'node_modules/'.length)) && !entered.includes(path);
}

/** What one thread saw, in columns: an object for every file of a large tree would cost more than looking at it. */
export class Rows {
  paths: string[] = [];
  stats = new Float64Array(new SharedArrayBuffer(FIRST * WIDTH * 8));
  /** What numbers do not tell: links, folders that were not listed or are closed; undefined where a path was gone again. */
  special = new Map<string, Entry | undefined>();
  /** Folders that were listed, each with its numbers and the place of its children among the paths. */
  folders: string[] = [];
  folderStats: number[] = [];
  spans: number[] = [];
  /** Some name is not UTF-8. */
  odd = false;

  add(path: string, stats: Stats): void {
    const at = this.paths.push(path) * WIDTH;
    if (at > this.stats.length) {
      const grown = new Float64Array(new SharedArrayBuffer(this.stats.byteLength * 2));
      grown.set(this.stats);
      this.stats = grown;
    }
    put(this.stats, at - WIDTH, stats);
  }

  /** Notes that a folder was listed; its children are added next. */
  open(folder: string, stats: Stats): void {
    this.folders.push(folder);
    const at = this.folderStats.length;
    for (let field = 0; field < WIDTH; field += 1) this.folderStats.push(0);
    put(this.folderStats, at, stats);
    this.spans.push(this.paths.length, 0);
  }

  close(): void {
    const at = this.spans.length - 1;
    this.spans[at] = this.paths.length - (this.spans[at - 1] ?? 0);
  }
}

function put(into: { [at: number]: number }, at: number, stats: Stats): void {
  into[at] = stats.mode;
  into[at + 1] = stats.ino;
  into[at + 2] = stats.nlink;
  into[at + 3] = stats.size;
  into[at + 4] = stats.mtimeMs;
  into[at + 5] = stats.ctimeMs;
}

/** Whether lstat says just what was recorded. */
export function sameNumbers(from: ArrayLike<number>, at: number, stats: Stats): boolean {
  return (
    from[at + 5] === stats.ctimeMs &&
    from[at] === stats.mode &&
    from[at + 1] === stats.ino &&
    from[at + 2] === stats.nlink &&
    from[at + 3] === stats.size &&
    from[at + 4] === stats.mtimeMs
  );
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

/** Rows in the form that travels between threads. */
export interface Packed {
  readonly paths: string;
  readonly stats: Float64Array;
  readonly special: Rows['special'];
  readonly folders: string;
  readonly folderStats: readonly number[];
  readonly spans: readonly number[];
  readonly odd: boolean;
}

/** For the way to another thread: one string instead of many, numbers in shared memory. */
export function pack(rows: Rows): Packed {
  const { stats, special, folderStats, spans, odd } = rows;
  return { paths: rows.paths.join('\0'), stats, special, folders: rows.folders.join('\0'), folderStats, spans, odd };
}

/** Reads back what `pack` made. */
export function unpack(packed: Packed): Rows {
  const rows = new Rows();
  rows.paths = packed.paths === '' ? [] : packed.paths.split('\0');
  rows.stats = packed.stats as Rows['stats'];
  rows.special = packed.special;
  // The root's own name is empty, but it is never another thread's.
  rows.folders = packed.folders === '' ? [] : packed.folders.split('\0');
  rows.folderStats = [...packed.folderStats];
  rows.spans = [...packed.spans];
  rows.odd = packed.odd;
  return rows;
}
