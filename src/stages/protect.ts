import type { Task } from '../generated/types.js';
import { effectiveScope } from '../rules/scope.js';
import { protectedFiles } from './baseline.js';
import type { Baseline, Run } from './run.js';

/** The task may forbid more than the config: ignored files that only its globs name are kept, too. */
export async function protectTask(run: Run, task: Task, baseline: Baseline): Promise<void> {
  const { forbidden } = effectiveScope(run.config, task);
  const kept = await run.vault.keep(
    'tree',
    run.repository.workTree,
    protectedFiles(run, baseline, forbidden),
    baseline.inventory,
  );
  for (const path of [...kept.tooLarge, ...baseline.notRestorable]) {
    run.record.warnings.push(`${path} is protected but too large to be kept: it could not be restored`);
  }
  await run.vault.save();
}
