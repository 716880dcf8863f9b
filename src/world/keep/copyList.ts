import {
  closeSync,
  existsSync,
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

const INDEX = 'index.json';
const PURPOSE = 'purpose';

/** One copied file: what lstat told of it then, and the git blob id of its bytes. */
export interface Copy {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly hash: string;
}

/** The list of copies in a folder, as it was when it was opened. */
export interface CopyList {
  copies(): Map<string, Copy>;
  readonly purpose: string | undefined;
}

/** Reads the list at once, before anybody else could write to it; it is made out only when somebody asks. */
export function openCopies(dir: string, format: string): CopyList {
  const list = readIfThere(path.join(dir, INDEX));
  const purpose = readIfThere(path.join(dir, PURPOSE))?.toString();
  let made: Map<string, Copy> | undefined;
  return { copies: () => (made ??= copiesIn(list, format)), purpose: list === undefined ? undefined : purpose };
}

/** The purpose is on disk only while the list is complete for it. */
export function saveCopies(
  dir: string,
  format: string,
  copies: ReadonlyMap<string, Copy>,
  { changed, purpose }: { readonly changed: boolean; readonly purpose: string | undefined },
): void {
  rmSync(path.join(dir, PURPOSE), { force: true });
  if (changed) {
    writeIndex(dir, format, copies);
    prune(dir, copies);
  }
  if (purpose !== undefined && existsSync(path.join(dir, INDEX)))
    writeFileSync(path.join(dir, PURPOSE), purpose, { flag: 'wx', mode: 0o600 });
}

/** Where the copy with this hash lies. */
export function objectPath(dir: string, hash: string): string {
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

function readIfThere(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined;
}

function copiesIn(list: Buffer | undefined, format: string): Map<string, Copy> {
  const copies = new Map<string, Copy>();
  if (list === undefined) return copies;
  const { paths, hashes, numbers, ...rest } = JSON.parse(list.toString()) as {
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
