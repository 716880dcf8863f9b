import { createHash } from 'node:crypto';
import { removeFile } from '../files.js';
import { decodePath, pathBytes } from '../paths.js';
import { openObjects } from './blobs.js';
import { GitError, type GitCall } from './call.js';
import { indexInfo, PLAIN_INDEX, refusedNames, type TreeChange } from './write.js';

/** One line of a tree object. */
interface TreeEntry {
  readonly mode: string;
  readonly oid: string;
}

/** What is to become of one folder: files by name, and the folders in it. */
interface Plan {
  readonly files: Map<string, TreeEntry | null>;
  readonly folders: Map<string, Plan>;
}

const FOLDER = '40000';
const SUBMODULE = '160000';
/** Paths that git need not be asked about: nothing in them can stand for `.git`. */
const PLAIN = /^(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/|$))+$/;

/**
 * The base tree with some paths replaced. Only the trees on the way to them are read and written, so the cost
 * is that of the change, not of the repository; the user's index and files are not looked at.
 */
export async function buildTree(
  git: GitCall,
  base: string,
  changes: readonly TreeChange[],
  indexFile: string,
): Promise<{ tree: string; refused: string[] }> {
  const refused = await refusedByGit(git, base, changes, indexFile);
  const plan = planOf(changes.filter(({ path }) => !refused.includes(path)));
  const objects = openObjects(git);
  const made = new Map<string, Buffer>();
  try {
    const tree = await compose(
      { made, read: (name) => objects.read(name, 'tree') },
      `${base}^{tree}`,
      plan,
      base.length,
    );
    return { tree: await store(git, tree, made, base.length), refused };
  } finally {
    await objects.close();
  }
}

/** Names that git does not accept in an index, told by trying them in an empty one. */
async function refusedByGit(
  git: GitCall,
  base: string,
  changes: readonly TreeChange[],
  indexFile: string,
): Promise<string[]> {
  const there = changes.filter(({ path, oid }) => oid !== null && !PLAIN.test(path));
  if (there.length === 0) return [];
  await removeFile(indexFile);
  const update = [...PLAIN_INDEX, 'update-index', '-z', '--index-info'];
  const { stderr } = await git(update, { env: { GIT_INDEX_FILE: indexFile }, stdin: indexInfo(there, base) });
  return refusedNames(there, stderr, update);
}

function planOf(changes: readonly TreeChange[]): Plan {
  const root: Plan = { files: new Map(), folders: new Map() };
  for (const { path, mode, oid } of changes) {
    const names = path.split('/');
    const last = names.pop() ?? '';
    let at = root;
    for (const name of names) {
      const inside = at.folders.get(name) ?? { files: new Map(), folders: new Map() };
      at.folders.set(name, inside);
      at = inside;
    }
    at.files.set(last, oid === null ? null : { mode, oid });
  }
  return root;
}

interface Work {
  readonly made: Map<string, Buffer>;
  read(name: string): Promise<Buffer>;
}

/** The id of a folder's new tree, whose objects are kept in `made`; '' where nothing is left in it. */
async function compose(work: Work, name: string | undefined, plan: Plan, hexLength: number): Promise<string> {
  const entries = name === undefined ? new Map<string, TreeEntry>() : entriesOf(await work.read(name), hexLength);
  for (const [file, entry] of plan.files) {
    // A folder goes with its last file, not by its name.
    if (entry === null && entries.get(file)?.mode !== FOLDER) entries.delete(file);
  }
  for (const [folder, inside] of plan.folders) {
    const before = entries.get(folder);
    const oid = await compose(work, before?.mode === FOLDER ? before.oid : undefined, inside, hexLength);
    // A submodule is a folder in the work tree: files in it can be held only in its place.
    const gives = before === undefined || before.mode === FOLDER || before.mode === SUBMODULE;
    if (oid !== '' && !gives)
      throw new Error(`${folder} cannot become a folder in a tree: the file of that name is still there`);
    if (oid !== '') entries.set(folder, { mode: FOLDER, oid });
    else if (before?.mode === FOLDER) entries.delete(folder);
  }
  for (const [file, entry] of plan.files) {
    if (entry === null) continue;
    if (entries.get(file)?.mode === FOLDER)
      throw new Error(`${file} cannot become a file in a tree: the folder of that name is not empty`);
    entries.set(file, entry);
  }
  if (entries.size === 0) return '';
  const bytes = bytesOf(entries);
  const oid = hashOf(bytes, hexLength);
  work.made.set(oid, bytes);
  return oid;
}

function entriesOf(bytes: Buffer, hexLength: number): Map<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>();
  for (let at = 0; at < bytes.length;) {
    const blank = bytes.indexOf(0x20, at);
    const end = bytes.indexOf(0, blank);
    const next = end + 1 + hexLength / 2;
    if (blank < 0 || end < 0 || next > bytes.length) throw new Error('git gave a tree that is not complete');
    entries.set(decodePath(bytes.subarray(blank + 1, end)), {
      mode: bytes.toString('latin1', at, blank),
      oid: bytes.toString('hex', end + 1, next),
    });
    at = next;
  }
  return entries;
}

function bytesOf(entries: ReadonlyMap<string, TreeEntry>): Buffer {
  // Git sorts a folder as if its name ended in a slash.
  const keyed = [...entries].map(([name, entry]) => {
    const key = pathBytes(entry.mode === FOLDER ? `${name}/` : name);
    return { key, name: pathBytes(name), entry };
  });
  keyed.sort((one, other) => one.key.compare(other.key));
  return Buffer.concat(
    keyed.flatMap(({ name, entry }) => [
      Buffer.from(`${entry.mode} `),
      name,
      Buffer.of(0),
      Buffer.from(entry.oid, 'hex'),
    ]),
  );
}

function hashOf(bytes: Buffer, hexLength: number): string {
  return createHash(hexLength === 40 ? 'sha1' : 'sha256')
    .update(`tree ${bytes.length}\0`)
    .update(bytes)
    .digest('hex');
}

/** Has git write the trees, deepest first, and believes only ids that are ours. */
async function store(git: GitCall, tree: string, made: Map<string, Buffer>, hexLength: number): Promise<string> {
  const root = tree === '' ? hashOf(Buffer.alloc(0), hexLength) : tree;
  if (tree === '') made.set(root, Buffer.alloc(0));
  // --missing: a partial clone lacks blobs of the base, and need not fetch them for this.
  const args = ['mktree', '-z', '--missing', '--batch'];
  const nul = Buffer.of(0);
  const stdin = [...made.values()].flatMap((bytes) => [
    ...[...entriesOf(bytes, hexLength)].flatMap(([name, { mode, oid }]) => [
      Buffer.from(`${mode.padStart(6, '0')} ${kindOf(mode)} ${oid}\t`),
      pathBytes(name),
      nul,
    ]),
    nul,
  ]);
  const { stdout } = await git(args, { stdin: Buffer.concat(stdin) });
  const written = stdout.toString('latin1').trimEnd().split('\n');
  if (written.join() !== [...made.keys()].join()) throw new GitError(args, 0, 'it wrote other trees than it was given');
  return root;
}

function kindOf(mode: string): string {
  return mode === FOLDER ? 'tree' : mode === SUBMODULE ? 'commit' : 'blob';
}
