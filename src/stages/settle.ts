import type { Task } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { blastLine, blastRadius } from '../rules/judge.js';
import { commitMessage } from '../rules/commitMessage.js';
import { effectiveScope } from '../rules/scope.js';
import { tidyOutsideScope } from './emptyFolders.js';
import { conclude } from './conclusion.js';
import { writePhase } from './journal.js';
import { rollBack } from './rollback.js';
import type { TreeChange } from '../world/git/write.js';
import type { Baseline, Measured, Run } from './run.js';

/** Makes the verdict true: the judged tree is committed, or everything is put back as it was. */
export async function settle(run: Run, task: Task | undefined, baseline: Baseline, verdict: Outcome): Promise<Outcome> {
  const settled =
    verdict.verdict === 'success' && task !== undefined
      ? await keep(run, task, baseline)
      : await undo(run, baseline, verdict);
  run.record.settled = true;
  return settled;
}

async function undo(run: Run, baseline: Baseline, verdict: Outcome): Promise<Outcome> {
  await writePhase(run, 'rollback');
  run.world.say('SETTLE', 'rolling back to the base commit');
  const leftovers = await rollBack(run, baseline, verdict).catch((error: unknown) => {
    run.world.log.error('the rollback failed', { error });
    return [`nothing was undone: ${error instanceof Error ? error.message : String(error)}`];
  });
  if (leftovers.length === 0) return verdict;
  run.record.leftovers.push(...leftovers);
  return outcome(
    'STOP_INTERRUPTED',
    [
      `stopped by ${verdict.code}, but the rollback is not complete`,
      ...leftovers.map((line) => `left: ${line}`),
      ...verdict.evidence,
    ],
    { remedy: 'Remove what is in the way of the paths named as left, then run `relais recover`.' },
  );
}

async function keep(run: Run, task: Task, baseline: Baseline): Promise<Outcome> {
  const { measured } = run.record;
  const success = outcome('SUCCESS', []);
  if (measured === undefined) return success;
  await keepMovedHead(run, measured);
  await tidyOutsideScope(run, baseline, measured, effectiveScope(run.config, task));
  if (measured.tree === baseline.tree) {
    if (task.task_kind === 'execute') run.record.warnings.push('the builder changed nothing');
    await run.git.stage(indexEntries(baseline, measured));
    return success;
  }
  if (!run.config.runner.commit_on_success) {
    run.world.say('SETTLE', 'the change stays in the work tree (runner.commit_on_success is false)');
    return success;
  }
  run.world.say('SETTLE', 'committing what was judged');
  const message = commitMessage({
    task,
    runId: run.id,
    blast: blastLine(blastRadius(measured.touched)),
    costUsd: totalCost(run),
    salvaged: run.record.salvagedRunId,
  });
  const commit = await run.git.commitTree({
    tree: measured.tree,
    parents: [baseline.head.commit],
    message,
    date: run.world.clock.now(),
  });
  const ref = baseline.head.ref ?? 'HEAD';
  await writePhase(run, 'commit', { commit: { oid: commit, ref }, conclusion: conclude(run, success, { commit }) });
  if (!(await run.git.updateRef(ref, commit, baseline.head.commit, `relais: ${run.id}`))) {
    return undo(
      run,
      baseline,
      outcome('STOP_HEAD_MOVED', [`${ref} was moved by somebody else before the commit; it was left there`]),
    );
  }
  run.record.commit = commit;
  await run.git.stage(indexEntries(baseline, measured));
  run.world.say('SETTLE', `committed ${commit.slice(0, 10)}`);
  return success;
}

/**
 * What the index has to learn: the committed entries, and the files that were written anew but mean
 * the same to git, by other line ends say, because it knows them by their old size.
 */
function indexEntries(baseline: Baseline, measured: Measured): TreeChange[] {
  const held = new Set(measured.held.map(({ path }) => path));
  const rewritten = measured.changes.flatMap(({ path, after }) => {
    const entry = baseline.index.get(path);
    if (entry === undefined || entry.flagged || held.has(path) || after?.kind !== 'file') return [];
    return [{ path, mode: entry.mode, oid: entry.oid }];
  });
  return [...measured.held, ...rewritten];
}

/** Commits the Hands made themselves are folded into the one commit; their own stay reachable. */
async function keepMovedHead(run: Run, measured: Measured): Promise<void> {
  if (measured.headMovedTo === undefined) return;
  const ref = `refs/relais/rejected/${run.id}`;
  await run.git.updateRef(ref, measured.headMovedTo, undefined, 'relais: commits of the builder, folded');
  run.record.rejectedRef = ref;
  run.record.warnings.push(`the builder's own commits were folded into one; they are kept under ${ref}`);
}

function totalCost(run: Run): number {
  return run.record.calls.reduce((sum, call) => sum + call.countedUsd, 0);
}
