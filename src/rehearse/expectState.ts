import type { State } from '../generated/types.js';
import { checkState } from '../schemas.js';
import type { Expectation } from './fixture.js';
import type { Played } from './play.js';

const COUNTERS = ['ticks', 'orchestrator_calls', 'builder_calls', 'verify_runs'] as const;

/** How STATE.json fails to tell what was really called and run, measured from the state before. */
export function budgetProblems(played: Played, expect: Expectation, text: string | undefined): string[] {
  const spent: Readonly<Record<(typeof COUNTERS)[number], number>> = {
    ticks: expect.ticks ?? Math.min(1, expect.calls.orchestrator),
    orchestrator_calls: played.calls['orchestrator'] ?? 0,
    builder_calls: played.calls['builder'] ?? 0,
    verify_runs: played.checks,
  };
  const before = countersIn(played.stateBefore);
  if (text === undefined)
    return Object.values(spent).some((count) => count > 0) ? ['there is no relais/STATE.json'] : [];
  const checked = checkState(JSON.parse(text));
  if (!checked.ok) return checked.errors.map((error) => `STATE.json: ${error}`);
  const after = countersIn(text);
  return COUNTERS.filter((name) => (after?.[name] ?? 0) - (before?.[name] ?? 0) !== spent[name]).map(
    (name) =>
      `STATE.json counts ${(after?.[name] ?? 0) - (before?.[name] ?? 0)} ${name} more instead of ${spent[name]}`,
  );
}

function countersIn(text: string | undefined): State['milestones'][number] | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as State).milestones[0];
}
