import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState } from '../../src/schemas.js';
import {
  charge,
  countersOf,
  emptyCounters,
  emptyState,
  shortfalls,
  summary,
  warned,
  worstCase,
} from '../../src/rules/budget.js';
import { sampleConfig } from './samples.js';

const config = sampleConfig();

describe('the worst case', () => {
  test('holds the retry, both calls’ caps and every template in both phases', () => {
    expect(worstCase(config)).toEqual({
      ticks: 1,
      orchestrator_calls: 2,
      builder_calls: 1,
      verify_runs: 4,
      estimated_cost_usd: 2.3,
    });
  });

  test('needs one call less where no retry is allowed', () => {
    const strict = sampleConfig((raw) => (raw['orchestrator'].max_parse_retries_per_tick = 0));
    expect(worstCase(strict)).toMatchObject({ orchestrator_calls: 1, estimated_cost_usd: 1.9 });
  });

  test('never reserves more checks than a task can name', () => {
    const many = sampleConfig((raw) => {
      raw['verification'].templates = Array.from({ length: 17 }, (_, at) => ({ id: `t${at}`, cmd: 'x', args: [] }));
    });
    expect(worstCase(many).verify_runs).toBe(32);
    expect(worstCase(sampleConfig((raw) => (raw['verification'].templates = []))).verify_runs).toBe(0);
  });
});

describe('a shortfall', () => {
  test.each([
    ['ticks', 199, 200],
    ['orchestrator_calls', 258, 259],
    ['builder_calls', 199, 200],
    ['verify_runs', 596, 597],
    ['estimated_cost_usd', 77.7, 77.71],
  ] as const)('%s: %d still covers a tick, %d does not', (key, enough, tooMuch) => {
    expect(shortfalls(config, { ...emptyCounters('M1'), [key]: enough })).toEqual([]);
    const short = shortfalls(config, { ...emptyCounters('M1'), [key]: tooMuch });
    expect(short).toHaveLength(1);
    expect(short[0]).toMatch(new RegExp(`^milestone "M1": ${key}: ${tooMuch} of .* used, and one tick may need`));
  });

  test('patch attempts block no tick', () => {
    expect(shortfalls(config, { ...emptyCounters('M1'), patch_attempts: 10_000 })).toEqual([]);
  });
});

describe('the warning', () => {
  test('begins exactly at the share', () => {
    expect(warned(config, { ...emptyCounters('M1'), ticks: 159 })).toEqual([]);
    expect(warned(config, { ...emptyCounters('M1'), ticks: 160 })).toEqual(['budget critical: ticks: 160 of 200 used']);
  });

  test('is not lost to a product of fractions', () => {
    const small = sampleConfig((raw) => {
      raw['budgets'].warn_at_fraction = 0.1;
      raw['budgets'].per_milestone.max_estimated_cost_usd = 3;
    });
    expect(warned(small, { ...emptyCounters('M1'), estimated_cost_usd: 0.3 })).toHaveLength(1);
  });

  test('needs something spent', () => {
    const none = sampleConfig((raw) => (raw['budgets'].warn_at_fraction = 0));
    expect(warned(none, emptyCounters('M1'))).toEqual([]);
  });
});

describe('the summary', () => {
  test('has a line for every budget and never less than nothing left', () => {
    const text = summary(config, { ...emptyCounters('M1'), ticks: 300, patch_attempts: 3, estimated_cost_usd: 0.1 });
    expect(text.split('\n')).toEqual([
      'ticks: 300 of 200 used, 0 left',
      'orchestrator_calls: 0 of 260 used, 260 left',
      'builder_calls: 0 of 200 used, 200 left',
      'verify_runs: 0 of 600 used, 600 left',
      'estimated_cost_usd: 0.1 of 80 used, 79.9 left',
      'patch_attempts: 3 of 10 used, 7 left',
    ]);
  });
});

describe('charging', () => {
  test('raises one milestone and leaves the others and the old state alone', () => {
    const before = charge(emptyState(), 'M0', { ticks: 2 });
    const after = charge(charge(before, 'M1', { ticks: 1 }), 'M1', { orchestrator_calls: 1, estimated_cost_usd: 0.4 });
    expect(before.milestones).toHaveLength(1);
    expect(countersOf(after, 'M0')).toMatchObject({ ticks: 2, orchestrator_calls: 0 });
    expect(countersOf(after, 'M1')).toMatchObject({ ticks: 1, orchestrator_calls: 1, estimated_cost_usd: 0.4 });
    expect(countersOf(after, 'M2')).toEqual(emptyCounters('M2'));
    expect(checkState(after).ok).toBe(true);
  });

  test('a cap is settled to the real cost without drift', () => {
    const reserved = charge(emptyState(), 'M1', { estimated_cost_usd: 0.4 });
    const settled = charge(reserved, 'M1', { estimated_cost_usd: 0.1 - 0.4 });
    expect(countersOf(settled, 'M1').estimated_cost_usd).toBe(0.1);
  });

  test.each([{ ticks: -1 }, { builder_calls: 0.5 }, { verify_runs: Number.NaN }, { estimated_cost_usd: Infinity }])(
    '%j is a mistake of the caller',
    (delta) => {
      expect(() => charge(emptyState(), 'M1', delta)).toThrow(RangeError);
    },
  );

  test('counts never fall, and the cost never below nothing', () => {
    const counts = fc.nat({ max: 50 });
    const deltas = fc.array(
      fc.record(
        {
          ticks: counts,
          orchestrator_calls: counts,
          builder_calls: counts,
          verify_runs: counts,
          patch_attempts: counts,
          estimated_cost_usd: fc.double({ min: -5, max: 5, noNaN: true }),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(deltas, (steps) => {
        let state = emptyState();
        for (const step of steps) {
          const before = countersOf(state, 'M1');
          state = charge(state, 'M1', step);
          const after = countersOf(state, 'M1');
          for (const key of ['ticks', 'orchestrator_calls', 'builder_calls', 'verify_runs', 'patch_attempts'] as const)
            expect(after[key]).toBe(before[key] + (step[key] ?? 0));
          expect(after.estimated_cost_usd).toBeGreaterThanOrEqual(0);
        }
        expect(checkState(state).ok).toBe(true);
      }),
    );
  });
});
