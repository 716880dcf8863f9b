import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CODES } from '../src/generated/codes.js';
import { CODE_MEANING, EXIT_CODE, exitCode, isOutcome, outcome } from '../src/outcome.js';
import { checkAgainst, checkBuilderResult, checkState, checkTask, parseJson } from '../src/schemas.js';

const schemaText = (name: string): string =>
  readFileSync(new URL(`../schemas/${name}.schema.json`, import.meta.url), 'utf8');

function task(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    task_id: 't1',
    milestone_id: 'M1',
    task_kind: 'execute',
    intent: 'do it',
    scope: { allowed_globs: ['src/**'], forbidden_globs: [], allow_new_files: false, allow_lockfile_changes: false },
    diff_limits: { max_files_touched: 5, max_lines_changed: 100 },
    verification: { fast: ['lint'], slow: [] },
    builder: { mode: 'claude_code', max_turns: 4, instructions: 'edit' },
    ...change,
  };
}

const patchBuilder = { mode: 'patch', max_turns: 1, instructions: 'apply', patch: 'diff' };

describe('the task schema', () => {
  test('accepts an ordinary task', () => {
    expect(checkTask(task())).toEqual({ ok: true, value: task() });
  });

  test('accepts an execute task in patch mode', () => {
    expect(checkTask(task({ builder: patchBuilder })).ok).toBe(true);
  });

  test('refuses patch mode without a patch', () => {
    const { patch: _patch, ...builder } = patchBuilder;
    expect(checkTask(task({ builder }))).toEqual({ ok: false, errors: ['missing key "builder.patch"'] });
  });

  test('refuses a question without its prompt, and a question in patch mode', () => {
    expect(checkTask(task({ task_kind: 'question' }))).toEqual({ ok: false, errors: ['missing key "question"'] });
    const both = task({ task_kind: 'question', question: { prompt: 'which?' }, builder: patchBuilder });
    expect(checkTask(both)).toEqual({ ok: false, errors: ['builder.mode must be "claude_code"'] });
  });

  test('names every fault by its place', () => {
    const wrong = task({
      surprise: 1,
      diff_limits: { max_files_touched: 0, max_lines_changed: 1 },
      verification: { fast: [''], slow: [] },
    });
    expect(checkTask(wrong)).toEqual({
      ok: false,
      errors: [
        'unknown key "surprise"',
        'diff_limits.max_files_touched must be >= 1',
        'verification.fast[0] must NOT have fewer than 1 characters',
      ],
    });
  });

  test('decides the same when compiled at run time, for any change of one key', async () => {
    const schema = schemaText('task');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.keys(task()), 'question', 'extra'),
        fc.jsonValue(),
        async (key, value) => {
          const changed = task({ [key]: value });
          expect((await checkAgainst(schema, changed)).ok).toBe(checkTask(changed).ok);
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe('a schema known only at run time', () => {
  test('is used as it stands', async () => {
    const strict = schemaText('builder_result').replace('"maxLength": 800', '"maxLength": 3');
    const value = { summary: 'long', files_intended: [], commands_ran: [], notes: [] };
    expect(checkBuilderResult(value).ok).toBe(true);
    expect(await checkAgainst(strict, value)).toEqual({
      ok: false,
      errors: ['summary must NOT have more than 3 characters'],
    });
  });

  test.each(['', '[]', 'true', '{"type":"strange"}', '{"$ref":"https://example.invalid/x.json"}'])(
    'refuses everything when it is %j',
    async (text) => {
      const checked = await checkAgainst(text, {});
      expect(checked.ok ? '' : checked.errors[0]).toMatch(/^the schema itself is not usable/);
    },
  );
});

describe('JSON from elsewhere', () => {
  test('is read when it is ordinary', () => {
    expect(parseJson(' {"a": [1, "x", null]} ')).toEqual({ ok: true, value: { a: [1, 'x', null] } });
  });

  test('is refused with a key named __proto__, however it is written', () => {
    expect(parseJson('{"a":[{"\\u005f_proto__":1}]}')).toEqual({
      ok: false,
      errors: ['the key "a[0].__proto__" is not allowed'],
    });
  });

  test('is refused when it nests too deep, also when it is not closed', () => {
    expect(parseJson('['.repeat(64) + ']'.repeat(64)).ok).toBe(true);
    expect(parseJson('['.repeat(65) + ']'.repeat(65))).toEqual({ ok: false, errors: ['nested deeper than 64 levels'] });
    expect(parseJson('['.repeat(1_000_000)).ok).toBe(false);
  });

  test('is refused when it is too long', () => {
    expect(parseJson(`"${'x'.repeat(8 * 1024 * 1024)}"`)).toEqual({
      ok: false,
      errors: ['longer than 8388608 characters'],
    });
  });

  test.each([
    ['', `1:1: expected a value, but the text ends`],
    ['{"a":1,}', `1:8: expected a key in double quotes, found "}"`],
    ['{\n  a: 1}', `2:3: expected a key in double quotes or '}', found "a"`],
    ['[1\n2]', `2:1: expected ',' or ']', found "2"`],
    ['[1,]', `1:4: expected a value, found "]"`],
    ['{} x', `1:4: expected nothing more, found "x"`],
    ['{"a": "x\ny"}', `1:7: this string does not end on its line, or holds a wrong escape`],
    ['[01]', `1:2: expected a value, found "0"`],
    ['\ufeff{}', `1:1: expected a value, found "\ufeff"`],
  ])('%j is answered with the place of its first fault', (text, fault) => {
    expect(parseJson(text)).toEqual({ ok: false, errors: [`not JSON at ${fault}`] });
  });

  test('has its fault found behind a string of megabytes', () => {
    const parsed = parseJson(`["${'x\\n'.repeat(1_500_000)}" 1]`);
    expect(parsed.ok ? '' : parsed.errors[0]).toMatch(/expected ',' or ']', found "1"$/);
  });

  test('always gets a place for its fault, whatever one character does to it', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 3 }),
        fc.nat(),
        fc.constantFrom('', '"', '}', ']', ',', '\\', '\n', 'x', '-', '.'),
        (json, where, put) => {
          const at = where % (json.length + 1);
          const parsed = parseJson(json.slice(0, at) + put + json.slice(at + 1));
          expect(parsed.ok || /^(?:not JSON at \d+:\d+: .|the key )/s.test(parsed.errors[0] ?? '')).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('the state schema', () => {
  test('accepts a fresh state and refuses a counter below zero', () => {
    const fresh = { version: '1.0', sequence: 0, budget_warning: false, milestones: [], notices: [] };
    expect(checkState(fresh).ok).toBe(true);
    expect(checkState({ ...fresh, sequence: -1 }).ok).toBe(false);
  });
});

describe('outcomes', () => {
  test('every code has a meaning and a remedy, and its prefix gives the verdict', () => {
    expect(Object.keys(CODE_MEANING).toSorted()).toEqual([...CODES].toSorted());
    for (const code of CODES) {
      expect(outcome(code, []).verdict).toBe((code.split('_')[0] ?? '').toLowerCase());
      expect(CODE_MEANING[code].remedy).not.toBe('');
    }
  });

  test('only outcome() makes one, and a copy stays one', () => {
    const ending = outcome('STOP_HEAD_MOVED', ['refs/heads/x'], { remedy: 'look' });
    expect(isOutcome(ending)).toBe(true);
    expect(isOutcome({ ...ending, evidence: [] })).toBe(true);
    expect(isOutcome({ verdict: 'stop', code: 'STOP_HEAD_MOVED', evidence: [] })).toBe(false);
    expect(isOutcome(null)).toBe(false);
  });

  test.each([
    ['SUCCESS', false, undefined, EXIT_CODE.done],
    ['SUCCESS', true, undefined, EXIT_CODE.waiting],
    ['BLOCKED_AWAITING_ANSWER', true, undefined, EXIT_CODE.waiting],
    ['BLOCKED_LOCK_HELD', false, undefined, EXIT_CODE.blocked],
    ['STOP_DIFF_TOO_LARGE', false, undefined, EXIT_CODE.stop],
    ['STOP_DIFF_TOO_LARGE', false, 'SIGINT', EXIT_CODE.stop],
    ['STOP_INTERRUPTED', false, undefined, EXIT_CODE.stop],
    ['STOP_INTERRUPTED', false, 'SIGINT', 130],
    ['STOP_INTERRUPTED', false, 'SIGTERM', 143],
  ] as const)('%s with pending question %s and signal %s exits %s', (code, pendingQuestion, signal, expected) => {
    expect(exitCode(outcome(code, []), { pendingQuestion, signal })).toBe(expected);
  });
});
