import type { Blocked, Config, Meta, Report } from '../generated/types.js';
import { CODE_MEANING, outcome, type Outcome } from '../outcome.js';
import { countersOf } from '../rules/budget.js';
import { buildMeta } from './meta.js';
import { buildReport, type ReportFacts } from '../rules/report.js';
import { renderReport } from '../rules/reportMd.js';
import type { World } from '../world/world.js';
import { closeJournal, writePhase } from './journal.js';
import { workspaceOf, type Place } from './place.js';
import { readWorkspace } from './preflight.js';
import { saveState, type Run } from './run.js';

const MAX_PATCH = 20 * 1024 * 1024;
const NO_COMMIT = '0000000';

/** How a tick ended, and what it wrote. */
export interface Ended {
  readonly runId: string;
  readonly outcome: Outcome;
  readonly report?: Report;
  readonly reportMd?: string;
  readonly blocked?: Blocked;
  readonly pendingQuestion?: string;
}

interface Begun {
  readonly id: string;
  readonly startedAt: Date;
  readonly startedMs: number;
}

/** Ends a tick that never started: BLOCKED.json with the remedy, and a report where one can be valid. */
export async function refuse(world: World, place: Place, begun: Begun, blocked: Outcome): Promise<Ended> {
  const note = blockedNote(world, begun.id, blocked);
  const { repository, config } = place;
  const ended: Ended = { runId: begun.id, outcome: blocked, blocked: note };
  const folder = workspaceAt(world, place);
  if (await world.files.exists(folder)) await world.files.writeJson(world.join(folder, 'BLOCKED.json'), note);
  if (repository === undefined || config === undefined) return ended;
  const head = await world.git.createGit(repository, await world.git.readSettings(repository.workTree)).head();
  if (blocked.code === 'BLOCKED_LOCK_HELD' || head === undefined) return ended;
  const { state } = await readWorkspace(world, repository, config);
  const report = buildReport({
    ...timing(world, begun),
    base_commit: head.commit,
    head_commit: head.commit,
    milestone_id: config.project.milestone_id,
    outcome: blocked,
    touched: [],
    violations: blocked.evidence,
    runs: [],
    counters: countersOf(state, config.project.milestone_id),
    warnings: [],
    paths: pathsOf(config, undefined),
  });
  const reportMd = await writeReports(world, folder, config, report);
  return { ...ended, report, reportMd };
}

/** Also without a repository or a valid config, the workspace is looked for where it usually lies. */
function workspaceAt(world: World, { repository, config, root }: Place): string {
  if (repository !== undefined && config !== undefined) return workspaceOf(world, repository, config);
  return world.join(root, config?.workspace_dir ?? 'relais');
}

function blockedNote(world: World, runId: string, blocked: Outcome): Blocked {
  if (blocked.code === 'SUCCESS') throw new Error('a success blocks nothing');
  return {
    run_id: runId,
    code: blocked.code,
    evidence: [...blocked.evidence],
    remedy: blocked.remedy ?? CODE_MEANING[blocked.code].remedy,
    ...(blocked.notBefore !== undefined && { not_before: blocked.notBefore }),
    written_at: world.clock.now().toISOString(),
  };
}

/** Ends a tick that started: state, history, both reports; the verdict no longer changes, except if nothing can be written. */
export async function finish(run: Run, ending: Outcome): Promise<Ended> {
  const { world, config, record } = run;
  if (record.baseline !== undefined) await writePhase(run, 'report');
  world.say('REPORT', `${ending.verdict.toUpperCase()} ${ending.code}`);
  await settleState(run, ending);
  const report = buildReport(reportFacts(run, ending));
  try {
    await writeHistory(run, ending, report);
    const reportMd = await writeReports(world, run.workspace, config, report);
    await closeJournal(world, run.privateDir);
    await world.files.removeTree(run.scratch);
    if (ending.verdict === 'blocked')
      await world.files.writeJson(world.join(run.workspace, 'BLOCKED.json'), blockedNote(world, run.id, ending));
    return {
      runId: run.id,
      outcome: ending,
      report,
      reportMd,
      ...(ending.verdict === 'blocked' && { blocked: blockedNote(world, run.id, ending) }),
      ...(record.pendingQuestion !== undefined && { pendingQuestion: record.pendingQuestion }),
    };
  } catch (error) {
    return unwritten(run, ending, error);
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
  const { task, measured } = run.record;
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
    run.record.pendingQuestion = asked.pending_question.prompt;
    run.record.warnings.push(`question: ${asked.pending_question.prompt}`);
  }
  const moved = (measured?.refsMoved ?? []).map(({ ref, before, after }) => ({
    run_id: run.id,
    text: `${ref} moved from ${before ?? '(absent)'} to ${after ?? '(deleted)'} during ${run.id}; it was left there`,
  }));
  if (run.record.builderOutputValid === false) run.record.warnings.push('builder_output_valid=false');
  await saveState(run, {
    ...run.state,
    ...asked,
    notices: [...run.state.notices, ...moved].slice(-50),
    ...(task !== undefined && { last_task_run_id: run.id }),
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

function timing(world: World, begun: Begun): Pick<ReportFacts, 'run_id' | 'started_at' | 'ended_at' | 'duration_ms'> {
  const duration = Math.max(0, Math.round(world.clock.monotonicMs() - begun.startedMs));
  return {
    run_id: begun.id,
    started_at: begun.startedAt.toISOString(),
    ended_at: new Date(begun.startedAt.getTime() + duration).toISOString(),
    duration_ms: duration,
  };
}

function pathsOf(config: Config, runId: string | undefined): ReportFacts['paths'] {
  const history = runId === undefined ? undefined : `${config.history.dir}/${runId}`;
  return {
    ...(config.runner.render_report_md.enabled && { report_md: `${config.workspace_dir}/REPORT.md` }),
    ...(history !== undefined && { history }),
    diff_patch: history !== undefined && config.history.include_diff_patch ? `${history}/diff.patch` : '(none)',
    verify_log: history !== undefined && config.history.include_verify_log ? `${history}/verify.log` : '(none)',
  };
}

async function writeReports(world: World, folder: string, config: Config, report: Report): Promise<string> {
  const reportMd = renderReport(report, config.runner.render_report_md.max_chars);
  await world.files.writeJson(world.join(folder, 'REPORT.json'), report);
  if (config.runner.render_report_md.enabled) await world.files.writeAtomic(world.join(folder, 'REPORT.md'), reportMd);
  return reportMd;
}

/** A tick that was blocked before it had a task leaves no history. */
function keepsHistory(config: Config, ending: Outcome): boolean {
  return config.history.enabled && ending.verdict !== 'blocked';
}

async function writeHistory(run: Run, ending: Outcome, report: Report): Promise<void> {
  const { world, config, record } = run;
  if (!keepsHistory(config, ending)) return;
  const folder = world.join(run.repository.mainTree, config.history.dir, run.id);
  await world.files.ensureDir(folder);
  const meta: Meta = buildMeta(run, ending, {
    configSha256: world.sha256(run.configText),
    containment: world.spawn.containment(),
  });
  await world.files.writeJson(world.join(folder, 'meta.json'), meta);
  await world.files.writeJson(world.join(folder, 'report.json'), report);
  await world.files.writeAtomic(
    world.join(folder, 'report.md'),
    renderReport(report, config.runner.render_report_md.max_chars),
  );
  if (config.history.include_verify_log)
    await world.files.writeAtomic(world.join(folder, 'verify.log'), record.verifyLog.join('\n'));
  if (config.history.include_diff_patch) {
    const { baseline, measured } = record;
    if (baseline === undefined || measured === undefined || measured.tree === baseline.tree)
      await world.files.writeAtomic(world.join(folder, 'diff.patch'), '');
    else await run.git.patch(baseline.tree, measured.tree, world.join(folder, 'diff.patch'), MAX_PATCH);
  }
}
