import type { Entry, IndexEntry } from '../model.js';
import { canMerge, nameProblem, type Refusal } from '../rules/salvage.js';
import { isRunnerOwned } from '../rules/scope.js';
import { visible } from '../rules/text.js';
import type { Git } from '../world/git/git.js';
import type { TreeChange } from '../world/git/write.js';
import type { World } from '../world/world.js';
import type { Ready } from './place.js';
import type { Baseline, Run } from './run.js';
import { HUGE_BYTES } from './tree.js';

const SHOWN = 10;
const MODES = new Set(['100644', '100755', '120000']);
const ATTRIBUTES = /(^|\/)\.gitattributes$/;

/** Where a command stands: what it may ask git, and a private folder of its own. */
export interface Desk {
  readonly world: World;
  readonly place: Ready;
  readonly git: Git;
  readonly scratch: string;
}

/** Carries the step from one tree to another over to HEAD's tree; a conflict is an answer, and nothing has changed. */
export async function carryOver(
  { world, git, scratch }: Desk,
  trees: { readonly base: string; readonly theirs: string; readonly head: string },
): Promise<string | Refusal> {
  const { base, theirs, head } = trees;
  if (base === head) return theirs;
  const version = await git.version();
  if (!canMerge(version))
    return {
      refused: `HEAD has moved since, and git ${version} can't carry the change over`,
      remedy: 'Install git 2.38 or newer, or go back to the commit the work was based on.',
    };
  const empty = world.join(scratch, 'empty');
  await world.files.ensureDir(empty);
  const merged = await git.mergeTrees({ base, ours: head, theirs }, empty);
  if ('tree' in merged) return merged.tree;
  return {
    refused: `HEAD has moved since, and these paths were changed on both sides: ${listed(merged.conflicts)}`,
    remedy: 'Nothing was changed. Take the change over by hand, or go back to the commit it was based on.',
  };
}

/** Why these changes can't be written without losing something or leaving the repository; undefined if they can. */
export async function obstacle(desk: Desk, changes: readonly TreeChange[]): Promise<Refusal | undefined> {
  const index = await desk.git.indexEntries();
  const gone = new Set(changes.filter(({ oid }) => oid === null).map(({ path }) => path));
  const found: string[] = [];
  for (const change of changes) {
    const why = shapeProblem(desk, change, index) ?? (await inTheWay(desk, change, index, gone));
    if (why !== undefined) found.push(`${visible(change.path)} ${why}`);
  }
  if (found.length === 0) return undefined;
  const more = found.length > SHOWN ? `; ${found.length - SHOWN} more` : '';
  return {
    refused: `the change can't be written: ${found.slice(0, SHOWN).join('; ')}${more}`,
    remedy: 'Nothing was changed. Move away what is in the way, or take the change over by hand.',
  };
}

function shapeProblem({ place }: Desk, change: TreeChange, index: ReadonlyMap<string, IndexEntry>): string | undefined {
  const { path, oid, mode } = change;
  const name = nameProblem(path);
  if (name !== undefined) return name;
  if (isRunnerOwned(place.config)(path)) return 'belongs to the runner';
  const around = [path, ...foldersAbove(path)].some((part) => index.get(part)?.mode === '160000');
  if (around || mode === '160000') return 'is a submodule or lies in one';
  if (oid !== null && !MODES.has(mode)) return `has the mode ${mode}`;
  return index.get(path)?.flagged === true ? 'is marked assume-unchanged or skip-worktree' : undefined;
}

/** Files that no commit holds must not be written over. */
async function inTheWay(
  { world, place }: Desk,
  { path, oid }: TreeChange,
  index: ReadonlyMap<string, IndexEntry>,
  gone: ReadonlySet<string>,
): Promise<string | undefined> {
  const { workTree } = place.repository;
  for (const folder of foldersAbove(path)) {
    const entry = await world.inventory.entryAt(workTree, folder);
    if (entry === undefined) break;
    if (entry.kind === 'dir') continue;
    return gone.has(folder) ? undefined : `lies below ${visible(folder)}, which is no folder`;
  }
  if (oid === null || index.has(path)) return undefined;
  const entry = await world.inventory.entryAt(workTree, path);
  if (entry === undefined) return undefined;
  if (entry.kind !== 'dir') return 'is there already, and git does not track it';
  const inside = await world.inventory.walk(world.join(workTree, path), { skip: () => false, prune: () => false });
  const stays = [...inside].find(([name, { kind }]) => kind !== 'dir' && !gone.has(`${path}/${name}`));
  return stays === undefined ? undefined : `is a folder that holds ${visible(stays[0])}`;
}

function foldersAbove(path: string): string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** Writes the changes into the work tree by replacing, never through a link, as a checkout of them would look. */
export async function layOut(run: Run, baseline: Baseline, changes: readonly TreeChange[]): Promise<void> {
  const { world, git, repository } = run;
  const { absolute, entryAt } = world.inventory;
  const folder = world.join(run.scratch, 'layout');
  await world.files.ensureDir(folder);
  // A changed attributes file must not decide how the others are converted: the index keeps the old one.
  const plain = changes.filter(({ path }) => !ATTRIBUTES.test(path));
  const there = changes.filter(({ oid }) => oid !== null);
  const indexFile = world.join(run.scratch, 'layout-index');
  await git.fillIndex(baseline.head.commit, plain, indexFile);
  await git.checkOut(
    indexFile,
    folder,
    there.filter((change) => plain.includes(change)).map(({ path }) => path),
  );
  const wanted = new Map<string, Entry>();
  for (const { path, mode } of there) {
    if (ATTRIBUTES.test(path)) {
      const now = { ino: 0, nlink: 1, size: 0, mtimeMs: world.clock.now().getTime(), ctimeMs: 0 };
      wanted.set(path, { ...now, kind: 'file', mode: modeOf(baseline.inventory.get(path), mode, 0o644) });
      continue;
    }
    const made = await entryAt(folder, path);
    if (made === undefined || (made.kind !== 'file' && made.kind !== 'link'))
      throw new Error(`git did not lay out ${visible(path)}`);
    if (made.size > HUGE_BYTES) throw new Error(`${visible(path)} has ${made.size} bytes, more than a tick can judge`);
    wanted.set(path, { ...made, mode: modeOf(baseline.inventory.get(path), mode, made.mode) });
    for (const above of foldersAbove(path)) {
      const like = baseline.inventory.has(above) ? undefined : await entryAt(folder, above);
      if (like !== undefined) wanted.set(above, like);
    }
  }
  const raw = new Map(there.filter(({ path }) => ATTRIBUTES.test(path)).map(({ path, oid }) => [path, oid ?? '']));
  const blobs = git.openBlobs();
  try {
    const paths = changes.map(({ path }) => path);
    const content = (path: string): Promise<Buffer> => {
      const oid = raw.get(path);
      return oid === undefined ? world.files.readBytes(absolute(folder, path)) : blobs.read(oid);
    };
    const problems = await world.restore.restoreTree(repository.workTree, wanted, baseline.inventory, paths, content);
    if (problems.length > 0) throw new Error(`the change could not be written: ${problems.join('; ')}`);
  } finally {
    await blobs.close();
  }
}

/** A file keeps the bits git knows nothing of; only its being executable follows the tree. */
function modeOf(now: Entry | undefined, mode: string, fresh: number): number {
  if (now?.kind !== 'file' || mode === '120000') return fresh;
  const wanted = mode === '100755';
  if (wanted === ((now.mode & 0o100) !== 0)) return now.mode;
  return wanted ? now.mode | ((now.mode & 0o444) >> 2) : now.mode & ~0o111;
}

function listed(paths: readonly string[]): string {
  const more = paths.length > SHOWN ? `, and ${paths.length - SHOWN} more` : '';
  return `${paths.slice(0, SHOWN).map(visible).join(', ')}${more}`;
}
