import { matcher } from '../rules/globs.js';
import type { Dependencies } from '../world/keep/dependencies.js';
import type { Baseline, Run } from './run.js';

/** Caches of tools, directly inside a `node_modules`: checks write to them in every run, so nobody looks inside. */
const CACHES = ['.cache', '.vite', '.vite-temp', '.vitest', '.swc'];
const INSTALLED = /(^|\/)node_modules\//;
const opened = new WeakMap<Run, Dependencies>();

/** Which folders a walk of this work tree does not enter. */
export function walkRules(folders: ReadonlySet<string>): { caches: readonly string[]; entered: readonly string[] } {
  const isCache = new RegExp(`(^|/)node_modules/(${CACHES.map((name) => name.replace('.', '\\.')).join('|')})$`);
  return { caches: CACHES, entered: [...folders].filter((folder) => isCache.test(folder)) };
}

/** Whether a path lies in a folder of installed packages. */
export function isInstalled(path: string): boolean {
  return path.includes('node_modules') && INSTALLED.test(path);
}

/** The private copies of installed packages. */
export function dependenciesOf(run: Run): Dependencies {
  const known = opened.get(run);
  if (known !== undefined) return known;
  const { inventory, join, sha256 } = run.world;
  // Every work tree has packages of its own.
  const folder = join(run.privateDir, 'dependencies', sha256(run.repository.workTree).slice(0, 20));
  const made = inventory.openDependencies(folder, run.repository.objectFormat);
  opened.set(run, made);
  return made;
}

/** Copies installed packages that the config's forbidden globs protect; says what is above the cap. */
export async function keepDependencies(
  run: Run,
  { index, inventory }: Pick<Baseline, 'index' | 'inventory'>,
): Promise<string[]> {
  const globs = run.config.scope.default_forbidden_globs;
  const forbidden = globs.includes('**/node_modules/**') ? () => '' : matcher(globs, { twins: true });
  const files: string[] = [];
  let bytes = 0;
  run.world.inventory.eachFile(inventory, (path, size) => {
    if (!isInstalled(path) || index.has(path) || forbidden(path) === undefined) return;
    files.push(path);
    bytes += size;
  });
  const store = dependenciesOf(run);
  if (files.length > 1000 && !store.has(files[0] ?? ''))
    run.world.say('BASELINE', `copying ${files.length} installed files (${Math.ceil(bytes / 1e6)} MB) privately, once`);
  const { left } = await store.keep(run.repository.workTree, files, inventory);
  if (left.length === 0) return [];
  return [
    `node_modules (${left.length} of ${files.length} installed files, above the cap or not readable; \`npm ci\` brings them back)`,
  ];
}
