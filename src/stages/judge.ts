import type { Task } from '../generated/types.js';
import type { Outcome } from '../outcome.js';
import { blastLine, blastRadius, JUDGE_ROWS, type JudgeFacts } from '../rules/judge.js';
import { effectiveScope, type Scope } from '../rules/scope.js';
import { decide } from '../rules/table.js';
import { isLockfile } from '../rules/scope.js';
import { measure } from './measure.js';
import type { Baseline, Measured, Run } from './run.js';

/** Decides, by measurement alone, whether what the Hands did may stand. */
export async function judge(run: Run, task: Task, baseline: Baseline): Promise<Outcome | undefined> {
  const scope = effectiveScope(run.config, task);
  const measured = await measure(run, baseline, scope.forbidden);
  run.record.measured = measured;
  run.world.say('JUDGE', blastLine(blastRadius(measured.touched)));
  return decide(JUDGE_ROWS, judgeFacts({ measured, scope, taskKind: task.task_kind, lockfile: isLockfile(run.config) }))
    ?.outcome;
}

/** The facts of the A4 table. */
export function judgeFacts(given: {
  measured: Measured;
  scope: Scope;
  taskKind: Task['task_kind'];
  lockfile?: (path: string) => boolean;
}): JudgeFacts {
  const { measured } = given;
  return {
    task_kind: given.taskKind,
    scope: given.scope,
    touched: measured.touched,
    metadataChanged: measured.metadataChanged,
    refsMoved: measured.refsMoved,
    headMovedExternally: [],
    isLockfile: given.lockfile ?? (() => false),
    totals: blastRadius(measured.touched),
  };
}
