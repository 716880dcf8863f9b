import type { Entry, Inventory, Kind } from '../../model.js';
import { decodePath, pathBytes } from '../paths.js';
import { TreeInventory } from './columns.js';
import { folderOf, loadRecord, recordId } from './keptRecord.js';

const HEADER = 'relais inventory 1';
const FIELDS = 11;
const ON_RECORD = 'relais inventory 3\n';

/** An inventory as bytes: NUL-separated fields, numbers in the form that reads back exactly. */
export function serialize(inv: Inventory): Buffer {
  const folder = inv instanceof TreeInventory ? folderOf(inv.record) : undefined;
  if (inv instanceof TreeInventory && folder !== undefined) return onRecord(inv, folder);
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
  if (buf.toString('latin1', 0, ON_RECORD.length) === ON_RECORD) return fromRecord(buf);
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

interface OnRecord {
  readonly folder: string;
  readonly id: string;
  /** What is other than recorded; null: not there. */
  readonly entries: readonly (readonly [string, Entry | null])[];
}

/** A large inventory: the record it builds on, which is on disk already, and what differs from it. */
function onRecord(inv: TreeInventory, folder: string): Buffer {
  const entries = [...inv.changed()].map(([path, entry]) => [path, entry ?? null] as const);
  const body: OnRecord = { folder, id: recordId(inv.record), entries };
  return Buffer.from(`${ON_RECORD}${JSON.stringify(body)}\n`);
}

function fromRecord(buf: Buffer): Inventory {
  if (buf.at(-1) !== 10) throw new Error('not a complete inventory');
  const { folder, id, entries } = JSON.parse(buf.toString('utf8', ON_RECORD.length)) as OnRecord;
  const record = loadRecord(folder, (head) => head.id === id);
  if (record === undefined) throw new Error(`the record of the work tree in ${folder} is gone or damaged`);
  return new TreeInventory(
    record,
    entries.map(([path, entry]) => [path, entry ?? undefined]),
  );
}
