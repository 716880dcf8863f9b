import type { Meta, Report, State } from '../generated/types.js';

/** Rebuilds the counters from history: they only ever rise, so the highest value seen is the latest one. */
export function rebuildState(empty: State, entries: readonly { report: Report; meta: Meta }[]): State {
  const ordered = [...entries].sort((a, b) => a.meta.sequence - b.meta.sequence);
  const milestones = new Map<string, State['milestones'][number]>();
  for (const { report } of ordered) {
    const { warnings: _warnings, ...counters } = report.budgets;
    const known = milestones.get(counters.milestone_id);
    milestones.set(counters.milestone_id, {
      milestone_id: counters.milestone_id,
      ticks: Math.max(counters.ticks, known?.ticks ?? 0),
      orchestrator_calls: Math.max(counters.orchestrator_calls, known?.orchestrator_calls ?? 0),
      builder_calls: Math.max(counters.builder_calls, known?.builder_calls ?? 0),
      verify_runs: Math.max(counters.verify_runs, known?.verify_runs ?? 0),
      patch_attempts: ordered.filter(
        ({ meta }) =>
          meta.task?.milestone_id === counters.milestone_id &&
          meta.task.builder.mode === 'patch' &&
          meta.salvaged_run_id === undefined,
      ).length,
      estimated_cost_usd: Math.max(counters.estimated_cost_usd, known?.estimated_cost_usd ?? 0),
    });
  }
  const last = ordered.at(-1);
  const lastTask = ordered.filter((entry) => entry.meta.task !== null).at(-1);
  return {
    ...empty,
    sequence: last?.meta.sequence ?? 0,
    milestones: [...milestones.values()],
    ...(last !== undefined && { last_run_id: last.meta.run_id }),
    ...(lastTask !== undefined && { last_task_run_id: lastTask.meta.run_id }),
  };
}
