import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Entry, Inventory, Repository } from '../../model.js';
import { naming } from '../files.js';
import { entryOf } from '../walk/inventory.js';
import { absolute, fsPath, parentOf } from '../paths.js';

/** Whose paths: the work tree's, its own git folder's, or the shared git folder's. */
export type Namespace = 'tree' | 'git' | 'common' | 'main';

/** Private copies of files that git could not give back, kept between ticks. */
export interface Vault {
  /** The vault's own folder, private to this user. */
  readonly dir: string;
  readonly format: Repository['objectFormat'];
  /** Copies the files unless their fingerprint is known, and forgets copies that no longer match the inventory. */
  keep(
    ns: Namespace,
    root: string,
    paths: readonly string[],
    inventory: Inventory,
  ): Promise<{ kept: string[]; tooLarge: string[] }>;
  has(ns: Namespace, path: string): boolean;
  /** The git blob id of the kept bytes. */
  hashOf(ns: Namespace, path: string): string | undefined;
  copyTo(ns: Namespace, path: string, dest: string): Promise<void>;
  bytes(ns: Namespace, path: string): Promise<Buffer>;
  /** Puts the list of copies on disk. */
  save(): Promise<void>;
  /** Deletes copies that nothing refers to any more. */
  prune(): Promise<void>;
}

interface Copy {
  readonly fingerprint: string;
  readonly sha256: string;
  readonly blob: string;
  /** Copied so soon after its last change that the fingerprint does not prove the content later. */
  readonly racy: boolean;
}

type Copies = Map<string, Copy>;

const NAMESPACES: readonly Namespace[] = ['tree', 'git', 'common', 'main'];
const MAX_BYTES: Record<Namespace, number> = {
  tree: 16 * 1024 * 1024,
  git: 256 * 1024 * 1024,
  common: 256 * 1024 * 1024,
  main: 16 * 1024 * 1024,
};
const RACY_MS = 2000;
const INDEX = 'index.json';

/** Opens or makes the vault in a folder that must be ours and nobody else's. */
export async function openVault(dir: string, format: Repository['objectFormat'] = 'sha1'): Promise<Vault> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  for (const folder of [dir, path.join(dir, 'objects')]) ownFolder(folder);
  const copies = readIndex(dir, format);
  const find = (ns: Namespace, name: string): Copy => {
    const copy = copies[ns].get(name);
    if (copy === undefined) throw new Error(`no copy of ${name} was kept`);
    return copy;
  };
  const bytes = async (ns: Namespace, name: string): Promise<Buffer> => readObject(dir, find(ns, name), name);
  return {
    dir,
    format,
    keep: async (ns, root, paths, inventory) => keep({ dir, format, ns, root }, copies[ns], paths, inventory),
    has: (ns, name) => copies[ns].has(name),
    hashOf: (ns, name) => copies[ns].get(name)?.blob,
    bytes,
    copyTo: async (ns, name, dest) => {
      const content = await bytes(ns, name);
      mkdirSync(fsPath(parentOf(dest)), { recursive: true, mode: 0o700 });
      rmSync(fsPath(dest), { force: true });
      writeFileSync(fsPath(dest), content, { flag: 'wx', mode: 0o600 });
    },
    save: async () => writeIndex(dir, format, copies),
    prune: async () => {
      writeIndex(dir, format, copies);
      const used = new Set(NAMESPACES.flatMap((ns) => [...copies[ns].values()].map((copy) => copy.sha256)));
      for (const name of readdirSync(path.join(dir, 'objects'))) {
        if (!used.has(name)) rmSync(path.join(dir, 'objects', name), { force: true });
      }
    },
  };
}

/** Makes a folder only this user can enter, and refuses anything else in its place. */
export function ownFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw new Error(`${folder} must be a folder, not a link or a file`);
  if (process.getuid !== undefined && stats.uid !== process.getuid())
    throw new Error(`${folder} belongs to another user`);
  if ((stats.mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

function fingerprintOf(entry: Entry): string {
  return `${entry.ino} ${entry.size} ${entry.mtimeMs} ${entry.ctimeMs}`;
}

interface Place {
  readonly dir: string;
  readonly format: Repository['objectFormat'];
  readonly ns: Namespace;
  readonly root: string;
}

function keep(
  place: Place,
  copies: Copies,
  paths: readonly string[],
  inventory: Inventory,
): { kept: string[]; tooLarge: string[] } {
  for (const [name, copy] of copies) {
    const entry = inventory.get(name);
    if (entry?.kind !== 'file' || fingerprintOf(entry) !== copy.fingerprint) copies.delete(name);
  }
  const kept: string[] = [];
  const tooLarge: string[] = [];
  for (const name of paths) {
    const entry = inventory.get(name);
    if (entry?.kind !== 'file') continue;
    if (entry.size > MAX_BYTES[place.ns]) {
      tooLarge.push(name);
      continue;
    }
    const known = copies.get(name);
    if (known === undefined || known.racy) copies.set(name, copyIn(place, name, entry));
    kept.push(name);
  }
  return { kept, tooLarge };
}

function copyIn(place: Place, name: string, entry: Entry): Copy {
  const fd = openSync(absolute(place.root, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const now = Date.now();
    const content = fstatSync(fd).isFile() ? readFileSync(fd) : undefined;
    if (content === undefined || fingerprintOf(entryOf(fstatSync(fd))) !== fingerprintOf(entry)) {
      throw new Error(
        `${name} changed while the repository was being recorded; try again when nothing else writes to it`,
      );
    }
    const sha256 = createHash('sha256').update(content).digest('hex');
    const blob = createHash(place.format).update(`blob ${content.length}\0`).update(content).digest('hex');
    store(place.dir, sha256, content);
    return { fingerprint: fingerprintOf(entry), sha256, blob, racy: entry.ctimeMs > now - RACY_MS };
  } finally {
    closeSync(fd);
  }
}

function store(dir: string, sha256: string, content: Buffer): void {
  const file = path.join(dir, 'objects', sha256);
  if (lstatSync(file, { throwIfNoEntry: false })?.size === content.length) return;
  writeThenRename(file, content);
}

/** Puts a complete file in place, on disk before it gets its name. */
export function writeThenRename(file: string, content: string | Buffer): void {
  const temp = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const fd = openSync(temp, 'wx', 0o600);
    try {
      writeFileSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temp, file);
  } catch (error) {
    throw naming(file, error);
  }
}

/** The bytes of a copy, proved to be those that were kept. */
function readObject(dir: string, copy: Copy, name: string): Buffer {
  const content = readFileSync(path.join(dir, 'objects', copy.sha256));
  if (createHash('sha256').update(content).digest('hex') !== copy.sha256)
    throw new Error(`the kept copy of ${name} was altered`);
  return content;
}

function writeIndex(dir: string, format: string, copies: Record<Namespace, Copies>): void {
  const rows = NAMESPACES.flatMap((ns) =>
    [...copies[ns]].map(([name, copy]) => [ns, name, copy.fingerprint, copy.sha256, copy.blob, copy.racy]),
  );
  writeThenRename(path.join(dir, INDEX), JSON.stringify({ version: 1, format, rows }));
}

function readIndex(dir: string, format: string): Record<Namespace, Copies> {
  const copies: Record<Namespace, Copies> = {
    tree: new Map(),
    git: new Map(),
    common: new Map(),
    main: new Map(),
  };
  const file = path.join(dir, INDEX);
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return copies;
  const index = parseIndex(file);
  if (index.format !== format) return copies;
  for (const [ns, name, fingerprint, sha256, blob, racy] of index.rows) {
    if (!/^[0-9a-f]{64}$/.test(sha256) || copies[ns] === undefined)
      throw new Error(`${file} is damaged; remove ${dir} if no tick has to be recovered`);
    copies[ns].set(name, { fingerprint, sha256, blob, racy });
  }
  return copies;
}

type Row = [ns: Namespace, name: string, fingerprint: string, sha256: string, blob: string, racy: boolean];

function parseIndex(file: string): { format: string; rows: Row[] } {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as { version?: unknown; format: string; rows: Row[] };
    if (value.version !== 1 || !Array.isArray(value.rows)) throw new Error('it is of another version');
    return value;
  } catch (cause) {
    throw new Error(`${file} cannot be read; remove ${path.dirname(file)} if no tick has to be recovered`, { cause });
  }
}
