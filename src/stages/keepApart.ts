import type { Measured, Run } from './run.js';

const MAX_FILES = 1000;

/**
 * Keeps, as plain files in the private folder, the refused work that no git tree can or may hold, and
 * what stands now where something else was judged.
 */
export async function keepApart(run: Run, now: Measured, judged: Measured): Promise<void> {
  const files = [...now.notInTree.map(({ path }) => path), ...sinceJudged(now, judged)].filter(
    (path) => now.inventory.get(path)?.kind === 'file',
  );
  if (files.length === 0) return;
  const folder = run.world.join(run.privateDir, 'rejected', run.id);
  const taken = files.slice(0, MAX_FILES);
  const refused = await run.world.setAside(run.repository.workTree, taken, folder);
  if (refused.size < taken.length) run.record.keptApart = folder;
  const lost = [...refused].map(([path, why]) => `${path} (${why})`);
  if (files.length > taken.length) lost.push(`${files.length - taken.length} more (only ${MAX_FILES} are kept)`);
  if (lost.length > 0) run.record.warnings.push(`refused work that could not be kept: ${lost.slice(0, 5).join(', ')}`);
}

function sinceJudged(now: Measured, judged: Measured): string[] {
  if (now.tree === judged.tree) return [];
  const held = new Map(judged.held.map(({ path, oid }) => [path, oid]));
  return now.held.filter(({ path, oid }) => held.get(path) !== oid).map(({ path }) => path);
}
