import type { State } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { countersOf, warned } from '../rules/budget.js';
import { refValue } from '../rules/judge.js';
import { visible } from '../rules/text.js';
import { attempt, conclude, publish } from './conclusion.js';
import { closeJournal, writePhase } from './journal.js';
import { saveState, type Run } from './run.js';
import { recordDir } from './walk.js';
import { blockedNote, writeLog, type Ended } from './writing.js';

/** Ends a tick that started: state, history, both reports; the verdict no longer changes, except if nothing can be written. */
export async function finish(run: Run, ending: Outcome): Promise<Ended> {
  const { world } = run;
  world.say('REPORT', ending.code);
  const ended = await written(run, ending).catch((error: unknown) => unwritten(run, ending, error));
  return writeLog(world, run.workspace, ended);
}

async function written(run: Run, ending: Outcome): Promise<Ended> {
  const { world, record } = run;
  // What could not be settled stays in the journal, for `relais recover`.
  const open = record.handsStarted && (!record.settled || record.leftovers.length > 0);
  const conclusion = conclude(run, ending, await movedRefs(run));
  for (const warning of warned(run.config, countersOf(run.state, run.config.project.milestone_id)))
    world.say('REPORT', `warning: ${warning}`);
  if (record.baseline !== undefined && !open) await writePhase(run, 'report', { conclusion });
  await saveState(run, conclusion.state);
  const reportMd = await publish(run, conclusion);
  await attempt(world, 'clean up', () => tidy(run, open));
  const { report, blocked, state } = conclusion;
  const { pending_question: asked } = state;
  return {
    runId: run.id,
    outcome: ending,
    report,
    reportMd,
    ...(blocked !== undefined && { blocked }),
    ...(asked?.run_id === run.id && { pendingQuestion: asked }),
    ...(ending.verdict === 'stop' && record.rejectedRef !== undefined && { rejectedRef: record.rejectedRef }),
  };
}

/** Everything is written: what is left of the tick's own files can go, or waits for the next command. */
async function tidy(run: Run, open: boolean): Promise<void> {
  const { world, record } = run;
  if (!open) {
    await closeJournal(world, run.privateDir);
    await run.vault.prune();
    if (record.baseline !== undefined) world.inventory.settleRecord(record.baseline.inventory, recordDir(run));
  }
  await world.files.removeTree(run.scratch);
}

/** A6: the report can't be written. A verified commit is kept, the caller is told, BLOCKED.json is tried. */
async function unwritten(run: Run, ending: Outcome, error: unknown): Promise<Ended> {
  const why = error instanceof Error ? error.message : String(error);
  const lost = outcome('STOP_INTERRUPTED', [
    `the report could not be written: ${why}`,
    `the tick itself had ended with ${ending.code}`,
  ]);
  const note = {
    ...blockedNote(run.world, run.id, lost),
    remedy: 'free disk space or make the workspace writable, then run `relais recover`',
  };
  await run.world.files.writeJson(run.world.join(run.workspace, 'BLOCKED.json'), note).catch((second: unknown) => {
    run.world.say('REPORT', `BLOCKED.json could not be written either: ${String(second)}`);
  });
  return { runId: run.id, outcome: lost, blocked: note };
}

/**
 * Tells of every other ref that is not where it was, keeps what it stood for, and says how to bring it back.
 * Read anew: the checks may have moved one, too.
 */
async function movedRefs(run: Run): Promise<{ notices: State['notices']; warnings: string[] }> {
  const { git, id: runId, record, repository: repo, vault, world } = run;
  const { baseline, measured } = record;
  if (baseline === undefined || (measured === undefined && !record.handsStarted)) return { notices: [], warnings: [] };
  const moved = world.gitdir.changedRefs(baseline.refs, await world.gitdir.readRefs(repo), {
    ref: baseline.head.ref,
    runId,
  });
  // With something left undone git's own files may not be back, and git is asked nothing.
  const kept =
    record.leftovers.length === 0 ? await world.gitdir.keepMovedRefs({ git, repo, vault, runId }, moved) : undefined;
  const others = moved.filter(({ ref }) => !ref.startsWith('refs/relais/'));
  const warnings: string[] = [];
  const notices = others.map(({ ref, before, after }) => {
    const back = kept?.get(ref) ?? [];
    const how = back.length === 0 ? '' : `; to bring it back: ${back.map((line) => visible(line)).join(' && ')}`;
    const text = `${visible(ref)} moved from ${refValue(before, '(absent)')} to ${refValue(after, '(deleted)')} during ${runId}; it was left there${how}`;
    // A new ref has taken nothing away: the evidence names it.
    if (before !== undefined) warnings.push(text);
    return { run_id: runId, text };
  });
  return { notices, warnings };
}
