import type { Entry, Inventory } from '../model.js';
import { matcher } from '../rules/globs.js';
import { isRunnerOwned } from '../rules/scope.js';
import { isInstalled, keepDependencies, walkRules } from './dependencies.js';
import { recordMainWorkspace } from './mainWorkspace.js';
import type { Baseline, Run } from './run.js';

const RULE_FILE = /(^|\/)\.git(ignore|attributes)$/;

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

/** Looks at the whole work tree; files changed a moment ago are hashed, since their times prove nothing. */
export async function walkTree(
  run: Run,
  index: ReadonlyMap<string, unknown>,
  earlier?: Inventory,
  options = { glance: false },
): Promise<Map<string, Entry>> {
  const { clock, inventory } = run.world;
  const startedMs = clock.now().getTime();
  const seen = await inventory.lookAt(run.repository.workTree, walkRules(trackedFolders(index)), earlier, options);
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
  const inventory = await walkTree(run, index);
  const sizes = new Map<string, number>();
  world.inventory.eachFile(inventory, (path, size) => {
    if (index.has(path)) sizes.set(path, size);
  });
  const tracked = [...sizes.keys()];
  const converted = await git.convertedPaths(tracked, (path) => sizes.get(path) ?? 0, index);
  const unfaithful = new Set([...converted, ...tracked.filter((path) => index.get(path)?.flagged)]);
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
export function protectedFiles(
  run: Run,
  seen: Pick<Baseline, 'index' | 'inventory' | 'unfaithful'>,
  forbiddenGlobs: readonly string[],
): string[] {
  const forbidden = matcher(forbiddenGlobs, { twins: true });
  const { always, untracked } = candidates(run, seen);
  return [...always, ...untracked.filter((path) => forbidden(path) !== undefined)];
}

interface Candidates {
  readonly always: readonly string[];
  readonly untracked: readonly string[];
}

const known = new WeakMap<Inventory, Candidates>();

/** What is kept whatever the globs say, and the files that only a glob can protect; asked twice in a tick. */
function candidates(run: Run, seen: Pick<Baseline, 'index' | 'inventory' | 'unfaithful'>): Candidates {
  const before = known.get(seen.inventory);
  if (before !== undefined) return before;
  const owned = isRunnerOwned(run.config);
  const submodules = [...seen.index].filter(([, entry]) => entry.mode === '160000').map(([path]) => `${path}/`);
  const found = { always: [] as string[], untracked: [] as string[] };
  run.world.inventory.eachFile(seen.inventory, (path) => {
    const indexed = seen.index.has(path);
    const rule = path.includes('.git') && RULE_FILE.test(path);
    // Installed packages have copies of their own.
    if (!indexed && !rule && isInstalled(path)) return;
    if (
      (indexed && seen.unfaithful.has(path)) ||
      path === '.git' ||
      rule ||
      submodules.some((folder) => path.startsWith(folder)) ||
      owned(path)
    )
      found.always.push(path);
    else if (!indexed) found.untracked.push(path);
  });
  known.set(seen.inventory, found);
  return found;
}
