import { describe, expect, test } from 'vitest';
import { decide } from '../../src/rules/table.js';
import { VERIFY_ROWS, type VerifyFacts } from '../../src/rules/verify.js';
import { testRows } from './rows.js';

const QUIET: VerifyFacts = {
  problems: [],
  failedFast: [],
  failedSlow: [],
  headMoved: [],
  task_kind: 'execute',
  created: [],
  changed: [],
};

function facts(change: Partial<VerifyFacts>): VerifyFacts {
  return { ...QUIET, ...change };
}

describe('A5', () => {
  testRows({
    rows: VERIFY_ROWS,
    quiet: facts({ task_kind: 'execute', created: ['coverage.txt'] }),
    join: (left, right) => ({
      problems: [...left.problems, ...right.problems],
      failedFast: [...left.failedFast, ...right.failedFast],
      failedSlow: [...left.failedSlow, ...right.failedSlow],
      headMoved: [...left.headMoved, ...right.headMoved],
      task_kind: left.task_kind === 'execute' ? right.task_kind : left.task_kind,
      created: [...left.created, ...right.created],
      changed: [...left.changed, ...right.changed],
    }),
    exclusive: [['question_changed', 'verify_only_changed']],
    firing: {
      tainted: { facts: facts({ problems: ['no template "x"'] }), evidence: ['no template "x"'] },
      failed_fast: { facts: facts({ failedFast: ['lint exited with 1'] }), evidence: ['lint exited with 1'] },
      failed_slow: { facts: facts({ failedSlow: ['test timed out'] }), evidence: ['test timed out'] },
      head_moved: { facts: facts({ headMoved: ['HEAD moved'] }), evidence: ['HEAD moved'] },
      question_changed: {
        facts: facts({ task_kind: 'question', created: ['x\n'] }),
        evidence: ['x\\x0a: changed while the checks ran'],
      },
      verify_only_changed: {
        facts: facts({ task_kind: 'verify_only', changed: ['a'], created: ['b'] }),
        evidence: ['a: changed while the checks ran', 'b: changed while the checks ran'],
      },
      changed_by_checks: { facts: facts({ changed: ['a'] }), evidence: ['a: changed while the checks ran'] },
    },
  });

  test('what the checks of an execute task create is not taint, what they change is', () => {
    const fired = decide(VERIFY_ROWS, facts({ task_kind: 'execute', created: ['b'], changed: ['a'] }));
    expect(fired?.id).toBe('changed_by_checks');
    expect(fired?.outcome.evidence).toEqual(['a: changed while the checks ran']);
  });
});
