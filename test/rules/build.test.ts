import { describe, expect, test } from 'vitest';
import { BUILD_ROWS, type BuildFacts } from '../../src/rules/build.js';
import { decide } from '../../src/rules/table.js';
import { testRows } from './rows.js';

const answered = { kind: 'answered' } as const;
const failed: BuildFacts = {
  mode: 'agent',
  result: { kind: 'failed', class: 'exit', message: 'exit 1' },
  problems: [],
};

describe('A3', () => {
  testRows<BuildFacts>({
    rows: BUILD_ROWS,
    quiet: { mode: 'agent', result: answered, problems: [] },
    join: (left, right) =>
      left.mode === 'agent' && right.mode === 'agent'
        ? { ...left, problems: [...left.problems, ...right.problems] }
        : left,
    exclusive: [
      ['call_failed', 'patch_refused'],
      ['patch_refused', 'output_invalid'],
    ],
    firing: {
      call_failed: { facts: failed, evidence: ['the builder call failed (exit): exit 1'] },
      patch_refused: {
        facts: { mode: 'patch', applied: false, why: 'error: src/a.ts:\n  does not match' },
        evidence: ["the task's patch does not apply: error: src/a.ts: does not match"],
      },
      output_invalid: {
        facts: { mode: 'agent', result: answered, problems: ['the answer is empty'] },
        evidence: ['the answer is empty'],
      },
    },
  });

  test('a patch that applies ends nothing', () => {
    expect(decide(BUILD_ROWS, { mode: 'patch', applied: true, why: '' })).toBeUndefined();
  });

  test('a patch that is refused without a word still has evidence', () => {
    const fired = decide(BUILD_ROWS, { mode: 'patch', applied: false, why: ' \n' });
    expect(fired?.outcome.evidence).toEqual(["the task's patch does not apply"]);
  });

  test('a limit says until when', () => {
    const result = { kind: 'limited', message: 'usage', until: '2030-01-01T00:00:00Z' } as const;
    expect(decide(BUILD_ROWS, { mode: 'agent', result, problems: [] })?.outcome.notBefore).toBe('2030-01-01T00:00:00Z');
  });
});
