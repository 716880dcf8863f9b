import { describe, expect, test } from 'vitest';
import { PREFLIGHT_ROWS, type PreflightFacts } from '../../src/rules/preflight.js';
import { decide, decideAll } from '../../src/rules/table.js';
import { testRows } from './rows.js';

const QUIET: PreflightFacts = {
  config: { state: 'ok' },
  git: { ok: true },
  lock: { state: 'free' },
  dirty: [],
  historyBytes: 0,
  historyCapBytes: 100,
  invalidFiles: [],
  budget: [],
  now: '2030-01-01T12:00:00.000Z',
};

function facts(change: Partial<PreflightFacts>): PreflightFacts {
  return { ...QUIET, ...change };
}

/** Takes over from the right whatever differs there from the quiet facts. */
function join(left: PreflightFacts, right: PreflightFacts): PreflightFacts {
  const changed = Object.entries(right).filter(([key, value]) => value !== QUIET[key as keyof PreflightFacts]);
  return { ...left, ...Object.fromEntries(changed) };
}

describe('A1', () => {
  testRows({
    rows: PREFLIGHT_ROWS,
    quiet: QUIET,
    join,
    firing: {
      config: {
        facts: facts({ config: { state: 'missing', why: ['relais.config.json is not there'] } }),
        evidence: ['relais.config.json is not there'],
      },
      git: { facts: facts({ git: { ok: false, why: 'no repository' } }), evidence: ['no repository'] },
      lock: { facts: facts({ lock: { state: 'held', why: 'pid 7' } }), evidence: ['pid 7'] },
      journal: {
        facts: facts({ journal: { run_id: 'R1', phase: 'build' } }),
        evidence: ['the tick R1 was interrupted in BUILD'],
      },
      dirty: { facts: facts({ dirty: ['?? x', 'merge is in progress'] }), evidence: ['?? x', 'merge is in progress'] },
      history: {
        facts: facts({ historyBytes: 101 }),
        evidence: ['the history holds 101 bytes, the cap is 100'],
      },
      crash_artifacts: {
        facts: facts({ invalidFiles: ['relais/STATE.json: not JSON'] }),
        evidence: ['relais/STATE.json: not JSON'],
      },
      budget: { facts: facts({ budget: ['ticks: 5 of 5 used'] }), evidence: ['ticks: 5 of 5 used'] },
      pending_question: {
        facts: facts({ pendingQuestion: 'Which\n one?' }),
        evidence: ['waiting for an answer: Which one?'],
      },
    },
  });

  test('status sees every row that fires', () => {
    const all = facts({
      config: { state: 'invalid', why: ['x'] },
      git: { ok: false, why: 'x' },
      lock: { state: 'held' },
      journal: { run_id: 'R', phase: 'judge' },
      dirty: ['x'],
      historyBytes: 1000,
      invalidFiles: ['x'],
      budget: ['x'],
      pendingQuestion: 'x',
    });
    expect(decideAll(PREFLIGHT_ROWS, all).map(({ id }) => id)).toEqual(PREFLIGHT_ROWS.map(([id]) => id));
  });
});

describe('the config', () => {
  test.each(['missing', 'unreadable', 'invalid'] as const)('%s is said even without a reason', (state) => {
    const fired = decide(PREFLIGHT_ROWS, facts({ config: { state, why: [] } }));
    expect(fired?.outcome.code).toBe('BLOCKED_MISSING_CONFIG');
    expect(fired?.outcome.evidence).toEqual([`relais.config.json is ${state}`]);
  });
});

describe('the lock', () => {
  test.each(['free', 'stale', 'mine'] as const)('%s lets a tick start', (state) => {
    expect(decide(PREFLIGHT_ROWS, facts({ lock: { state } }))).toBeUndefined();
  });

  test('a damaged one holds, with its own remedy', () => {
    const fired = decide(PREFLIGHT_ROWS, facts({ lock: { state: 'corrupt' } }));
    expect(fired?.outcome.code).toBe('BLOCKED_LOCK_HELD');
    expect(fired?.outcome.evidence).toEqual(['the lock is corrupt']);
    expect(fired?.outcome.remedy).toMatch(/`relais unlock`/);
    expect(decide(PREFLIGHT_ROWS, facts({ lock: { state: 'held' } }))?.outcome).not.toHaveProperty('remedy');
  });
});

describe('the history', () => {
  test('exactly the cap is allowed', () => {
    expect(decide(PREFLIGHT_ROWS, facts({ historyBytes: 100 }))).toBeUndefined();
  });
});

describe('a provider’s limit', () => {
  const notBefore = '2030-01-01T12:00:00.001Z';

  test('blocks until its time, and says when', () => {
    const fired = decide(PREFLIGHT_ROWS, facts({ notBefore }));
    expect(fired?.outcome).toMatchObject({ code: 'BLOCKED_BUDGET_EXHAUSTED', notBefore });
    expect(fired?.outcome.evidence).toEqual([`the provider's limit lasts until ${notBefore}`]);
  });

  test('is over at its time, whatever zone it was written in', () => {
    expect(decide(PREFLIGHT_ROWS, facts({ notBefore: QUIET.now }))).toBeUndefined();
    expect(decide(PREFLIGHT_ROWS, facts({ notBefore: '2030-01-01T14:00:00+02:00' }))).toBeUndefined();
    expect(decide(PREFLIGHT_ROWS, facts({ notBefore: '2030-01-01T14:00:00+01:00' }))?.id).toBe('budget');
  });

  test('that can’t be read counts as not over', () => {
    expect(decide(PREFLIGHT_ROWS, facts({ notBefore: 'soon' }))?.id).toBe('budget');
  });

  test('that is over gives an exhausted budget no time', () => {
    const fired = decide(PREFLIGHT_ROWS, facts({ notBefore: '2029-01-01T00:00:00Z', budget: ['x'] }));
    expect(fired?.outcome.evidence).toEqual(['x']);
    expect(fired?.outcome).not.toHaveProperty('notBefore');
  });
});
