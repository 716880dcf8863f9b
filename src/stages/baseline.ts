import type { Inventory } from '../model.js';
import { matcher } from '../rules/globs.js';
import { keepDependencies } from './dependencies.js';
import { isNote } from './measure.js';
import { recordMainWorkspace } from './mainWorkspace.js';
import type { Baseline, Run } from './run.js';
import { MARK, markOf, walkTree } from './walk.js';

/** Records how everything stands, and keeps private copies of what git could not give back. */
export async function takeBaseline(run: Run): Promise<Baseline> {
  const { git, repository, world } = run;
  const listed = git.indexEntries();
  const [found, index, metadata, refs, inventory] = await Promise.all([
    git.head(),
    listed,
    world.gitdir.walkMetadata(repository),
    world.gitdir.readRefs(repository),
    walkTree(run, listed),
  ]);
  if (found === undefined) throw new Error('HEAD can no longer be read');
  const { tree, ...head } = found;
  const converted = await git.convertedPaths(index, (path) => inventory.get(path));
  const unfaithful = new Set([...converted, ...index.flagged.filter((path) => inventory.get(path)?.kind === 'file')]);
  const keep = protectedFiles(run, { index, inventory, unfaithful }, run.config.scope.default_forbidden_globs);
  const inTree = await run.vault.keep('tree', repository.workTree, keep, inventory);
  const inGit = await world.gitdir.keepMetadata(repository, metadata, run.vault);
  const installed = await keepDependencies(run, { index, inventory });
  const mainWorkspace = await recordMainWorkspace(run);
  return {
    head,
    tree,
    inventory,
    metadata,
    refs,
    index,
    unfaithful,
    ...(mainWorkspace !== undefined && { mainWorkspace }),
    notRestorable: [...inTree.tooLarge, ...inGit.tooLarge, ...installed],
  };
}

/** Files that must come back byte for byte although no commit holds them as they are. */
export function protectedFiles(run: Run, seen: Seen, forbiddenGlobs: readonly string[]): string[] {
  const forbidden = matcher(forbiddenGlobs, { twins: true });
  const { always, untracked } = candidates(run, seen);
  return [...always, ...untracked.filter((path) => forbidden(path) !== undefined)];
}

type Seen = Pick<Baseline, 'index' | 'inventory' | 'unfaithful'>;

interface Candidates {
  readonly always: readonly string[];
  readonly untracked: readonly string[];
}

const known = new WeakMap<Inventory, Candidates>();

/** What is kept whatever the globs say, and the files that only a glob can protect; asked twice in a tick. */
function candidates(run: Run, { index, inventory, unfaithful }: Seen): Candidates {
  const before = known.get(inventory);
  if (before !== undefined) return before;
  const mark = markOf(run);
  const { filesMarked, filesOutside } = run.world.inventory;
  const marked = filesMarked(inventory, MARK.rules | MARK.owned, mark)
    // Installed packages have copies of their own.
    .filter((path) => (mark(path) & MARK.rules) !== 0 || (mark(path) & MARK.installed) === 0 || index.has(path));
  const gitFile = inventory.get('.git')?.kind === 'file' ? ['.git'] : [];
  const always = new Set([...marked, ...unfaithful, ...gitFile]);
  const folders = index.submodules.map((path) => `${path}/`);
  const untracked: string[] = [];
  for (const path of filesOutside(inventory, index, MARK.installed, mark)) {
    if (folders.some((folder) => path.startsWith(folder))) always.add(path);
    else if (!always.has(path)) untracked.push(path);
  }
  // Another runner that finds the lock held may be writing its note just now.
  const stays = (path: string): boolean => !isNote(run, path);
  const found = { always: [...always].filter(stays), untracked: untracked.filter(stays) };
  known.set(inventory, found);
  return found;
}
