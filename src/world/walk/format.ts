import type { Entry, Inventory, Kind } from '../../model.js';
import { decodePath, pathBytes } from '../paths.js';
import { TreeInventory } from './columns.js';
import { entryFrom, WIDTH } from './rows.js';

const HEADER = 'relais inventory 1';
const FIELDS = 11;
const COLUMNS = 'relais inventory 2\n';

/** An inventory as bytes: NUL-separated fields, numbers in the form that reads back exactly. */
export function serialize(inv: Inventory): Buffer {
  if (inv instanceof TreeInventory) return serializeColumns(inv);
  const parts: string[] = [HEADER];
  for (const [path, entry] of inv) {
    const flags = `${entry.pruned ? 'p' : ''}${entry.unreadable ? 'u' : ''}${entry.target === undefined ? '' : 't'}`;
    parts.push(
      path,
      entry.kind,
      `${entry.ino}`,
      `${entry.nlink}`,
      `${entry.size}`,
      `${entry.mode}`,
      `${entry.mtimeMs}`,
      `${entry.ctimeMs}`,
      flags,
      entry.hash ?? '',
      entry.target ?? '',
    );
  }
  parts.push('');
  return pathBytes(parts.join('\0'));
}

/** Reads back what `serialize` wrote; anything else, a cut file too, is an error. */
export function deserialize(buf: Buffer): Inventory {
  if (buf.toString('latin1', 0, COLUMNS.length) === COLUMNS) return deserializeColumns(buf);
  const parts = decodePath(buf).split('\0');
  if (parts[0] !== HEADER || parts.at(-1) !== '' || (parts.length - 2) % FIELDS !== 0)
    throw new Error('not a complete inventory');
  const inventory = new Map<string, Entry>();
  for (let at = 1; at < parts.length - 1; at += FIELDS) {
    const text = (field: number): string => parts[at + field] ?? '';
    const flags = text(8);
    inventory.set(text(0), {
      kind: text(1) as Kind,
      ino: Number(text(2)),
      nlink: Number(text(3)),
      size: Number(text(4)),
      mode: Number(text(5)),
      mtimeMs: Number(text(6)),
      ctimeMs: Number(text(7)),
      ...(flags.includes('p') && { pruned: true as const }),
      ...(flags.includes('u') && { unreadable: true as const }),
      ...(text(9) !== '' && { hash: text(9) }),
      ...(flags.includes('t') && { target: text(10) }),
    });
  }
  return inventory;
}

interface Head {
  readonly rows: number;
  readonly pathBytes: number;
  /** Entries that numbers do not tell, or that came later; null: not there. */
  readonly entries: readonly (readonly [string, Entry | null])[];
}

/** A large inventory as it lies in memory: one line of JSON, the paths, the numbers. */
function serializeColumns(inv: TreeInventory): Buffer {
  const { paths, stats, special } = inv.store;
  const names = pathBytes(paths.join('\0'));
  const entries = [...special, ...inv.changed()].map(([path, entry]) => [path, entry ?? null] as const);
  const head: Head = { rows: paths.length, pathBytes: names.length, entries };
  return Buffer.concat([
    Buffer.from(`${COLUMNS}${JSON.stringify(head)}\n`),
    names,
    new Uint8Array(stats.buffer, stats.byteOffset, stats.byteLength),
  ]);
}

function deserializeColumns(buf: Buffer): Inventory {
  const line = buf.indexOf(10, COLUMNS.length);
  if (line < 0) throw new Error('not a complete inventory');
  const head = JSON.parse(buf.toString('utf8', COLUMNS.length, line)) as Head;
  const numbers = line + 1 + head.pathBytes;
  if (buf.length !== numbers + head.rows * WIDTH * 8) throw new Error('not a complete inventory');
  const paths = decodePath(buf.subarray(line + 1, numbers)).split('\0');
  // Copied, because numbers have to begin at a multiple of their size.
  const stats = new Float64Array(new Uint8Array(buf.subarray(numbers)).buffer);
  const inventory = new Map<string, Entry>();
  for (let row = 0; row < head.rows; row += 1) inventory.set(paths[row] ?? '', entryFrom(stats, row * WIDTH));
  for (const [path, entry] of head.entries) {
    if (entry === null) inventory.delete(path);
    else inventory.set(path, entry);
  }
  return inventory;
}
