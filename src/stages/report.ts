import type { State } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { countersOf, warned } from '../rules/budget.js';
import { buildReport, type ReportFacts } from '../rules/report.js';
import { refValue } from '../rules/judge.js';
import { renderReport } from '../rules/reportMd.js';
import { visible } from '../rules/text.js';
import { closeJournal, writePhase } from './journal.js';
import { saveState, type Run } from './run.js';
import { recordDir } from './walk.js';
import {
  blockedNote,
  keepsHistory,
  pathsOf,
  timing,
  writeHistory,
  writeLog,
  writeMarkdown,
  type Ended,
} from './writing.js';

const NO_COMMIT = '0000000';

/** Ends a tick that started: state, history, both reports; the verdict no longer changes, except if nothing can be written. */
export async function finish(run: Run, ending: Outcome): Promise<Ended> {
  const { world } = run;
  world.say('REPORT', ending.code);
  const ended = await written(run, ending).catch((error: unknown) => unwritten(run, ending, error));
  return writeLog(world, run.workspace, ended);
}

async function written(run: Run, ending: Outcome): Promise<Ended> {
  const { world, config, record } = run;
  // What could not be settled stays in the journal, for `relais recover`.
  const open = record.handsStarted && (!record.settled || record.leftovers.length > 0);
  if (record.baseline !== undefined && !open) await writePhase(run, 'report');
  await settleState(run, ending);
  const report = buildReport(reportFacts(run, ending));
  await world.files.writeJson(world.join(run.workspace, 'REPORT.json'), report);
  // From here on nothing changes the verdict any more.
  const reportMd = renderReport(report, config.runner.render_report_md.max_chars);
  await attempt(run, 'REPORT.md', () => writeMarkdown(world, run.workspace, config, reportMd));
  await attempt(run, 'the history', () => writeHistory(run, ending, report));
  const blocked = ending.verdict === 'blocked' ? blockedNote(world, run.id, ending) : undefined;
  if (blocked !== undefined) await world.files.writeJson(world.join(run.workspace, 'BLOCKED.json'), blocked);
  if (!open) {
    await closeJournal(world, run.privateDir);
    await run.vault.prune();
    if (record.baseline !== undefined) world.inventory.settleRecord(record.baseline.inventory, recordDir(run));
  }
  await world.files.removeTree(run.scratch);
  return {
    runId: run.id,
    outcome: ending,
    report,
    reportMd,
    ...(blocked !== undefined && { blocked }),
    ...(record.pendingQuestion !== undefined && { pendingQuestion: record.pendingQuestion }),
    ...(ending.verdict === 'stop' && record.rejectedRef !== undefined && { rejectedRef: record.rejectedRef }),
  };
}

async function attempt({ world }: Run, what: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    world.log.error(`${what} could not be written`, { error });
    world.say('REPORT', `${what} could not be written: ${error instanceof Error ? error.message : String(error)}`);
  }
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

async function settleState(run: Run, ending: Outcome): Promise<void> {
  const { task } = run.record;
  const asked =
    ending.verdict === 'success' && task?.task_kind === 'question' && task.question !== undefined
      ? {
          pending_question: {
            run_id: run.id,
            task_id: task.task_id,
            milestone_id: task.milestone_id,
            prompt: task.question.prompt,
            choices: task.question.choices ?? [],
            asked_at: run.world.clock.now().toISOString(),
          },
        }
      : {};
  if (asked.pending_question !== undefined) {
    run.record.pendingQuestion = asked.pending_question;
    run.record.warnings.push(`question: ${asked.pending_question.prompt}`);
  }
  const moved = await movedNotices(run);
  if (run.record.builderOutputValid === false) run.record.warnings.push('builder_output_valid=false');
  const warnings = warned(run.config, countersOf(run.state, run.config.project.milestone_id));
  // What was said at the start need not be said again; a counter may have moved on since.
  run.record.warnings.splice(0, Infinity, ...run.record.warnings.filter((line) => !line.startsWith('budget critical')));
  run.record.warnings.push(...warnings);
  for (const warning of warnings) run.world.say('REPORT', `warning: ${warning}`);
  await saveState(run, {
    ...run.state,
    ...asked,
    budget_warning: warnings.length > 0,
    notices: [...run.state.notices, ...moved].slice(-50),
    ...(task !== undefined && { last_task_run_id: run.id }),
  });
}

/**
 * Tells of every other ref that is not where it was, keeps what it stood for, and says how to bring it back.
 * Read anew: the checks may have moved one, too.
 */
async function movedNotices(run: Run): Promise<State['notices']> {
  const { git, id: runId, record, repository: repo, vault, world } = run;
  const { baseline, measured } = record;
  if (baseline === undefined || (measured === undefined && !record.handsStarted)) return [];
  const moved = world.gitdir.changedRefs(baseline.refs, await world.gitdir.readRefs(repo), {
    ref: baseline.head.ref,
    runId,
  });
  // With something left undone git's own files may not be back, and git is asked nothing.
  const kept =
    record.leftovers.length === 0 ? await world.gitdir.keepMovedRefs({ git, repo, vault, runId }, moved) : undefined;
  const others = moved.filter(({ ref }) => !ref.startsWith('refs/relais/'));
  return others.map(({ ref, before, after }) => {
    const back = kept?.get(ref) ?? [];
    const how = back.length === 0 ? '' : `; to bring it back: ${back.map((line) => visible(line)).join(' && ')}`;
    const text = `${visible(ref)} moved from ${refValue(before, '(absent)')} to ${refValue(after, '(deleted)')} during ${runId}; it was left there${how}`;
    // A new ref has taken nothing away: the evidence names it.
    if (before !== undefined) record.warnings.push(text);
    return { run_id: runId, text };
  });
}

function reportFacts(run: Run, ending: Outcome): ReportFacts {
  const { config, record } = run;
  const base = record.baseline?.head.commit ?? NO_COMMIT;
  return {
    ...timing(run.world, run),
    base_commit: base,
    head_commit: record.commit ?? base,
    ...(record.task !== undefined && { task: record.task }),
    milestone_id: config.project.milestone_id,
    outcome: ending,
    touched: record.measured?.touched ?? [],
    violations: ending.evidence,
    runs: record.verifyRuns,
    counters: countersOf(run.state, config.project.milestone_id),
    warnings: record.warnings,
    paths: pathsOf(config, keepsHistory(config, ending) ? run.id : undefined),
  };
}
