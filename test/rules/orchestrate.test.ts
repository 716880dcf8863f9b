import { describe, expect, test } from 'vitest';
import { callProblems, limitOf, ORCHESTRATE_ROWS, type OrchestrateFacts } from '../../src/rules/orchestrate.js';
import { decide } from '../../src/rules/table.js';
import { testRows } from './rows.js';

const QUIET: OrchestrateFacts = { result: { kind: 'answered' }, problems: [], retriesLeft: 0 };

function facts(change: Partial<OrchestrateFacts>): OrchestrateFacts {
  return { ...QUIET, ...change };
}

describe('A2', () => {
  testRows({
    rows: ORCHESTRATE_ROWS,
    quiet: QUIET,
    join: (left, right) => ({
      ...left,
      result: left.result.kind === 'answered' ? right.result : left.result,
      problems: [...left.problems, ...right.problems],
    }),
    exclusive: [['call_failed', 'result_missing']],
    firing: {
      call_failed: {
        facts: facts({ result: { kind: 'failed', class: 'exit', message: 'exit 1' } }),
        evidence: ['the orchestrator call failed (exit): exit 1'],
      },
      result_missing: {
        facts: facts({ result: { kind: 'failed', class: 'empty', message: 'no result' } }),
        evidence: ['the orchestrator call failed (empty): no result'],
      },
      task_invalid: { facts: facts({ problems: ['no JSON'] }), evidence: ['no JSON'] },
    },
  });

  test('an invalid task is no ending while a retry is left', () => {
    expect(decide(ORCHESTRATE_ROWS, facts({ problems: ['no JSON'], retriesLeft: 1 }))).toBeUndefined();
  });

  test('a failed call is an ending although a retry is left', () => {
    const result = { kind: 'timed_out', message: 'slow' } as const;
    expect(decide(ORCHESTRATE_ROWS, facts({ result, retriesLeft: 1 }))?.id).toBe('call_failed');
  });

  test('a limit says until when', () => {
    const result = { kind: 'limited', message: 'usage', until: '2030-01-01T00:00:00Z' } as const;
    const fired = decide(ORCHESTRATE_ROWS, facts({ result }));
    expect(fired?.outcome).toMatchObject({ code: 'STOP_INTERRUPTED', notBefore: '2030-01-01T00:00:00Z' });
    expect(limitOf({ kind: 'limited', message: 'usage' })).toEqual({ notBefore: undefined });
    expect(limitOf({ kind: 'answered' })).toEqual({});
  });
});

describe('a call without an answer', () => {
  test.each([
    [{ kind: 'failed', class: 'api', message: 'x' }, 'the builder call failed (api): x'],
    [{ kind: 'limited', message: 'x' }, 'the builder call met a limit: x'],
    [{ kind: 'timed_out', message: 'x' }, 'the builder call ran out of time: x'],
    [{ kind: 'interrupted', message: 'x\u001b[31m\ny' }, 'the builder call was interrupted: x[31m y'],
  ] as const)('%j', (result, line) => {
    expect(callProblems('builder', result)).toEqual([line]);
  });

  test('one with an answer has no problem', () => {
    expect(callProblems('builder', { kind: 'answered' })).toEqual([]);
  });
});
