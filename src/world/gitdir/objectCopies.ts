import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Entry } from '../../model.js';
import { entryAt, walk } from '../walk/inventory.js';
import { deserialize, serialize } from '../walk/format.js';
import { looseId, sha256Of } from './objectFiles.js';
import { absolute, parentOf } from '../paths.js';
import { copyOpenFile } from '../keep/restore.js';
import { ownFolder, writeThenRename, type Vault } from '../keep/vault.js';

const RECORD = 'record';
const RACY_MS = 2000;
const SMALL = 256 * 1024;
const CAPS = { file: 512 * 1024 * 1024, total: 2 * 1024 * 1024 * 1024 };

/** How git's object folders stood: every file by lstat, `hash` being a SHA-256 for all but loose objects. */
export interface ObjectRecord {
  readonly recordedMs: number;
  /** Too large for a copy: kept by a second name, or not at all. */
  readonly uncopied: ReadonlySet<string>;
  readonly files: ReadonlyMap<string, Entry>;
}

const known = new WeakMap<Vault, ObjectRecord>();

/** Everything in the object folders except `info`, which is metadata; paths begin with the root's. */
export async function scanObjects(dir: string, roots: readonly string[]): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  for (const root of roots) {
    const own = await entryAt(dir, root);
    if (own?.kind !== 'dir' && own?.kind !== 'link') continue;
    const inside = await walk(`${dir}/${root}`, {
      skip: (name) => name === 'info' || name.startsWith('info/'),
      prune: () => false,
    });
    for (const [name, entry] of inside) if (name !== '.') found.set(`${root}/${name}`, entry);
  }
  return found;
}

/** Records the object folders and copies what is new in them: objects never change under their name, so each is copied once. */
export async function keepObjects(
  dir: string,
  roots: readonly string[],
  vault: Vault,
  caps: { readonly file: number; readonly total: number } = CAPS,
): Promise<string[]> {
  const store = storeOf(vault);
  ownFolder(store);
  const recordedMs = Date.now();
  const found = await scanObjects(dir, roots);
  const old = readRecord(vault);
  const files = new Map<string, Entry>();
  const open: [string, Entry][] = [];
  let total = 0;
  for (const [name, entry] of found) {
    const before = old?.files.get(name);
    if (entry.kind !== 'file') files.set(name, entry);
    else if (before !== undefined && old !== undefined && proves(old, before, entry)) {
      files.set(name, before);
      if (!old.uncopied.has(name)) total += entry.size;
    } else open.push([name, entry]);
  }
  const uncopied = new Set([...(old?.uncopied ?? [])].filter((name) => files.has(name)));
  // Small ones first: what a cap leaves out should be as few files as possible.
  for (const [name, entry] of open.sort(([, a], [, b]) => a.size - b.size)) {
    if (entry.size <= caps.file && total + entry.size <= caps.total) {
      files.set(name, await copyIn(dir, store, name, entry));
      total += entry.size;
    } else {
      files.set(name, await linkIn(dir, store, name));
      uncopied.add(name);
    }
  }
  const gone = [...(old?.files ?? [])].filter(([name, { kind }]) => kind === 'file' && !files.has(name));
  const record = { recordedMs, uncopied, files };
  known.set(vault, record);
  if (old === undefined || open.length + gone.length > 0 || old.files.size !== files.size) writeRecord(store, record);
  for (const [name] of gone) rmSync(absolute(store, name), { force: true });
  return [...uncopied].sort();
}

/** What was recorded last, by this process or an earlier one; undefined where nothing was. */
export function readRecord(vault: Vault): ObjectRecord | undefined {
  const own = known.get(vault);
  if (own !== undefined) return own;
  const file = path.join(storeOf(vault), RECORD);
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return undefined;
  const bytes = readFileSync(file);
  const end = bytes.indexOf(10);
  try {
    const header = JSON.parse(bytes.toString('utf8', 0, end)) as { recordedMs: number; uncopied: string[] };
    const files = deserialize(bytes.subarray(end + 1));
    const record = { recordedMs: header.recordedMs, uncopied: new Set(header.uncopied), files };
    known.set(vault, record);
    return record;
  } catch (cause) {
    throw new Error(`${file} cannot be read; remove ${vault.dir} if no tick has to be recovered`, { cause });
  }
}

/** Where an object's copy lies. */
export function copyOf(vault: Vault, name: string): string | Buffer {
  return absolute(storeOf(vault), name);
}

/** Whether a file is by its times what was recorded; one recorded right after its last change proves nothing. */
export function proves({ recordedMs }: ObjectRecord, before: Entry, now: Entry): boolean {
  return (
    before.ino === now.ino &&
    before.size === now.size &&
    before.mode === now.mode &&
    before.mtimeMs === now.mtimeMs &&
    before.ctimeMs === now.ctimeMs &&
    before.ctimeMs <= recordedMs - RACY_MS
  );
}

function storeOf(vault: Vault): string {
  return path.join(vault.dir, 'git');
}

/** Where a copy is to lie, with nothing there yet. */
function freePlace(store: string, name: string): string | Buffer {
  const folder = absolute(store, parentOf(name));
  const dest = absolute(store, name);
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) mkdirSync(folder, { recursive: true, mode: 0o700 });
  else if (lstatSync(dest, { throwIfNoEntry: false }) !== undefined) unlinkSync(dest);
  return dest;
}

async function copyIn(dir: string, store: string, name: string, entry: Entry): Promise<Entry> {
  const dest = freePlace(store, name);
  const fd = openSync(absolute(dir, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // For a small file the system's own copy takes longer than its bytes do.
    if (entry.size <= SMALL) writeFileSync(dest, readFileSync(fd), { flag: 'wx', mode: 0o600 });
    else await copyOpenFile(fd, dest);
  } finally {
    closeSync(fd);
  }
  // A loose object proves itself: its name is the hash of its content.
  const hash = looseId(name) === undefined ? await sha256Of(dest) : undefined;
  return { ...entry, ...(hash !== undefined && { hash }) };
}

/** A second name keeps a file from being deleted, though not from being written into. */
async function linkIn(dir: string, store: string, name: string): Promise<Entry> {
  const dest = freePlace(store, name);
  try {
    linkSync(absolute(dir, name), dest);
  } catch (error) {
    // Another disk, or a system that allows no second names: then there is nothing to bring it back from.
    if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  // The second name has changed ctime.
  const entry = await entryAt(dir, name);
  if (entry?.kind !== 'file') throw new Error(`${name} changed while the repository was being recorded`);
  return entry;
}

function writeRecord(store: string, { recordedMs, uncopied, files }: ObjectRecord): void {
  const header = Buffer.from(`${JSON.stringify({ recordedMs, uncopied: [...uncopied] })}\n`);
  writeThenRename(path.join(store, RECORD), Buffer.concat([header, serialize(files)]));
}
