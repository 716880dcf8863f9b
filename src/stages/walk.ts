import type { Entry, Inventory, TrackedFiles } from '../model.js';
import { isRunnerOwned } from '../rules/scope.js';
import type { Run } from './run.js';

/** What a walk notes about every file, so that few of them have to be asked for by name. */
export const MARK = { rules: 1, installed: 2, owned: 4 } as const;

/** Caches of tools, directly inside a `node_modules`: checks write to them in every run, so nobody looks inside. */
const CACHES = ['.cache', '.vite', '.vite-temp', '.vitest', '.swc'];
const CACHE = new RegExp(`(?<=^|/)node_modules/(${CACHES.map((name) => name.replace('.', '\\.')).join('|')})/`, 'g');
const INSTALLED = /(^|\/)node_modules\//;
const RULE_FILE = /(^|\/)\.git(ignore|attributes)$/;

/** Which folders a walk of this work tree does not enter. */
export function walkRules(index: TrackedFiles): { caches: readonly string[]; entered: readonly string[] } {
  const tracked = index
    .containing('node_modules/')
    .flatMap((path) =>
      [...path.matchAll(CACHE)].map(({ index: at, 0: found }) => path.slice(0, at + found.length - 1)),
    );
  return { caches: CACHES, entered: [...new Set(tracked)] };
}

/** Whether a path lies in a folder of installed packages. */
export function isInstalled(path: string): boolean {
  return path.includes('node_modules') && INSTALLED.test(path);
}

/** The marks of a path. */
export function markOf(run: Run): (path: string) => number {
  const owned = isRunnerOwned(run.config);
  return (path) =>
    (path.includes('.git') && RULE_FILE.test(path) ? MARK.rules : 0) |
    (isInstalled(path) ? MARK.installed : 0) |
    (owned(path) ? MARK.owned : 0);
}

/** Looks at the whole work tree; files changed a moment ago are hashed, since their times prove nothing. */
export async function walkTree(
  run: Run,
  index: TrackedFiles | Promise<TrackedFiles>,
  earlier?: Inventory,
  options = { glance: false },
): Promise<Map<string, Entry>> {
  const { clock, inventory } = run.world;
  const { workspace_dir, runner } = run.config;
  const startedMs = clock.now().getTime();
  const seen = await inventory.look(run.repository.workTree, earlier, {
    ...options,
    rules: async () => walkRules(await index),
    // Whatever decides about the marks is in their name.
    marks: { key: JSON.stringify([workspace_dir, runner.lockfile, runner.runner_owned_globs]), of: markOf(run) },
    keeper: { dir: recordDir(run), differing: (indexFile, gitDir) => run.git.differing(indexFile, gitDir) },
  });
  await inventory.markRacy(seen, startedMs, run.repository.workTree, run.repository.objectFormat);
  return seen;
}

/** Where the last walk of this work tree is kept between ticks. */
export function recordDir({ world, privateDir, repository }: Pick<Run, 'world' | 'privateDir' | 'repository'>): string {
  return world.join(privateDir, 'walks', world.sha256(repository.workTree).slice(0, 20));
}

/** Files that hold ignore or attribute rules, wherever they lie. */
export function ruleFiles(run: Run, inventory: Inventory): string[] {
  return run.world.inventory.filesMarked(inventory, MARK.rules, markOf(run));
}
