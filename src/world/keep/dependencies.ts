import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  createReadStream,
  fstatSync,
  mkdirSync,
  openSync,
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
import { objectPath, openCopies, saveCopies, type Copy } from './copyList.js';

/** Copies of all installed packages together take at most this much. */
const MAX_TOTAL_BYTES = 1024 * 1024 * 1024;
const SMALL_BYTES = 1024 * 1024;

/** How much of the packages is spoken of. */
export interface Extent {
  /** Only these files may have changed: the copies of all others stay. */
  readonly only: boolean;
  /** What the copies will be complete for. */
  readonly purpose: string | undefined;
}

/** Private copies of installed packages, kept between ticks; only what changed since is copied again. */
export interface Dependencies {
  /** Copies what is not known yet, forgets what is gone; names what is above the cap. */
  keep(root: string, files: readonly string[], inventory: Inventory, what?: Extent): Promise<{ left: string[] }>;
  /** What the copies are complete for, if they are. */
  purpose(): string | undefined;
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
  const { copies, purpose } = openCopies(dir, format);
  const place = { dir, format };
  return {
    keep: async (root, files, inventory, what = { only: false, purpose: undefined }) =>
      what.only && files.length === 0
        ? { left: [] }
        : keep({ ...place, root, maxTotal, what }, copies(), files, inventory),
    purpose: () => purpose,
    has: (file) => copies().has(file),
    hashOf: (file) => copies().get(file)?.hash,
    read: async (file) => {
      const copy = copies().get(file);
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
  readonly what: Extent;
}

async function keep(
  place: Place,
  copies: Map<string, Copy>,
  files: readonly string[],
  inventory: Inventory,
): Promise<{ left: string[] }> {
  const { only, purpose } = place.what;
  const wanted = files.flatMap((file): [string, Entry][] => {
    const entry = inventory.get(file);
    return entry?.kind === 'file' ? [[file, entry]] : [];
  });
  const current = new Set(wanted.map(([file]) => file));
  const asked = new Set(files);
  const stays = (file: string): boolean => only && !asked.has(file);
  let room = place.maxTotal;
  for (const [file, { size }] of only ? copies : []) if (stays(file)) room -= size;
  const left = overCap(wanted, room);
  for (const file of left) current.delete(file);
  let changed = false;
  for (const [file, entry] of wanted) {
    if (!current.has(file)) continue;
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
    if (current.has(file) || stays(file)) continue;
    copies.delete(file);
    changed = true;
  }
  saveCopies(place.dir, place.format, copies, { changed, purpose: left.length === 0 ? purpose : undefined });
  return { left };
}

/** Above the cap the large ones are left out: most of what matters is small. */
function overCap(wanted: readonly [string, Entry][], maxTotal: number): string[] {
  let sum = 0;
  for (const [, { size }] of wanted) sum += size;
  if (sum <= maxTotal) return [];
  sum = 0;
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
