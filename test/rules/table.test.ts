import { describe, expect, test } from 'vitest';
import { CODES } from '../../src/generated/codes.js';
import { BUILD_ROWS } from '../../src/rules/build.js';
import { JUDGE_ROWS } from '../../src/rules/judge.js';
import { ORCHESTRATE_ROWS } from '../../src/rules/orchestrate.js';
import { PREFLIGHT_ROWS } from '../../src/rules/preflight.js';
import { decide, decideAll, type Row } from '../../src/rules/table.js';
import { VERIFY_ROWS } from '../../src/rules/verify.js';
import { documentedRows } from './rows.js';

type Facts = { readonly a: readonly string[]; readonly b: readonly string[] };
const ROWS: readonly Row<Facts>[] = [
  ['first', 'STOP_DIFF_TOO_LARGE', ({ a }) => a],
  ['second', 'BLOCKED_BUDGET_EXHAUSTED', ({ b }) => b, () => ({ remedy: 'wait', notBefore: '2030-01-01T00:00:00Z' })],
];

describe('a table', () => {
  test('a row fires only with evidence', () => {
    expect(decide(ROWS, { a: [], b: [] })).toBeUndefined();
    expect(decide(ROWS, { a: [], b: ['x'] })?.id).toBe('second');
  });

  test('the first row that fires wins, and its evidence is the ending’s', () => {
    const fired = decide(ROWS, { a: ['one', 'two'], b: ['x'] });
    expect(fired?.id).toBe('first');
    expect(fired?.outcome).toMatchObject({ verdict: 'stop', code: 'STOP_DIFF_TOO_LARGE', evidence: ['one', 'two'] });
    expect(fired?.outcome).not.toHaveProperty('remedy');
  });

  test('a row can add a remedy and a time', () => {
    expect(decide(ROWS, { a: [], b: ['x'] })?.outcome).toMatchObject({
      verdict: 'blocked',
      remedy: 'wait',
      notBefore: '2030-01-01T00:00:00Z',
    });
  });

  test('all rows that fire are listed in the table’s order', () => {
    expect(decideAll(ROWS, { a: ['1'], b: ['2'] }).map(({ id }) => id)).toEqual(['first', 'second']);
    expect(decideAll(ROWS, { a: [], b: [] })).toEqual([]);
  });

  test('a row after the one that fires is not asked', () => {
    const rows: readonly Row<null>[] = [
      ['first', 'STOP_INTERRUPTED', () => ['x']],
      [
        'second',
        'STOP_INTERRUPTED',
        () => {
          throw new Error('asked');
        },
      ],
    ];
    expect(decide(rows, null)?.id).toBe('first');
    expect(() => decideAll(rows, null)).toThrow('asked');
  });
});

const TABLES: readonly (readonly [heading: string, rows: readonly (readonly [string, string])[]])[] = [
  ['A1 Preflight', shape(PREFLIGHT_ROWS)],
  ['A2 Orchestrate', shape(ORCHESTRATE_ROWS)],
  ['A3 Build', shape(BUILD_ROWS)],
  ['A4 Judge', shape(JUDGE_ROWS)],
  ['A5 Verify', shape(VERIFY_ROWS)],
];

describe('docs/decision-tables.md', () => {
  test.each(TABLES)('%s lists the rows of the code, in their order', (heading, rows) => {
    expect(documentedRows(heading)).toEqual(rows.map(([id, code], at) => [String(at + 1), id, code]));
  });

  test('no id stands for two rows of one table', () => {
    for (const [heading, rows] of TABLES) expect(new Set(rows.map(([id]) => id)).size, heading).toBe(rows.length);
  });
});

describe('the contract’s order', () => {
  const orders: Readonly<Record<string, readonly string[]>> = {
    'A1 Preflight': [
      'BLOCKED_MISSING_CONFIG',
      'BLOCKED_MISSING_CONFIG',
      'BLOCKED_LOCK_HELD',
      'BLOCKED_CRASH_RECOVERY_REQUIRED',
      'BLOCKED_DIRTY_WORKTREE',
      'BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED',
      'BLOCKED_CRASH_RECOVERY_REQUIRED',
      'BLOCKED_BUDGET_EXHAUSTED',
      'BLOCKED_AWAITING_ANSWER',
    ],
    'A2 Orchestrate': ['STOP_INTERRUPTED', 'STOP_INTERRUPTED', 'BLOCKED_ORCHESTRATOR_OUTPUT_INVALID'],
    'A3 Build': ['STOP_INTERRUPTED', 'STOP_BUILDER_OUTPUT_INVALID', 'STOP_BUILDER_OUTPUT_INVALID'],
    'A4 Judge': [
      'STOP_RUNNER_OWNED_MUTATION',
      'STOP_SCOPE_VIOLATION_FORBIDDEN',
      'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED',
      'STOP_SCOPE_VIOLATION_NEW_FILE',
      'STOP_LOCKFILE_CHANGE_FORBIDDEN',
      'STOP_DIFF_TOO_LARGE',
      'STOP_QUESTION_SIDE_EFFECTS',
      'STOP_VERIFY_ONLY_SIDE_EFFECTS',
      'STOP_HEAD_MOVED',
    ],
    'A5 Verify': [
      'STOP_VERIFY_TAINTED',
      'STOP_VERIFY_FAILED_FAST',
      'STOP_VERIFY_FAILED_SLOW',
      'STOP_HEAD_MOVED',
      'STOP_QUESTION_SIDE_EFFECTS',
      'STOP_VERIFY_ONLY_SIDE_EFFECTS',
      'STOP_VERIFY_TAINTED',
    ],
  };

  test.each(TABLES)('%s', (heading, rows) => {
    expect(rows.map(([, code]) => code)).toEqual(orders[heading]);
  });

  test('every code but SUCCESS belongs to a table', () => {
    const reached = new Set(TABLES.flatMap(([, rows]) => rows.map(([, code]) => code)));
    expect(CODES.filter((code) => !reached.has(code))).toEqual(['SUCCESS']);
  });
});

function shape<F>(rows: readonly Row<F>[]): (readonly [string, string])[] {
  return rows.map(([id, code]) => [id, code]);
}
