import type { Inventory } from '../model.js';
import { matcher } from '../rules/globs.js';
import { isRunnerOwned } from '../rules/scope.js';
import { recordMainWorkspace } from './mainWorkspace.js';
import type { Baseline, Run } from './run.js';

const RULE_FILE = /(^|\/)\.git(ignore|attributes)$/;

/** Folders of installed packages without a tracked file in them are noted, not entered. */
export function pruner(index: ReadonlyMap<string, unknown>): (path: string) => boolean {
  return (path) =>
    path.endsWith('node_modules') && /(^|\/)node_modules$/.test(path) && !trackedFolders(index).has(path);
}

const foldersOf = new WeakMap<ReadonlyMap<string, unknown>, ReadonlySet<string>>();

/** Every folder that holds a tracked path at any depth. */
export function trackedFolders(index: ReadonlyMap<string, unknown>): ReadonlySet<string> {
  const known = foldersOf.get(index);
  if (known !== undefined) return known;
  const folders = new Set<string>();
  for (const path of index.keys()) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  foldersOf.set(index, folders);
  return folders;
}

/** Walks the work tree of a run; files changed a moment ago are hashed, since their times prove nothing. */
export async function walkTree(run: Run, index: ReadonlyMap<string, unknown>): Promise<Inventory> {
  const { clock, inventory } = run.world;
  const startedMs = clock.now().getTime();
  const seen = await inventory.walk(run.repository.workTree, { skip: () => false, prune: pruner(index) });
  await inventory.markRacy(seen, startedMs, run.repository.workTree, run.repository.objectFormat);
  return seen;
}

/** Records how everything stands, and keeps private copies of what git could not give back. */
export async function takeBaseline(run: Run): Promise<Baseline> {
  const { git, repository, world } = run;
  const found = await git.head();
  if (found === undefined) throw new Error('HEAD can no longer be read');
  const { tree, ...head } = found;
  const [index, metadata, refs] = [
    await git.indexEntries(),
    await world.gitdir.walkMetadata(repository),
    await world.gitdir.readRefs(repository),
  ];
  const inventory = new Map(await walkTree(run, index));
  const tracked = [...index.keys()].filter((path) => inventory.get(path)?.kind === 'file');
  const converted = await git.convertedPaths(tracked, (path) => inventory.get(path)?.size ?? 0, index);
  const unfaithful = new Set([...converted, ...tracked.filter((path) => index.get(path)?.flagged)]);
  const keep = protectedFiles(run, { index, inventory, unfaithful }, run.config.scope.default_forbidden_globs);
  const inTree = await run.vault.keep('tree', repository.workTree, keep, inventory);
  const inGit = await world.gitdir.keepMetadata(repository, metadata, run.vault);
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
    notRestorable: [...inTree.tooLarge, ...inGit.tooLarge],
  };
}

/** Files that must come back byte for byte although no commit holds them as they are. */
export function protectedFiles(
  run: Run,
  seen: Pick<Baseline, 'index' | 'inventory' | 'unfaithful'>,
  forbiddenGlobs: readonly string[],
): string[] {
  const owned = isRunnerOwned(run.config);
  const forbidden = matcher(forbiddenGlobs, { twins: true });
  const submodules = [...seen.index].filter(([, entry]) => entry.mode === '160000').map(([path]) => `${path}/`);
  const kept: string[] = [];
  for (const [path, entry] of seen.inventory) {
    if (entry.kind !== 'file') continue;
    const indexed = seen.index.has(path);
    if (
      (indexed && seen.unfaithful.has(path)) ||
      (!indexed && forbidden(path) !== undefined) ||
      path === '.git' ||
      RULE_FILE.test(path) ||
      owned(path) ||
      submodules.some((folder) => path.startsWith(folder))
    ) {
      kept.push(path);
    }
  }
  return kept;
}
