import type { Config, State } from '../generated/types.js';
import { oneLine } from './text.js';

/** What one milestone has spent. */
export type Counters = State['milestones'][number];

/** What is added to a milestone's counters. Only the cost may be negative: a call's cap settled to its real cost. */
export type Delta = Partial<Omit<Counters, 'milestone_id'>>;

/** The most one tick can spend. */
export type Reservation = Omit<Counters, 'milestone_id' | 'patch_attempts'>;

const MOST_CHECKS = 32;
const LIMITED = ['ticks', 'orchestrator_calls', 'builder_calls', 'verify_runs', 'estimated_cost_usd'] as const;

/** The state of a repository in which no tick ever ran. */
export function emptyState(): State {
  return { version: '1.0', sequence: 0, budget_warning: false, milestones: [], notices: [] };
}

/** The counters of a milestone that has spent nothing. */
export function emptyCounters(milestoneId: string): Counters {
  return {
    milestone_id: milestoneId,
    ticks: 0,
    orchestrator_calls: 0,
    builder_calls: 0,
    verify_runs: 0,
    patch_attempts: 0,
    estimated_cost_usd: 0,
  };
}

/** What a milestone has spent so far. */
export function countersOf(state: State, milestoneId: string): Counters {
  return state.milestones.find((counters) => counters.milestone_id === milestoneId) ?? emptyCounters(milestoneId);
}

/** The most one tick can spend: the retry included, every template once per phase. */
export function worstCase(config: Config): Reservation {
  const calls = 1 + config.orchestrator.max_parse_retries_per_tick;
  return {
    ticks: 1,
    orchestrator_calls: calls,
    builder_calls: 1,
    verify_runs: Math.min(MOST_CHECKS, 2 * config.verification.templates.length),
    estimated_cost_usd: round(calls * config.orchestrator.max_budget_usd + config.builder.claude_code.max_budget_usd),
  };
}

/** Which budgets do not cover a worst-case tick; empty if all do. */
export function shortfalls(config: Config, counters: Counters): string[] {
  const need = worstCase(config);
  return LIMITED.filter((key) => round(counters[key] + need[key]) > limit(config, key)).map(
    (key) =>
      `milestone "${oneLine(counters.milestone_id)}": ${share(config, counters, key)}, and one tick may need ${need[key]}`,
  );
}

/** Which budgets have reached the warning share; empty if none has. */
export function warned(config: Config, counters: Counters): string[] {
  const { warn_at_fraction: fraction } = config.budgets;
  const critical = (used: number, most: number): boolean => most > 0 && used > 0 && used >= round(fraction * most);
  const patches = config.builder.patch.max_patch_attempts_per_milestone;
  return [
    ...LIMITED.filter((key) => critical(counters[key], limit(config, key))).map((key) => share(config, counters, key)),
    ...(critical(counters.patch_attempts, patches)
      ? [`patch_attempts: ${counters.patch_attempts} of ${patches} used`]
      : []),
  ].map((line) => `budget critical: ${line}`);
}

/** What is spent and what is left, one line per budget. */
export function summary(config: Config, counters: Counters): string {
  const patches = config.builder.patch.max_patch_attempts_per_milestone;
  const lines = LIMITED.map(
    (key) => `${share(config, counters, key)}, ${round(Math.max(0, limit(config, key) - counters[key]))} left`,
  );
  const left = Math.max(0, patches - counters.patch_attempts);
  return [...lines, `patch_attempts: ${counters.patch_attempts} of ${patches} used, ${left} left`].join('\n');
}

/** The state with a milestone's counters raised. Counts never fall, and the cost never below zero. */
export function charge(state: State, milestoneId: string, delta: Delta): State {
  const before = countersOf(state, milestoneId);
  const after: Counters = {
    milestone_id: milestoneId,
    ticks: raised(before, delta, 'ticks'),
    orchestrator_calls: raised(before, delta, 'orchestrator_calls'),
    builder_calls: raised(before, delta, 'builder_calls'),
    verify_runs: raised(before, delta, 'verify_runs'),
    patch_attempts: raised(before, delta, 'patch_attempts'),
    estimated_cost_usd: settledCost(before, delta),
  };
  const known = state.milestones.some((counters) => counters.milestone_id === milestoneId);
  return {
    ...state,
    milestones: known
      ? state.milestones.map((counters) => (counters.milestone_id === milestoneId ? after : counters))
      : [...state.milestones, after],
  };
}

function raised(before: Counters, delta: Delta, key: Exclude<keyof Delta, 'estimated_cost_usd'>): number {
  const added = delta[key] ?? 0;
  if (!Number.isSafeInteger(added) || added < 0) throw new RangeError(`${key} can't be raised by ${added}`);
  return before[key] + added;
}

function settledCost(before: Counters, delta: Delta): number {
  const added = delta.estimated_cost_usd ?? 0;
  if (!Number.isFinite(added)) throw new RangeError(`the cost can't be raised by ${added}`);
  return Math.max(0, round(before.estimated_cost_usd + added));
}

function limit(config: Config, key: (typeof LIMITED)[number]): number {
  return config.budgets.per_milestone[`max_${key}`];
}

function share(config: Config, counters: Counters, key: (typeof LIMITED)[number]): string {
  return `${key}: ${counters[key]} of ${limit(config, key)} used`;
}

/** Sums of decimal fractions drift; a millionth of a dollar is fine enough. */
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
