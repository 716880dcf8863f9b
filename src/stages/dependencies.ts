import { matcher } from '../rules/globs.js';
import type { Dependencies } from '../world/keep/dependencies.js';
import type { Baseline, Run } from './run.js';
import { isInstalled, MARK, markOf } from './walk.js';

const opened = new WeakMap<Run, Dependencies>();

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
  const isWanted = (path: string): boolean => !index.has(path) && forbidden(path) !== undefined;
  const store = dependenciesOf(run);
  const resumed = run.world.inventory.resumedFrom(inventory);
  // What the copies were made for: one record of the work tree, one set of globs, no tracked packages.
  const purpose =
    resumed === undefined || index.containing('node_modules/').length > 0
      ? undefined
      : JSON.stringify([resumed.id, globs]);
  if (resumed !== undefined && purpose !== undefined && store.purpose() === purpose) {
    const since = [...resumed.paths].filter((path) => isInstalled(path) && isWanted(path));
    const { left } = await store.keep(run.repository.workTree, since, inventory, { purpose, only: true });
    return notKept(left.length, since.length);
  }
  const files = run.world.inventory.filesMarked(inventory, MARK.installed, markOf(run)).filter(isWanted);
  if (files.length > 1000 && !store.has(files[0] ?? ''))
    run.world.say('BASELINE', `copying ${files.length} installed files privately, once`);
  const { left } = await store.keep(run.repository.workTree, files, inventory, { purpose, only: false });
  return notKept(left.length, files.length);
}

function notKept(left: number, all: number): string[] {
  if (left === 0) return [];
  return [
    `node_modules (${left} of ${all} installed files, above the cap or not readable; \`npm ci\` brings them back)`,
  ];
}
