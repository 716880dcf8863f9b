import type { Entry, Inventory, TrackedFiles } from '../../model.js';
import { LazyMap } from '../lazyMap.js';
import { WIDTH, type WalkRecord } from './record.js';

/** What a record kept from an earlier tick could not vouch for, when it was compared with the work tree. */
export interface Resumed {
  readonly id: string;
  readonly paths: ReadonlySet<string>;
}

/** An inventory in columns, with the entries that were set since on top; reads like a Map, and is copied at no cost. */
export class TreeInventory extends LazyMap<Entry> implements Map<string, Entry> {
  readonly record: WalkRecord;
  readonly resumed: Resumed | undefined;
  readonly #changed: Map<string, Entry | undefined>;
  readonly [Symbol.toStringTag] = 'TreeInventory';

  constructor(record: WalkRecord, changed: Iterable<readonly [string, Entry | undefined]> = [], resumed?: Resumed) {
    super();
    this.record = record;
    this.resumed = resumed;
    this.#changed = new Map(changed);
  }

  get(path: string): Entry | undefined {
    const changed = this.#changed.get(path);
    return changed !== undefined || this.#changed.has(path) ? changed : this.record.get(path);
  }

  has(path: string): boolean {
    return this.get(path) !== undefined;
  }

  set(path: string, entry: Entry): this {
    this.#changed.set(path, entry);
    return this;
  }

  delete(path: string): boolean {
    const had = this.has(path);
    this.#changed.set(path, undefined);
    return had;
  }

  clear(): void {
    for (const path of Array.from(this.keys())) this.delete(path);
  }

  *entries(): MapIterator<[string, Entry]> {
    for (const pair of this.record.entries()) if (!this.#changed.has(pair[0])) yield pair;
    for (const [path, entry] of this.#changed) if (entry !== undefined) yield [path, entry];
    return undefined;
  }

  /** What was set or deleted on top of the record. */
  changed(): ReadonlyMap<string, Entry | undefined> {
    return this.#changed;
  }

  copy(): TreeInventory {
    return new TreeInventory(this.record, this.#changed, this.resumed);
  }

  /** The files of these rows unless something was set on top of them, and then what was set and fits. */
  #files(rows: readonly number[], fits: (path: string, entry: Entry) => boolean): string[] {
    const paths: string[] = [];
    for (const row of rows) {
      const path = this.record.pathAt(row);
      if (!this.#changed.has(path)) paths.push(path);
    }
    for (const [path, entry] of this.#changed) if (entry?.kind === 'file' && fits(path, entry)) paths.push(path);
    return paths;
  }

  filesSince(ctimeMs: number): string[] {
    const { stats } = this.record.parts;
    const rows: number[] = [];
    for (let at = 5, row = 0; at < stats.length; at += WIDTH, row += 1) if ((stats[at] ?? 0) > ctimeMs) rows.push(row);
    return this.#files(rows, (_path, entry) => entry.ctimeMs > ctimeMs);
  }

  filesMarked(bits: number, markOf: (path: string) => number): string[] {
    const { marks } = this.record.parts;
    const rows: number[] = [];
    for (let row = 0; row < marks.length; row += 1) if (((marks[row] ?? 0) & bits) !== 0) rows.push(row);
    return this.#files(rows, (path) => (markOf(path) & bits) !== 0);
  }

  filesOutside(index: TrackedFiles, without: number, markOf: (path: string) => number): string[] {
    const { record } = this;
    const { index: names, marks } = record.parts;
    const isTracked = index.ascending();
    const rows: number[] = [];
    for (let row = 0; row < marks.length; row += 1)
      if (((marks[row] ?? 0) & without) === 0 && !isTracked(names, ...record.nameAt(row))) rows.push(row);
    return this.#files(rows, (path) => (markOf(path) & without) === 0 && !index.has(path));
  }
}

/** Files that changed later than this, told by their ctime. */
export function filesSince(inventory: Inventory, ctimeMs: number): string[] {
  return inventory instanceof TreeInventory
    ? inventory.filesSince(ctimeMs)
    : [...inventory].filter(([, entry]) => entry.kind === 'file' && entry.ctimeMs > ctimeMs).map(([path]) => path);
}

/** Regular files that carry one of the marks. */
export function filesMarked(inventory: Inventory, bits: number, markOf: (path: string) => number): string[] {
  return inventory instanceof TreeInventory
    ? inventory.filesMarked(bits, markOf)
    : [...inventory].filter(([path, { kind }]) => kind === 'file' && (markOf(path) & bits) !== 0).map(([path]) => path);
}

/** Regular files that git does not track and that carry none of the marks. */
export function filesOutside(
  inventory: Inventory,
  index: TrackedFiles,
  without: number,
  markOf: (path: string) => number,
): string[] {
  if (inventory instanceof TreeInventory) return inventory.filesOutside(index, without, markOf);
  return [...inventory]
    .filter(([path, { kind }]) => kind === 'file' && !index.has(path) && (markOf(path) & without) === 0)
    .map(([path]) => path);
}

/** Paths at which two inventories can differ at all: few, where both build on the same record. */
export function mayDiffer(one: Inventory, other: Inventory): Iterable<string> {
  if (one instanceof TreeInventory && other instanceof TreeInventory && one.record === other.record)
    return new Set([...one.changed().keys(), ...other.changed().keys()]);
  return new Set([...one.keys(), ...other.keys()]);
}

/** Entries with something that numbers do not tell; where that is not known, all of them. */
export function remarkable(inventory: Inventory): Iterable<readonly [string, Entry | undefined]> {
  if (!(inventory instanceof TreeInventory)) return inventory;
  const changed = inventory.changed();
  return [...[...inventory.record.parts.special].filter(([path]) => !changed.has(path)), ...changed];
}

/** What the record an inventory builds on could not vouch for; undefined where there was none. */
export function resumedFrom(inventory: Inventory): Resumed | undefined {
  return inventory instanceof TreeInventory ? inventory.resumed : undefined;
}

/** An inventory of one's own to write to. */
export function copyOf(inventory: Inventory): Map<string, Entry> {
  return inventory instanceof TreeInventory ? inventory.copy() : new Map(inventory);
}
