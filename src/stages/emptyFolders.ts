import type { Change, Inventory } from '../model.js';
import { matcher } from '../rules/globs.js';
import type { Scope } from '../rules/scope.js';
import { sortOut } from './measure.js';
import type { Baseline, Measured, Run } from './run.js';

/** Makes again the empty folders that are gone and removes those that came; no change lists them, since git knows none. */
export async function restoreEmptyFolders(run: Run, baseline: Baseline, current: Inventory): Promise<void> {
  const { created, removed } = run.world.inventory.emptyFolders(baseline.inventory, current);
  await putBack(run, baseline, current, [...created, ...removed]);
}

/** The same for accepted work, as far as the folders lie outside of its scope and nothing ignores them. */
export async function tidyOutsideScope(run: Run, baseline: Baseline, measured: Measured, scope: Scope): Promise<void> {
  const { inventory } = measured;
  const { created, removed } = run.world.inventory.emptyFolders(baseline.inventory, inventory);
  const [allowed, forbidden] = [
    matcher(scope.allowed, { twins: false }),
    matcher(scope.forbidden, { twins: true }),
  ] as const;
  const outside = [...created, ...removed].filter(
    (path) => allowed(`${path}/file`) === undefined || forbidden(`${path}/file`) !== undefined,
  );
  if (outside.length === 0) return;
  const changes = outside.map((path): Change => ({
    path,
    ...(baseline.inventory.has(path) && { before: baseline.inventory.get(path)! }),
    ...(inventory.has(path) && { after: inventory.get(path)! }),
  }));
  const { judged } = await sortOut(run, baseline, changes, scope.forbidden);
  const paths = judged.map(({ path }) => path);
  await putBack(run, baseline, inventory, paths);
  if (paths.length > 0)
    run.record.warnings.push(
      `empty folders outside of the scope were put back as before: ${paths.slice(0, 3).join(', ')}`,
    );
}

async function putBack(run: Run, baseline: Baseline, current: Inventory, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  await run.world.restore.restoreTree(run.repository.workTree, baseline.inventory, current, paths, () => {
    throw new Error('a folder has no content');
  });
}
