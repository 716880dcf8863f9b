/** The part of a Map that follows from its entries, for maps that make each entry only when it is asked for. */
export abstract class LazyMap<V> implements ReadonlyMap<string, V> {
  abstract get(path: string): V | undefined;
  abstract has(path: string): boolean;
  abstract entries(): MapIterator<[string, V]>;

  get size(): number {
    let count = 0;
    for (const _entry of this.entries()) count += 1;
    return count;
  }

  *keys(): MapIterator<string> {
    for (const [path] of this.entries()) yield path;
    return undefined;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
    return undefined;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- Map and ReadonlyMap disagree on the third argument
  forEach(act: (value: V, path: string, map: any) => void): void {
    for (const [path, value] of this.entries()) act(value, path, this);
  }
}
