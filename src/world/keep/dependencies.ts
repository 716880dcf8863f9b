import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Entry, Inventory, Repository } from '../../model.js';
import { blobHash } from '../walk/blobHash.js';
import { absolute } from '../paths.js';
import { entryOf } from '../walk/look.js';

/** Copies of all installed packages together take at most this much. */
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;
const SMALL_BYTES = 1024 * 1024;
const INDEX = 'index.json';

interface Copy {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly hash: string;
}

/** Private copies of installed packages, kept between ticks; only what changed since is copied again. */
export interface Dependencies {
  /** Copies what is not known yet, forgets what is gone; names what is above the cap. */
  keep(root: string, files: readonly string[], inventory: Inventory): Promise<{ left: string[] }>;
  has(file: string): boolean;
  /** The git blob id of the bytes. */
  hashOf(file: string): string | undefined;
  /** The bytes as they were kept, proved to be the same. */
  read(file: string): Promise<Buffer | Readable>;
}

/** Opens the copies in a private folder; a list that cannot be read means that everything is copied anew. */
export function openDependencies(
  dir: string,
  format: Repository['objectFormat'],
  maxTotal = MAX_TOTAL_BYTES,
): Dependencies {
  const copies = readIndex(dir, format);
  const place = { dir, format };
  return {
    keep: (root, files, inventory) => keep({ ...place, root, maxTotal }, copies, files, inventory),
    has: (file) => copies.has(file),
    hashOf: (file) => copies.get(file)?.hash,
    read: async (file) => {
      const copy = copies.get(file);
      if (copy === undefined) throw new Error(`no copy of ${file} was kept`);
      const object = objectPath(dir, copy.hash);
      if ((await blobHash(object, copy.size, format)) !== copy.hash)
        throw new Error(`the kept copy of ${file} was altered`);
      return copy.size > SMALL_BYTES ? createReadStream(object) : readFileSync(object);
    },
  };
}

interface Place {
  readonly dir: string;
  readonly format: Repository['objectFormat'];
  readonly root: string;
  readonly maxTotal: number;
}

async function keep(
  place: Place,
  copies: Map<string, Copy>,
  files: readonly string[],
  inventory: Inventory,
): Promise<{ left: string[] }> {
  const wanted: [string, Entry][] = [];
  let total = 0;
  for (const file of files) {
    const entry = inventory.get(file);
    if (entry?.kind !== 'file') continue;
    wanted.push([file, entry]);
    total += entry.size;
  }
  // Above the cap the large ones are left out: most of what matters is small.
  const left = total <= place.maxTotal ? [] : overCap(wanted, place.maxTotal);
  const skip = new Set(left);
  const current = new Set<string>();
  let changed = false;
  for (const [file, entry] of wanted) {
    if (skip.has(file)) continue;
    current.add(file);
    const known = copies.get(file);
    // A file that is younger than its times can tell has its hash in the inventory.
    if (known !== undefined && alike(known, entry) && (entry.hash === undefined || entry.hash === known.hash)) continue;
    const copy = await copyIfReadable(place, file, entry);
    changed = true;
    if (copy !== undefined) copies.set(file, copy);
    else {
      copies.delete(file);
      left.push(file);
    }
  }
  for (const file of copies.keys()) {
    if (current.has(file)) continue;
    copies.delete(file);
    changed = true;
  }
  if (changed) {
    writeIndex(place.dir, place.format, copies);
    prune(place.dir, copies);
  }
  return { left };
}

function overCap(wanted: readonly [string, Entry][], maxTotal: number): string[] {
  let sum = 0;
  return wanted
    .toSorted(([, one], [, other]) => one.size - other.size)
    .filter(([, { size }]) => (sum += size) > maxTotal)
    .map(([file]) => file);
}

function alike(copy: Omit<Copy, 'hash'>, entry: Entry): boolean {
  return (
    copy.ctimeMs === entry.ctimeMs &&
    copy.ino === entry.ino &&
    copy.size === entry.size &&
    copy.mtimeMs === entry.mtimeMs
  );
}

/** A file that we may not read cannot be kept, but the rest can. */
async function copyIfReadable(place: Place, file: string, entry: Entry): Promise<Copy | undefined> {
  try {
    return await copyIn(place, file, entry);
  } catch (error) {
    if (['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Not synced one by one: a copy that a power loss cut short no longer has its hash, and is refused. */
async function copyIn({ dir, format, root }: Place, file: string, entry: Entry): Promise<Copy> {
  const fd = openSync(absolute(root, file), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const temp = path.join(dir, `${randomBytes(6).toString('hex')}.tmp`);
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const stats = fstatSync(fd);
    if (!stats.isFile() || !alike(entry, entryOf(stats)))
      throw new Error(
        `${file} changed while the repository was being recorded; try again when nothing else writes to it`,
      );
    if (entry.size <= SMALL_BYTES || process.platform !== 'linux')
      writeFileSync(temp, readFileSync(fd), { flag: 'wx', mode: 0o600 });
    // Through /proc the open file itself is cloned, not whatever has its name by now.
    else copyFileSync(`/proc/self/fd/${fd}`, temp, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
    const hash = await blobHash(temp, entry.size, format);
    const object = objectPath(dir, hash);
    mkdirSync(path.dirname(object), { recursive: true, mode: 0o700 });
    renameSync(temp, object);
    const { ino, size, mtimeMs, ctimeMs } = entry;
    return { ino, size, mtimeMs, ctimeMs, hash };
  } finally {
    closeSync(fd);
    rmSync(temp, { force: true });
  }
}

function objectPath(dir: string, hash: string): string {
  return path.join(dir, 'objects', hash.slice(0, 2), hash.slice(2));
}

/** Deletes copies that nothing refers to any more. */
function prune(dir: string, copies: ReadonlyMap<string, Copy>): void {
  const used = new Set([...copies.values()].map((copy) => copy.hash));
  for (const folder of existsSync(path.join(dir, 'objects')) ? readdirSync(path.join(dir, 'objects')) : []) {
    for (const name of readdirSync(path.join(dir, 'objects', folder)))
      if (!used.has(folder + name)) rmSync(path.join(dir, 'objects', folder, name), { force: true });
  }
}

function writeIndex(dir: string, format: string, copies: ReadonlyMap<string, Copy>): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const all = [...copies.values()];
  const numbers = all.flatMap(({ ino, size, mtimeMs, ctimeMs }) => [ino, size, mtimeMs, ctimeMs]);
  const paths = [...copies.keys()].join('\0');
  const text = JSON.stringify({ version: 1, format, paths, hashes: all.map((copy) => copy.hash).join(' '), numbers });
  const temp = path.join(dir, `${INDEX}.tmp`);
  const fd = openSync(temp, 'w', 0o600);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temp, path.join(dir, INDEX));
}

function readIndex(dir: string, format: string): Map<string, Copy> {
  const copies = new Map<string, Copy>();
  const file = path.join(dir, INDEX);
  if (!existsSync(file)) return copies;
  const { paths, hashes, numbers, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as {
    version: number;
    format: string;
    paths: string;
    hashes: string;
    numbers: number[];
  };
  if (rest.version !== 1 || rest.format !== format || paths === '') return copies;
  const hash = hashes.split(' ');
  for (const [row, name] of paths.split('\0').entries()) {
    const [ino = 0, size = 0, mtimeMs = 0, ctimeMs = 0] = numbers.slice(row * 4, row * 4 + 4);
    copies.set(name, { ino, size, mtimeMs, ctimeMs, hash: hash[row] ?? '' });
  }
  return copies;
}
