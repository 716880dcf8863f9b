import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';

/**
 * What the tests hold Relais against: an own walk, an own comparison, own rules for the one scope that is used.
 * Nothing here comes from src. Paths are latin1 strings, one character a byte.
 */
export interface Thing {
  readonly kind: 'file' | 'dir' | 'link' | 'other';
  readonly mode: number;
  readonly nlink: number;
  /** A file's bytes or a link's target. */
  readonly bytes: Buffer;
}

export type Tree = ReadonlyMap<string, Thing>;

export interface Difference {
  readonly path: string;
  readonly before?: Thing;
  readonly after?: Thing;
}

const NOTHING = Buffer.alloc(0);

/** Everything below a folder; the entries named in `skip` (top-level only) are left out. */
export function walkTree(root: string, skip: readonly string[] = []): Tree {
  const seen = new Map<string, Thing>();
  const enter = (folder: string): void => {
    const names = readdirSync(at(root, folder), { encoding: 'buffer' }).map((name) => name.toString('latin1'));
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (skip.includes(path)) continue;
      const thing = look(root, path);
      seen.set(path, thing);
      if (thing.kind === 'dir') enter(path);
    }
  };
  enter('');
  return seen;
}

function look(root: string, path: string): Thing {
  const file = at(root, path);
  const stats = lstatSync(file);
  const { nlink } = stats;
  const mode = stats.mode & 0o7777;
  if (stats.isFile()) return { kind: 'file', mode, nlink, bytes: readFileSync(file) };
  if (stats.isSymbolicLink()) return { kind: 'link', mode: 0o777, nlink, bytes: readlinkSync(file, 'buffer') };
  // The number of a folder's links counts what is in it.
  return { kind: kindOf(stats), mode, nlink: 1, bytes: NOTHING };
}

function kindOf(stats: Stats): Thing['kind'] {
  return stats.isDirectory() ? 'dir' : 'other';
}

function at(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(path === '' ? root : `${root}/`), Buffer.from(path, 'latin1')]);
}

/** Whether two things are the same by kind, mode, number of names and bytes. */
export function same(one: Thing | undefined, other: Thing | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.kind === other.kind && one.mode === other.mode && one.nlink === other.nlink && one.bytes.equals(other.bytes)
  );
}

/** Every path at which two trees differ. */
export function differences(before: Tree, after: Tree): Difference[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return paths
    .map((path) => ({ path, before: before.get(path), after: after.get(path) }))
    .filter((one) => !same(one.before, one.after)) as Difference[];
}

/** The ignore rules of the template, by hand: build/, *.log, .env, *.scratch, and *.out in src/gen. */
export function isIgnored(path: string, thing: Thing | undefined): boolean {
  const names = path.split('/');
  return names.some((name, index) => {
    const isDir = index < names.length - 1 || thing?.kind === 'dir';
    if (name === 'build') return isDir;
    if (name === '.env' || name.endsWith('.log') || name.endsWith('.scratch')) return true;
    return name.endsWith('.out') && index >= 2 && names[0] === 'src' && names[1] === 'gen';
  });
}

/** The runner's own files: nobody else may touch them. */
export function isOwned(path: string): boolean {
  return path === 'relais' || path.startsWith('relais/') || path === 'relais.config.json';
}

/** A difference that no task may make: a forbidden path, or something that no commit can hold. */
export function isForbiddenChange({ path, before, after }: Difference): boolean {
  const special = (thing: Thing | undefined): number => (thing?.kind === 'file' ? thing.mode & 0o7000 : 0);
  const gained = special(after) !== 0 && special(after) !== special(before);
  return isForbidden(path) || after?.kind === 'other' || gained;
}

/** A folder that came or went. */
export function isFolder({ before, after }: Difference): boolean {
  return (before ?? after)?.kind === 'dir' && (before === undefined || after === undefined);
}

/** The forbidden globs of the task and the config, and git's own names, by hand. */
export function isForbidden(path: string): boolean {
  const names = path.toLowerCase().split('/');
  const last = names.at(-1) ?? '';
  if (names.includes('.git')) return true;
  return last.startsWith('.env') || last.includes('secret') || last.includes('token');
}

/** The allowed glob of the task, src and everything in it. */
export function isAllowed(path: string): boolean {
  return path === 'src' || path.startsWith('src/');
}

/** The differences the Judge has to judge: all but folders that came or went, and ignored files that are not forbidden. */
export function judged(all: readonly Difference[], tracked: ReadonlySet<string>): Difference[] {
  return all.filter((one) => {
    const { path, before, after } = one;
    if (isFolder(one)) return false;
    if (tracked.has(path) || isOwned(path) || isForbidden(path)) return true;
    // Something that was or is not ignored has been touched.
    return [before, after].some((thing) => thing !== undefined && !isIgnored(path, thing));
  });
}

/** A name that no blob had before: also where a folder stood. */
export function isNewFile({ before, after }: Difference): boolean {
  return (before === undefined || before.kind === 'dir') && after !== undefined && after.kind !== 'dir';
}

/** Git's metadata that comes back after every tick: all but objects, reflogs, refs, and notes to the user. */
export function lastingMetadata(tree: Tree): Tree {
  const passing = /^(ORIG_HEAD|COMMIT_EDITMSG|index|packed-refs|info\/refs|gc\.(log|pid)|(objects|logs|refs)\/.*)$/;
  return new Map([...tree].filter(([path, thing]) => thing.kind !== 'dir' && !passing.test(path)));
}

/** The part of it that honest work leaves alone. */
export function guardedMetadata(tree: Tree): Tree {
  const honest = /^(HEAD|index\.lock|HEAD\.lock|sharedindex\.[0-9a-f]+)$/;
  return new Map([...lastingMetadata(tree)].filter(([path]) => !honest.test(path)));
}

/** Every ref with its value, loose over packed, read from the files of a .git folder. */
export function refsOf(tree: Tree): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const line of (tree.get('packed-refs')?.bytes.toString('latin1') ?? '').split('\n')) {
    const match = /^([0-9a-f]{40}) (refs\/.+)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) refs.set(match[2], match[1]);
  }
  for (const [path, thing] of tree)
    if (path.startsWith('refs/') && thing.kind === 'file') refs.set(path, thing.bytes.toString('latin1').trim());
  return refs;
}

/** A ref that makes git show one object in another's place: metadata, not a branch. */
export function isReplacement(ref: string): boolean {
  return ref.startsWith('refs/replace/');
}

/** The refs that differ, Relais' own and the named ones left out. */
export function movedRefs(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  except: readonly string[] = [],
): string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.filter(
    (ref) => !ref.startsWith('refs/relais/') && !except.includes(ref) && before.get(ref) !== after.get(ref),
  );
}

/** The `ls-tree` lines the commit of this work tree must have; ignored and runner-owned files come from the base. */
export function treeLines(tree: Tree, tracked: ReadonlySet<string>): string[] {
  const lines: string[] = [];
  for (const [path, thing] of tree) {
    if (thing.kind === 'dir' || isOwned(path)) continue;
    if (!tracked.has(path) && isIgnored(path, thing)) continue;
    const mode = thing.kind === 'link' ? '120000' : (thing.mode & 0o100) === 0 ? '100644' : '100755';
    lines.push(`${mode} blob ${blobId(stored(path, thing))}\t${path}`);
  }
  return lines.toSorted();
}

/** As git stores it: only *.crlf is converted. */
function stored(path: string, thing: Thing): Buffer {
  if (thing.kind !== 'file' || !path.endsWith('.crlf')) return thing.bytes;
  return Buffer.from(thing.bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}

function blobId(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

/** A path of meta.json as bytes: a byte that is no UTF-8 stands there as a lone surrogate U+DC80–U+DCFF. */
export function metaPath(path: string): string {
  let bytes = '';
  for (const char of path) {
    const code = char.codePointAt(0) ?? 0;
    bytes +=
      code >= 0xdc80 && code <= 0xdcff ? String.fromCharCode(code - 0xdc00) : Buffer.from(char).toString('latin1');
  }
  return bytes;
}
