import { constants } from 'node:fs';
import type { Entry, Inventory } from '../../model.js';
import { entryFrom, WIDTH, type Rows, type Rules } from './rows.js';

/** One full walk of a work tree; later looks are recorded as what differs from it. */
export interface Store {
  readonly root: string;
  readonly rules: Rules;
  readonly startedMs: number;
  readonly paths: readonly string[];
  readonly rowOf: ReadonlyMap<string, number>;
  readonly stats: Float64Array;
  readonly special: ReadonlyMap<string, Entry | undefined>;
  /** The same rows as each thread saw them; the first is this thread's. */
  readonly shards: readonly Rows[];
  /** How many folders this thread had listed before the others joined. */
  readonly ownFolders: number;
}

/** An inventory in columns, with the entries that were set since on top; reads like a Map, and is copied at no cost. */
export class TreeInventory implements Map<string, Entry> {
  readonly store: Store;
  readonly #changed: Map<string, Entry | undefined>;
  readonly [Symbol.toStringTag] = 'TreeInventory';

  constructor(store: Store, changed: Iterable<readonly [string, Entry | undefined]> = []) {
    this.store = store;
    this.#changed = new Map(changed);
  }

  get size(): number {
    let count = 0;
    for (const _path of this.keys()) count += 1;
    return count;
  }

  get(path: string): Entry | undefined {
    const changed = this.#changed.get(path);
    if (changed !== undefined || this.#changed.has(path)) return changed;
    const row = this.store.rowOf.get(path);
    return row === undefined ? undefined : this.#at(row, path);
  }

  #at(row: number, path: string): Entry | undefined {
    const { special, stats } = this.store;
    const known = special.get(path);
    return known !== undefined || special.has(path) ? known : entryFrom(stats, row * WIDTH);
  }

  has(path: string): boolean {
    if (this.#changed.has(path)) return this.#changed.get(path) !== undefined;
    const { rowOf, special } = this.store;
    return rowOf.has(path) && !(special.has(path) && special.get(path) === undefined);
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
    for (const [row, path] of this.store.paths.entries()) {
      if (this.#changed.has(path)) continue;
      const entry = this.#at(row, path);
      if (entry !== undefined) yield [path, entry];
    }
    for (const [path, entry] of this.#changed) if (entry !== undefined) yield [path, entry];
    return undefined;
  }

  *keys(): MapIterator<string> {
    for (const path of this.store.paths) if (!this.#changed.has(path) && this.has(path)) yield path;
    for (const [path, entry] of this.#changed) if (entry !== undefined) yield path;
    return undefined;
  }

  *values(): MapIterator<Entry> {
    for (const [, entry] of this.entries()) yield entry;
    return undefined;
  }

  [Symbol.iterator](): MapIterator<[string, Entry]> {
    return this.entries();
  }

  forEach(act: (entry: Entry, path: string, map: Map<string, Entry>) => void): void {
    for (const [path, entry] of this.entries()) act(entry, path, this);
  }

  /** What was set or deleted on top of the walk. */
  changed(): ReadonlyMap<string, Entry | undefined> {
    return this.#changed;
  }

  copy(): TreeInventory {
    return new TreeInventory(this.store, this.#changed);
  }

  /** Calls back for every regular file, without making an entry of it. */
  eachFile(act: (path: string, size: number, ctimeMs: number) => void): void {
    const { paths, stats, special } = this.store;
    for (let row = 0; row < paths.length; row += 1) {
      const path = paths[row] ?? '';
      if (((stats[row * WIDTH] ?? 0) & constants.S_IFMT) !== constants.S_IFREG) continue;
      if (special.has(path) || this.#changed.has(path)) continue;
      act(path, stats[row * WIDTH + 3] ?? 0, stats[row * WIDTH + 5] ?? 0);
    }
    for (const map of [special, this.#changed])
      for (const [path, entry] of map)
        if (entry?.kind === 'file' && (map === this.#changed || !this.#changed.has(path)))
          act(path, entry.size, entry.ctimeMs);
  }
}

/** Calls back for every regular file of an inventory. */
export function eachFile(inventory: Inventory, act: (path: string, size: number, ctimeMs: number) => void): void {
  if (inventory instanceof TreeInventory) inventory.eachFile(act);
  else for (const [path, entry] of inventory) if (entry.kind === 'file') act(path, entry.size, entry.ctimeMs);
}

/** Paths at which two inventories can differ at all: few, where both build on the same walk. */
export function mayDiffer(one: Inventory, other: Inventory): Iterable<string> {
  if (one instanceof TreeInventory && other instanceof TreeInventory && one.store === other.store)
    return new Set([...one.changed().keys(), ...other.changed().keys()]);
  return new Set([...one.keys(), ...other.keys()]);
}

/** Entries with something that numbers do not tell; where that is not known, all of them. */
export function remarkable(inventory: Inventory): Iterable<readonly [string, Entry | undefined]> {
  if (!(inventory instanceof TreeInventory)) return inventory;
  const { special } = inventory.store;
  const changed = inventory.changed();
  return [...[...special].filter(([path]) => !changed.has(path)), ...changed];
}

/** An inventory of one's own to write to. */
export function copyOf(inventory: Inventory): Map<string, Entry> {
  return inventory instanceof TreeInventory ? inventory.copy() : new Map(inventory);
}
