import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { Entry, Inventory } from '../../model.js';
import { decodePath, pathBytes } from '../paths.js';
import type { Rules } from './caches.js';
import { TreeInventory } from './columns.js';
import { put, WalkRecord, WIDTH } from './record.js';

const VERSION = 1;
const INDEX = 'index';
const COLUMNS = 'columns';

export interface Head {
  readonly version: number;
  readonly root: string;
  readonly rules: Rules;
  readonly marks: string;
  readonly startedMs: number;
  readonly rows: number;
  readonly folders: number;
  readonly folderBytes: number;
  readonly special: readonly (readonly [string, Entry | null])[];
  /** The checksum at the end of the index, which tells that the two files belong together. */
  readonly id: string;
}

/** The two files of a record as they were when they were written or read; only by looking can anybody else's write be told. */
interface Kept {
  readonly dir: string;
  readonly numbers: readonly Float64Array[];
}

const keptIn = new WeakMap<WalkRecord, Kept>();

/** What tells this record from every other. */
export function recordId(record: WalkRecord): string {
  return record.parts.index.subarray(-20).toString('hex');
}

/** Puts a record on disk, complete before it gets its name. */
export function saveRecord(dir: string, record: WalkRecord, marks: string): void {
  const { root, rules, startedMs, index, stats, folders, folderStats, special } = record.parts;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const names = pathBytes(folders.join('\0'));
  const head: Head = {
    version: VERSION,
    root,
    rules,
    marks,
    startedMs,
    rows: record.size,
    folders: folders.length,
    folderBytes: names.length,
    special: [...special].map(([name, entry]) => [name, entry ?? null] as const),
    id: recordId(record),
  };
  rmSync(path.join(dir, COLUMNS), { force: true });
  writeSynced(path.join(dir, INDEX), [index]);
  writeSynced(path.join(dir, COLUMNS), [
    Buffer.from(`${JSON.stringify(head)}\n`),
    bytesOf(stats),
    bytesOf(folderStats),
    record.parts.marks,
    names,
  ]);
  syncFolder(dir);
  keptIn.set(record, { dir, numbers: lookAtFiles(dir) });
}

/** The record on disk, if it is whole and the one that is wanted; anything else is no record. */
export function loadRecord(dir: string, isWanted: (head: Head) => boolean): WalkRecord | undefined {
  try {
    const before = lookAtFiles(dir);
    const [index, columns] = [readFileSync(path.join(dir, INDEX)), readFileSync(path.join(dir, COLUMNS))];
    const line = columns.indexOf(10);
    const head = JSON.parse(columns.toString('utf8', 0, line)) as Head;
    const whole =
      head.version === VERSION &&
      head.id === index.subarray(-20).toString('hex') &&
      head.rows === index.readUInt32BE(8);
    const record = whole && isWanted(head) ? unpack(head, index, columns.subarray(line + 1)) : undefined;
    if (record !== undefined) keptIn.set(record, { dir, numbers: before });
    return record;
  } catch (error) {
    // Missing, cut or not to be read, it is no record; whoever cannot do without one says so.
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** Where a record lies on disk, if it does. */
export function folderOf(record: WalkRecord): string | undefined {
  return keptIn.get(record)?.dir;
}

function unpack(head: Head, index: Buffer, columns: Buffer): WalkRecord | undefined {
  const sizes = [head.rows * WIDTH * 8, head.folders * WIDTH * 8, head.rows, head.folderBytes];
  if (columns.length !== sizes.reduce((sum, size) => sum + size, 0)) return undefined;
  const parts: Buffer[] = [];
  let at = 0;
  for (const size of sizes) parts.push(columns.subarray(at, (at += size)));
  const [stats, folderStats, marks, names] = parts as [Buffer, Buffer, Buffer, Buffer];
  const folders = decodePath(names).split('\0');
  if (folders.length !== head.folders) return undefined;
  return new WalkRecord({
    root: head.root,
    rules: head.rules,
    startedMs: head.startedMs,
    index,
    stats: numbersOf(stats),
    marks: new Uint8Array(marks),
    folders,
    folderStats: numbersOf(folderStats),
    special: new Map(head.special.map(([name, entry]) => [name, entry ?? undefined])),
  });
}

/** Asks git through the record's index; a file that is no longer the one we wrote or read is not used. */
export async function askGit(
  record: WalkRecord,
  dir: string,
  differing: (indexFile: string, gitDir: string) => Promise<string[] | undefined>,
): Promise<string[] | undefined> {
  // A folder nobody could prepare: what git reads there are our own few lines.
  const gitDir = path.join(dir, `git-${randomBytes(8).toString('hex')}`);
  mkdirSync(path.join(gitDir, 'objects'), { recursive: true, mode: 0o700 });
  mkdirSync(path.join(gitDir, 'refs'));
  writeFileSync(path.join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
  writeFileSync(path.join(gitDir, 'config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
  try {
    const own = path.join(gitDir, INDEX);
    const untouched = isUntouched(record);
    if (!untouched) writeFileSync(own, record.parts.index, { flag: 'wx', mode: 0o600 });
    return await differing(untouched ? path.join(dir, INDEX) : own, gitDir);
  } finally {
    rmSync(gitDir, { recursive: true, force: true });
  }
}

/** At the end of a tick: a record that somebody else wrote to is forgotten. */
export function settleRecord(inventory: Inventory, dir: string): void {
  if (!(inventory instanceof TreeInventory) || !isUntouched(inventory.record)) forgetRecord(dir);
}

/** Removes a record; the next walk makes another. */
export function forgetRecord(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}

function isUntouched(record: WalkRecord): boolean {
  const kept = keptIn.get(record);
  if (kept === undefined) return false;
  try {
    const now = lookAtFiles(kept.dir);
    return kept.numbers.every((before, at) => before.every((number, field) => number === now[at]?.[field]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function lookAtFiles(dir: string): Float64Array[] {
  return [INDEX, COLUMNS].map((name) => {
    const numbers = new Float64Array(WIDTH);
    put(numbers, 0, lstatSync(path.join(dir, name)));
    return numbers;
  });
}

function writeSynced(file: string, parts: readonly Uint8Array[]): void {
  const temp = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  const fd = openSync(temp, 'wx', 0o600);
  try {
    for (const part of parts) for (let at = 0; at < part.length;) at += writeSync(fd, part, at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temp, file);
}

function syncFolder(dir: string): void {
  const fd = openSync(dir, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function bytesOf(numbers: Float64Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

/** Copied, because numbers have to begin at a multiple of their size. */
function numbersOf(bytes: Buffer): Float64Array {
  return new Float64Array(new Uint8Array(bytes).buffer);
}
