import { describe, expect, test } from 'vitest';
import type { Meta, Report } from '../../src/generated/types.js';
import { outcome } from '../../src/outcome.js';
import { emptyCounters, emptyState } from '../../src/rules/budget.js';
import { rebuildState } from '../../src/rules/rebuild.js';
import { buildReport } from '../../src/rules/report.js';
import { checkState } from '../../src/schemas.js';
import { sampleTask } from './samples.js';

interface Given {
  readonly milestone?: string;
  readonly ticks: number;
  readonly cost?: number;
  readonly mode?: 'claude_code' | 'patch';
  readonly withoutTask?: boolean;
}

function entry(sequence: number, given: Given): { report: Report; meta: Meta } {
  const run_id = `run-0000${sequence}`;
  const milestone_id = given.milestone ?? 'M1';
  const counters = { ...emptyCounters(milestone_id), ticks: given.ticks, estimated_cost_usd: given.cost ?? 0 };
  const report = buildReport({
    run_id,
    started_at: '2030-01-01T00:00:00.000Z',
    ended_at: '2030-01-01T00:00:01.000Z',
    duration_ms: 1000,
    base_commit: '1234567',
    head_commit: '1234567',
    milestone_id,
    outcome: outcome('SUCCESS', []),
    touched: [],
    violations: [],
    runs: [],
    counters,
    warnings: ['kept out'],
    paths: { diff_patch: '(none)', verify_log: '(none)' },
  });
  const builder = { mode: given.mode ?? 'claude_code', max_turns: 1, instructions: 'x' };
  const task = given.withoutTask === true ? null : sampleTask({ milestone_id, builder });
  return { report, meta: { run_id, sequence, task } as Meta };
}

describe('rebuilding the state from history', () => {
  test('no history gives the empty state', () => {
    expect(rebuildState(emptyState(), [])).toEqual(emptyState());
  });

  test('takes the highest counters of each milestone, whatever the order', () => {
    const state = rebuildState(emptyState(), [
      entry(3, { ticks: 3, cost: 1.5 }),
      entry(1, { ticks: 1, cost: 0.5 }),
      entry(2, { ticks: 9, milestone: 'M0' }),
    ]);
    expect(checkState(state).ok).toBe(true);
    expect(state.sequence).toBe(3);
    expect(state.last_run_id).toBe('run-00003');
    expect(state.milestones).toEqual([
      { ...emptyCounters('M1'), ticks: 3, estimated_cost_usd: 1.5 },
      { ...emptyCounters('M0'), ticks: 9 },
    ]);
  });

  test('a counter that was lower later does not lower the result', () => {
    const state = rebuildState(emptyState(), [entry(1, { ticks: 5, cost: 2 }), entry(2, { ticks: 4, cost: 1 })]);
    expect(state.milestones[0]).toMatchObject({ ticks: 5, estimated_cost_usd: 2 });
  });

  test('counts patch attempts from the tasks, which no report holds', () => {
    const state = rebuildState(emptyState(), [
      entry(1, { ticks: 1, mode: 'patch' }),
      entry(2, { ticks: 2 }),
      entry(3, { ticks: 3, mode: 'patch' }),
      entry(4, { ticks: 1, mode: 'patch', milestone: 'M2' }),
    ]);
    expect(state.milestones.map((counters) => counters.patch_attempts)).toEqual([2, 1]);
  });

  test('tells the last tick from the last tick that had a task', () => {
    const state = rebuildState(emptyState(), [entry(1, { ticks: 1 }), entry(2, { ticks: 2, withoutTask: true })]);
    expect(state.last_run_id).toBe('run-00002');
    expect(state.last_task_run_id).toBe('run-00001');
  });
});
