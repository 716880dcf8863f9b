import { createHash } from 'node:crypto';
import { constants, lstatSync, type Stats } from 'node:fs';
import type { Entry } from '../../model.js';
import { fsPath, pathBytes } from '../paths.js';
import { isCache, type Rules } from './caches.js';
import { entryOf, list, RACY_MS, statOf, withTarget } from './look.js';
import { closedFolder } from './plain.js';
import { BEFORE_NAME, HEADER, isRegular, put, WalkRecord, WIDTH } from './record.js';

/** What a caller wants to find again quickly: bits for every file, and a name for how they were chosen. */
export interface Marks {
  readonly key: string;
  of(path: string): number;
}

const LONG_NAME = 0xfff;
/** Git takes an entry of size 0 with any other id for one it must look into. */
const EMPTY_BLOB = Buffer.from('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391', 'hex');
const CHECKSUM = 20;

/** Records a whole work tree as lstat sees it; a top-level `.git` is recorded but not entered, links are never followed. */
export function recordTree(root: string, rules: Rules, marks: Marks): WalkRecord {
  const maker = new Maker(root, rules, marks);
  const own = lstatSync(root);
  // In git's order, deepest first: the index has to be sorted by the bytes of whole paths.
  const stack = [maker.list('', own)];
  if (maker.folders.length === 0) throw new Error(`the folder ${root} cannot be listed`);
  for (let items = stack.at(-1); items !== undefined; items = stack.at(-1)) {
    const item = items.pop();
    if (item === undefined) stack.pop();
    else if (isRegular(item.stats.mode)) maker.file(item.path, item.stats);
    else stack.push(maker.list(item.path, item.stats));
  }
  return maker.finish();
}

interface Item {
  readonly path: string;
  readonly stats: Stats;
}

class Maker {
  readonly folders: string[] = [];
  readonly #startedMs = Date.now();
  readonly #root: string;
  readonly #rules: Rules;
  readonly #marks: Marks;
  readonly #folderStats: number[] = [];
  readonly #special = new Map<string, Entry | undefined>();
  #index = Buffer.alloc(64 * 1024);
  #end = HEADER;
  #stats = new Float64Array(1024 * WIDTH);
  #marked = new Uint8Array(1024);
  #rows = 0;

  constructor(root: string, rules: Rules, marks: Marks) {
    this.#root = root;
    this.#rules = rules;
    this.#marks = marks;
  }

  /** Records a folder and names what is to be recorded next, the last one first. */
  list(folder: string, seen: Stats): Item[] {
    const names = list(this.#root, folder);
    if (names === undefined) {
      this.#special.set(folder, closedFolder(this.#root, folder));
      return [];
    }
    this.folders.push(folder);
    // As it stood before its names were read: whatever comes or goes meanwhile makes it another.
    put(this.#folderStats, (this.folders.length - 1) * WIDTH, seen);
    const items: Item[] = [];
    for (const name of names) {
      const item = this.#meet(folder, name, seen);
      if (item !== undefined) items.push(item);
    }
    return inReverse(items);
  }

  /** A file or folder to go on with; everything else is recorded at once. */
  #meet(folder: string, name: string, own: Stats): Item | undefined {
    const path = folder === '' ? name : `${folder}/${name}`;
    const at = fsPath(`${this.#root}/${path}`);
    const stats = statOf(at);
    if (stats === undefined) return undefined;
    if (stats === 'unreachable') {
      if (folder === '') throw new Error(`the folder ${this.#root} cannot be searched`);
      this.#special.set(folder, { ...entryOf(own), unreadable: true });
      return undefined;
    }
    if (isRegular(stats.mode)) return { path, stats };
    const entry = withTarget(at, entryOf(stats));
    if (entry === undefined || entry === 'unreachable') return undefined;
    if (entry.kind !== 'dir' || path === '.git') this.#special.set(path, entry);
    else if (isCache(path, this.#rules)) this.#special.set(path, { ...entry, pruned: true });
    else return { path, stats };
    return undefined;
  }

  file(path: string, stats: Stats): void {
    const name = pathBytes(path);
    const size = (BEFORE_NAME + name.length + 8) & ~7;
    this.#grow(size);
    const [index, at] = [this.#index, this.#end];
    // Young times prove nothing, and those to come would have git read the file: with zeros it just names it.
    if (Math.max(stats.ctimeMs, stats.mtimeMs) <= this.#startedMs - RACY_MS) putNumbers(index, at, stats);
    index.writeUInt32BE(constants.S_IFREG | ((stats.mode & 0o100) === 0 ? 0o644 : 0o755), at + 24);
    EMPTY_BLOB.copy(index, at + 40);
    index.writeUInt16BE(Math.min(name.length, LONG_NAME), at + 60);
    name.copy(index, at + BEFORE_NAME);
    this.#end += size;
    put(this.#stats, this.#rows * WIDTH, stats);
    this.#marked[this.#rows] = this.#marks.of(path);
    this.#rows += 1;
  }

  #grow(bytes: number): void {
    if (this.#end + bytes + CHECKSUM > this.#index.length)
      this.#index = Buffer.concat([this.#index], (this.#index.length + bytes) * 2);
    if (this.#rows < this.#marked.length) return;
    const [stats, marked] = [this.#stats, this.#marked];
    this.#stats = new Float64Array(stats.length * 2);
    this.#stats.set(stats);
    this.#marked = new Uint8Array(marked.length * 2);
    this.#marked.set(marked);
  }

  finish(): WalkRecord {
    const body = this.#index.subarray(0, this.#end);
    body.write('DIRC', 'latin1');
    body.writeUInt32BE(2, 4);
    body.writeUInt32BE(this.#rows, 8);
    return new WalkRecord({
      root: this.#root,
      rules: this.#rules,
      startedMs: this.#startedMs,
      index: Buffer.concat([body, createHash('sha1').update(body).digest()]),
      stats: this.#stats.slice(0, this.#rows * WIDTH),
      marks: this.#marked.slice(0, this.#rows),
      folders: this.folders,
      folderStats: Float64Array.from(this.#folderStats),
      special: this.#special,
    });
  }
}

/** The numbers that git compares; of times only the seconds, which is why young ones are left out. */
function putNumbers(index: Buffer, at: number, stats: Stats): void {
  index.writeUInt32BE(Math.floor(stats.ctimeMs / 1000) >>> 0, at);
  index.writeUInt32BE(Math.floor(stats.mtimeMs / 1000) >>> 0, at + 8);
  index.writeUInt32BE(stats.ino % 2 ** 32, at + 20);
  index.writeUInt32BE(stats.uid >>> 0, at + 28);
  index.writeUInt32BE(stats.gid >>> 0, at + 32);
  index.writeUInt32BE(stats.size % 2 ** 32, at + 36);
}

/** By the bytes of whole paths, the last one first; a folder stands where the paths in it will. */
function inReverse(items: Item[]): Item[] {
  const key = ({ path, stats }: Item): string => (isRegular(stats.mode) ? path : `${path}/`);
  // Below the surrogates strings compare like their bytes.
  const odd = items.some(({ path }) => /[\ud800-\uffff]/.test(path));
  const compare = odd
    ? (one: string, other: string) => pathBytes(other).compare(pathBytes(one))
    : (one: string, other: string) => (one < other ? 1 : -1);
  return items.sort((one, other) => compare(key(one), key(other)));
}
