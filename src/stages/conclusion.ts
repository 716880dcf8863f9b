import type { Blocked, Meta, Report, State } from '../generated/types.js';
import type { Outcome } from '../outcome.js';
import { countersOf, warned } from '../rules/budget.js';
import { buildReport } from '../rules/report.js';
import { renderReport } from '../rules/reportMd.js';
import type { World } from '../world/world.js';
import { buildMeta } from './meta.js';
import type { Run } from './run.js';
import { blockedNote, keepsHistory, pathsOf, timing, writeMarkdown } from './writing.js';

const MAX_PATCH = 20 * 1024 * 1024;
const NO_COMMIT = '0000000';

/** Everything the end of a tick puts on disk, complete before the first of it is written. */
export interface Conclusion {
  readonly state: State;
  readonly report: Report;
  readonly blocked?: Blocked;
  readonly history?: {
    readonly meta: Meta;
    readonly verify_log?: string;
    /** The trees before and after; null where nothing was touched. */
    readonly patch?: readonly [from: string, to: string] | null;
  };
}

/** What the record does not know (yet). */
interface Additions {
  readonly commit?: string | undefined;
  readonly notices?: State['notices'];
  readonly warnings?: readonly string[];
}

/** The ending of a tick as it will be written; changes nothing. */
export function conclude(run: Run, ending: Outcome, additions: Additions = {}): Conclusion {
  const { world, config, record } = run;
  const { commit = record.commit, notices = [] } = additions;
  const pending = pendingQuestion(run, ending);
  const budget = warned(config, countersOf(run.state, config.project.milestone_id));
  const warnings = [
    // What was said at the start need not be said again; a counter may have moved on since.
    ...record.warnings.filter((line) => !line.startsWith('budget critical')),
    ...(pending === undefined ? [] : [`question: ${pending.prompt}`]),
    ...(additions.warnings ?? []),
    ...(record.builderOutputValid === false ? ['builder_output_valid=false'] : []),
    ...budget,
  ];
  const base = record.baseline?.head.commit ?? NO_COMMIT;
  const report = buildReport({
    ...timing(world, run),
    base_commit: base,
    head_commit: commit ?? base,
    ...(record.task !== undefined && { task: record.task }),
    milestone_id: config.project.milestone_id,
    outcome: ending,
    touched: record.measured?.touched ?? [],
    violations: ending.evidence,
    runs: record.verifyRuns,
    counters: countersOf(run.state, config.project.milestone_id),
    warnings,
    paths: pathsOf(config, keepsHistory(config, ending) ? run.id : undefined),
  });
  const state: State = {
    ...run.state,
    ...(pending !== undefined && { pending_question: pending }),
    budget_warning: budget.length > 0,
    notices: [...run.state.notices, ...notices].slice(-50),
    ...(record.task !== undefined && { last_task_run_id: run.id }),
  };
  return {
    state,
    report,
    ...(ending.verdict === 'blocked' && { blocked: blockedNote(world, run.id, ending) }),
    ...(keepsHistory(config, ending) && { history: historyOf(run, ending, warnings, commit) }),
  };
}

function pendingQuestion({ id, world, record }: Run, ending: Outcome): State['pending_question'] {
  const { task } = record;
  if (ending.verdict !== 'success' || task?.task_kind !== 'question' || task.question === undefined) return undefined;
  return {
    run_id: id,
    task_id: task.task_id,
    milestone_id: task.milestone_id,
    prompt: task.question.prompt,
    choices: task.question.choices ?? [],
    asked_at: world.clock.now().toISOString(),
  };
}

function historyOf(
  run: Run,
  ending: Outcome,
  warnings: readonly string[],
  commit: string | undefined,
): NonNullable<Conclusion['history']> {
  const { world, config, record } = run;
  const { baseline, measured } = record;
  const touched = baseline !== undefined && measured !== undefined && measured.tree !== baseline.tree;
  return {
    meta: buildMeta(run, ending, {
      configSha256: world.sha256(run.configText),
      containment: world.spawn.containment(),
      warnings,
      commit,
    }),
    ...(config.history.include_verify_log && { verify_log: record.verifyLog.join('\n') }),
    ...(config.history.include_diff_patch && { patch: touched ? [baseline.tree, measured.tree] : null }),
  };
}

/** Where a conclusion is published. */
export type Desk = Pick<Run, 'world' | 'config' | 'repository' | 'workspace' | 'git'>;

/** Writes both reports and the history entry, each whole or not at all; only REPORT.json has to succeed. Safe to do again. */
export async function publish(desk: Desk, { report, blocked, history }: Conclusion): Promise<string> {
  const { world, config, workspace } = desk;
  await world.files.writeJson(world.join(workspace, 'REPORT.json'), report);
  // From here on nothing changes the verdict any more.
  const reportMd = renderReport(report, config.runner.render_report_md.max_chars);
  await attempt(world, 'write REPORT.md', () => writeMarkdown(world, workspace, config, reportMd));
  if (history !== undefined) await attempt(world, 'write the history', () => writeHistory(desk, report, history));
  if (blocked !== undefined) await world.files.writeJson(world.join(workspace, 'BLOCKED.json'), blocked);
  return reportMd;
}

/** Does what changes no verdict; that it failed is only said. */
export async function attempt(world: World, what: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    world.log.error(`could not ${what}`, { error });
    world.say('REPORT', `could not ${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Everything about the tick that later commands and people may ask for: a folder that is there is complete. */
async function writeHistory(
  { world, config, repository, git }: Desk,
  report: Report,
  { meta, verify_log: log, patch }: NonNullable<Conclusion['history']>,
): Promise<void> {
  const { files, join } = world;
  const all = join(repository.mainTree, config.history.dir);
  const folder = join(all, meta.run_id);
  if (await files.exists(folder)) return;
  const draft = join(all, draftName(meta.run_id));
  await files.removeTree(draft);
  await files.ensureDir(draft);
  await files.writeJson(join(draft, 'meta.json'), meta);
  await files.writeJson(join(draft, 'report.json'), report);
  await files.writeAtomic(join(draft, 'report.md'), renderReport(report, config.runner.render_report_md.max_chars));
  if (log !== undefined) await files.writeAtomic(join(draft, 'verify.log'), log);
  if (patch === null) await files.writeAtomic(join(draft, 'diff.patch'), '');
  else if (patch !== undefined) await git.patch(...patch, join(draft, 'diff.patch'), MAX_PATCH);
  await files.move(draft, folder);
}

/** Entries that were never finished are found by their names. */
function draftName(runId: string): string {
  return `.${runId}.tmp`;
}

/** Removes history entries that were never finished. */
export async function removeDrafts({ world, config, repository }: Omit<Desk, 'workspace' | 'git'>): Promise<void> {
  const folder = world.join(repository.mainTree, config.history.dir);
  for (const name of await world.files.list(folder))
    if (/^\..+\.tmp$/.test(name)) await world.files.removeTree(world.join(folder, name));
}
