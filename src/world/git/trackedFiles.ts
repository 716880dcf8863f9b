import type { IndexEntry, TrackedFiles } from '../../model.js';
import { LazyMap } from '../lazyMap.js';
import { decodePath, pathBytes, splitZ } from '../paths.js';

const PLAIN = 0x48; // H
const [SLASH, SIX] = [0x2f, 0x36];

/**
 * The user's index as `git ls-files --stage -v -z` prints it, sorted by the bytes of the paths. The records
 * are searched where they lie: few of them are ever asked for.
 */
export class ListedIndex extends LazyMap<IndexEntry> implements TrackedFiles {
  readonly flagged: readonly string[];
  readonly submodules: readonly string[];
  readonly #bytes: Buffer;
  /** Where the paths begin; the end of the last one closes the list. */
  readonly #starts: Uint32Array;
  readonly #count: number;
  readonly #prefix: number;

  constructor(bytes: Buffer) {
    super();
    this.#bytes = bytes;
    // "H 100644 <oid> 0\t": as long in every record of a repository.
    this.#prefix = bytes.length === 0 ? 0 : bytes.indexOf(9) + 1;
    const starts: number[] = [];
    const [flagged, submodules]: [number[], number[]] = [[], []];
    if (bytes.length > 0 && bytes.at(-1) !== 0) throw new Error('git listed its index incompletely');
    for (let at = 0; at < bytes.length; at = bytes.indexOf(0, at + this.#prefix) + 1) {
      if (bytes[at + this.#prefix - 1] !== 9) throw new Error('git listed its index in a form nobody knows');
      if (bytes[at] !== PLAIN) flagged.push(starts.length);
      if (bytes[at + 3] === SIX) submodules.push(starts.length);
      starts.push(at + this.#prefix);
    }
    this.#count = starts.length;
    this.#starts = Uint32Array.from([...starts, bytes.length + this.#prefix]);
    this.flagged = flagged.filter((row) => this.#entryAt(row).flagged).map((row) => this.#pathAt(row));
    this.submodules = submodules.map((row) => this.#pathAt(row));
  }

  override get size(): number {
    return this.#count;
  }

  get(path: string): IndexEntry | undefined {
    const row = this.#rowOf(pathBytes(path));
    return row < 0 ? undefined : this.#entryAt(row);
  }

  has(path: string): boolean {
    return this.#rowOf(pathBytes(path)) >= 0;
  }

  *entries(): MapIterator<[string, IndexEntry]> {
    for (let row = 0; row < this.#count; row += 1) yield [this.#pathAt(row), this.#entryAt(row)];
    return undefined;
  }

  override *keys(): MapIterator<string> {
    // Whoever asks for all of them gets them from one decoding.
    for (const record of splitZ(this.#bytes)) yield record.slice(this.#prefix);
    return undefined;
  }

  named(name: string): string[] {
    const wanted = Buffer.concat([Buffer.from(name), Buffer.of(0)]);
    return this.#found(wanted, (row, at) => {
      const start = this.#starts[row] ?? 0;
      return at === start || this.#bytes[at - 1] === SLASH;
    });
  }

  containing(text: string): string[] {
    return this.#found(Buffer.from(text), (row, at) => at >= (this.#starts[row] ?? 0));
  }

  hasInside(folder: string): boolean {
    const prefix = pathBytes(`${folder}/`);
    const start = this.#starts[this.#lowerBound(prefix)] ?? this.#bytes.length;
    return this.#bytes.subarray(start, start + prefix.length).equals(prefix);
  }

  ascending(): (bytes: Buffer, from: number, to: number) => boolean {
    let row = 0;
    return (bytes, from, to) => {
      for (; row < this.#count; row += 1) {
        const order = this.#order(row, bytes, from, to);
        if (order === 0) return true;
        if (order > 0) return false;
      }
      return false;
    };
  }

  /** How a tracked path compares with these bytes. */
  #order(row: number, bytes: Buffer, from: number, to: number): number {
    const mine = this.#bytes;
    let at = this.#starts[row] ?? 0;
    const end = this.#endOf(row);
    for (let other = from; ; at += 1, other += 1) {
      if (at === end || other === to) return at === end ? (other === to ? 0 : -1) : 1;
      const difference = (mine[at] ?? 0) - (bytes[other] ?? 0);
      if (difference !== 0) return difference;
    }
  }

  /** The paths of the records in which some bytes are found at a fitting place. */
  #found(wanted: Buffer, fits: (row: number, at: number) => boolean): string[] {
    const paths: string[] = [];
    for (let at = this.#bytes.indexOf(wanted); at >= 0; at = this.#bytes.indexOf(wanted, at + 1)) {
      const row = this.#recordAround(at);
      if (fits(row, at) && paths.at(-1) !== this.#pathAt(row)) paths.push(this.#pathAt(row));
    }
    return paths;
  }

  #recordAround(at: number): number {
    let [low, high] = [0, this.#count - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] ?? 0) - this.#prefix <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #rowOf(name: Buffer): number {
    const row = this.#lowerBound(name);
    return row < this.#count && this.#order(row, name, 0, name.length) === 0 ? row : -1;
  }

  /** The first record whose path is not less than these bytes. */
  #lowerBound(name: Buffer): number {
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order(middle, name, 0, name.length) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #endOf(row: number): number {
    return (this.#starts[row + 1] ?? 0) - this.#prefix - 1;
  }

  #pathAt(row: number): string {
    return decodePath(this.#bytes.subarray(this.#starts[row], this.#endOf(row)));
  }

  #entryAt(row: number): IndexEntry {
    const start = this.#starts[row] ?? 0;
    const [letter = '', mode = '', oid = ''] = this.#bytes
      .toString('latin1', start - this.#prefix, start - 1)
      .split(' ');
    // Lower case: assume-unchanged; S: skip-worktree.
    return { mode, oid, flagged: letter === 'S' || letter !== letter.toUpperCase() };
  }
}
