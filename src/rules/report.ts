import type { Report, Task } from '../generated/types.js';
import type { Outcome } from '../outcome.js';
import type { Counters } from './budget.js';
import { blastRadius, JUDGE_ROWS, type TouchedPath } from './judge.js';
import { clean, cut, oneLine, visible } from './text.js';

/** One check that was started, as it is reported. */
export interface RunFacts {
  readonly template_id: string;
  readonly phase: 'fast' | 'slow';
  readonly cmd: string;
  readonly args: readonly string[];
  readonly exit_code: number;
  readonly duration_ms: number;
  readonly timed_out: boolean;
}

/** Everything a report is made from, uncut. */
export interface ReportFacts {
  readonly run_id: string;
  readonly started_at: string;
  readonly ended_at: string;
  readonly duration_ms: number;
  readonly base_commit: string;
  readonly head_commit: string;
  /** Absent when the tick ended before a task was accepted. */
  readonly task?: Task;
  readonly milestone_id: string;
  readonly outcome: Outcome;
  readonly touched: readonly TouchedPath[];
  readonly violations: readonly string[];
  readonly runs: readonly RunFacts[];
  readonly counters: Counters;
  readonly warnings: readonly string[];
  readonly paths: {
    readonly report_md?: string;
    readonly history?: string;
    readonly diff_patch: string;
    readonly verify_log: string;
  };
}

/** What stands in a report whose tick had no task. */
export const NO_TASK = {
  task_id: '(none)',
  task_kind: 'execute',
  intent: '(the tick ended before a task was accepted)',
} as const;

const NONE = '(none)';

/** The one report of a tick. It always fits the schema: what is too long is cut, and the cut is stated. */
export function buildReport(facts: ReportFacts): Report {
  const radius = blastRadius(facts.touched);
  const { code, verdict } = facts.outcome;
  return {
    run_id: facts.run_id,
    started_at: facts.started_at,
    ended_at: facts.ended_at,
    duration_ms: count(facts.duration_ms),
    base_commit: facts.base_commit,
    head_commit: facts.head_commit,
    task: taskOf(facts),
    verdict,
    code,
    blast_radius: radius,
    scope: {
      ok: !JUDGE_ROWS.some(([, judged]) => judged === code),
      violations: listed(facts.violations.map(oneLine), { items: 200, chars: 200 }),
      touched_paths: listed(
        facts.touched.map(({ path }) => visible(path)),
        { items: 500, chars: 400 },
      ),
    },
    diff: {
      files_changed: radius.files_touched,
      lines_changed: radius.lines_added + radius.lines_deleted,
      diff_patch_path: text(facts.paths.diff_patch, 300),
    },
    verification: {
      exec_mode: 'argv_no_shell',
      runs: facts.runs.slice(0, 40).map(runOf),
      verify_log_path: text(facts.paths.verify_log, 300),
    },
    budgets: budgetsOf(facts),
    pointers: {
      ...(facts.paths.report_md !== undefined && { report_md_path: facts.paths.report_md }),
      ...(facts.paths.history !== undefined && { history_dir: facts.paths.history }),
    },
  };
}

function taskOf({ task, milestone_id }: ReportFacts): Report['task'] {
  if (task === undefined) return { ...NO_TASK, milestone_id: clean(milestone_id) };
  return {
    task_id: clean(task.task_id),
    milestone_id: clean(task.milestone_id),
    task_kind: task.task_kind,
    intent: clean(task.intent),
  };
}

function budgetsOf({ counters, warnings, runs }: ReportFacts): Report['budgets'] {
  const cutRuns = runs.length > 40 ? [`${runs.length - 40} more checks ran than are listed`] : [];
  return {
    milestone_id: clean(counters.milestone_id),
    ticks: count(counters.ticks),
    orchestrator_calls: count(counters.orchestrator_calls),
    builder_calls: count(counters.builder_calls),
    verify_runs: count(counters.verify_runs),
    estimated_cost_usd: Math.max(0, counters.estimated_cost_usd),
    warnings: listed([...cutRuns, ...warnings.map(oneLine)], { items: 20, chars: 200 }),
  };
}

function runOf(run: RunFacts): Report['verification']['runs'][number] {
  return {
    template_id: text(visible(run.template_id), 64),
    phase: run.phase,
    cmd: text(visible(run.cmd), 120),
    args: run.args.length > 40 ? [...shown(run.args.slice(0, 39)), `… ${run.args.length - 39} more`] : shown(run.args),
    exit_code: Math.min(255, Math.max(-1, Math.trunc(run.exit_code))),
    duration_ms: count(run.duration_ms),
    timed_out: run.timed_out,
  };
}

function shown(args: readonly string[]): string[] {
  return args.map((arg) => cut(visible(arg), 200));
}

/** Cut to the schema's limits; the last item then says how many are missing. */
function listed(items: readonly string[], max: { readonly items: number; readonly chars: number }): string[] {
  const kept = items.length > max.items ? items.slice(0, max.items - 1) : items;
  const missing = items.length - kept.length;
  return [
    ...kept.map((item) => text(item, max.chars)),
    ...(missing > 0 ? [`… and ${missing} more, cut here; meta.json has all`] : []),
  ];
}

function text(value: string, max: number): string {
  return value === '' ? NONE : cut(value, max);
}

function count(value: number): number {
  return Math.max(0, Math.round(value));
}
