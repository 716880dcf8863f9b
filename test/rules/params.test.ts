import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Config, Task } from '../../src/generated/types.js';
import { expand } from '../../src/rules/params.js';
import { oneOf, sampleConfig, sampleTask } from './samples.js';

type Params = NonNullable<Task['verification']['params']>;

const TEMPLATES = [
  { id: 'lint', cmd: 'npm', args: ['run', 'lint'] },
  { id: 'pkg', cmd: 'npm', args: ['test', '--workspace={{pkg}}'], params: { pkg: { kind: 'string_token' } } },
  { id: 'file', cmd: 'npm', args: ['test', '--', '{{file}}'], params: { file: { kind: 'path' } } },
  {
    id: 'two',
    cmd: 'x',
    args: ['{{a}}:{{b}}', '{{a}}'],
    params: { a: { kind: 'string_token' }, b: { kind: 'path' } },
  },
];

function config(change: (verification: Record<string, any>) => void = () => undefined): Config {
  return sampleConfig((raw) => {
    raw['verification'].templates = structuredClone(TEMPLATES);
    change(raw['verification']);
  });
}

function task(verification: Partial<Task['verification']>): Task {
  return sampleTask({ verification: { fast: [], slow: [], ...verification } });
}

function problemsOf(
  value: Params[string][string],
  change?: (verification: Record<string, any>) => void,
): readonly string[] {
  const expanded = expand(config(change), task({ fast: ['pkg'], params: { pkg: { pkg: value } } }));
  return expanded.ok ? [] : expanded.problems;
}

function pathProblemsOf(value: string): readonly string[] {
  const expanded = expand(config(), task({ fast: ['file'], params: { file: { file: value } } }));
  return expanded.ok ? [] : expanded.problems;
}

describe('expanding', () => {
  test('fast comes before slow, with each phase’s own time', () => {
    const expanded = expand(
      config(),
      task({ slow: ['lint'], fast: ['file', 'lint'], params: { file: { file: 'a/b.ts' } } }),
    );
    expect(expanded).toEqual({
      ok: true,
      checks: [
        {
          template_id: 'file',
          phase: 'fast',
          cmd: 'npm',
          args: ['test', '--', 'a/b.ts'],
          timeout_ms: 90_000,
          pathParams: ['a/b.ts'],
        },
        { template_id: 'lint', phase: 'fast', cmd: 'npm', args: ['run', 'lint'], timeout_ms: 90_000, pathParams: [] },
        { template_id: 'lint', phase: 'slow', cmd: 'npm', args: ['run', 'lint'], timeout_ms: 600_000, pathParams: [] },
      ],
    });
  });

  test('several placeholders in one argument, and one in several arguments', () => {
    const expanded = expand(config(), task({ fast: ['two'], params: { two: { a: 'x', b: 'p/q' } } }));
    expect(expanded).toMatchObject({ ok: true, checks: [{ args: ['x:p/q', 'x'], pathParams: ['p/q'] }] });
  });

  test('a value is put in as it is, not as a replacement pattern', () => {
    const loose = (verification: Record<string, any>) => (verification['reject_metachars_regex'] = '[;]');
    const expanded = expand(config(loose), task({ fast: ['pkg'], params: { pkg: { pkg: "$&$'{{pkg}}" } } }));
    expect(expanded).toMatchObject({ ok: true, checks: [{ args: ['test', "--workspace=$&$'{{pkg}}"] }] });
  });

  test('no checks are no problem', () => {
    expect(expand(config(), task({}))).toEqual({ ok: true, checks: [] });
  });
});

describe('what lets nothing run', () => {
  test.each([
    ['an unknown template', { fast: ['nope'] }, 'fast: there is no template "nope" in the config'],
    ['a name every object has', { slow: ['constructor'] }, 'slow: there is no template "constructor" in the config'],
    ['a template twice in a phase', { fast: ['lint', 'lint'] }, 'template "lint" is listed twice in fast'],
    ['a missing parameter', { fast: ['pkg'] }, 'pkg: "pkg" is missing'],
    [
      'a name the parameters only inherit',
      { fast: ['pkg'], params: { pkg: { toString: 'x' } } },
      'pkg: "toString" is not a parameter of the template',
    ],
    ['an unknown parameter', { params: { lint: { x: 'y' } } }, 'lint: "x" is not a parameter of the template'],
    ['parameters for no template', { params: { 'no\npe': {} } }, 'parameters for the unknown template "no pe"'],
    [
      'a bad value for a check that is not asked for',
      { params: { pkg: { pkg: 'a;b' } } },
      'pkg: "pkg" has a character that verification.reject_metachars_regex refuses',
    ],
  ] as [string, Partial<Task['verification']>, string][])('%s', (_title, verification, problem) => {
    const expanded = expand(config(), task(verification));
    expect(expanded.ok ? [] : expanded.problems).toContain(problem);
  });

  test('one bad check keeps the good ones from running, and every problem is named once', () => {
    const expanded = expand(config(), task({ fast: ['lint', 'pkg'], slow: ['pkg', 'nope'] }));
    expect(expanded).toEqual({
      ok: false,
      problems: ['pkg: "pkg" is missing', 'slow: there is no template "nope" in the config'],
    });
  });
});

describe('a value', () => {
  test.each([
    [null, 'is null'],
    [7, 'is a number'],
    [true, 'is a boolean'],
    ['', 'is empty'],
    ['x'.repeat(129), 'longer than 128'],
    ['a b', 'white space'],
    ['a\u00a0b', 'white space'],
    ['a\u200bb', 'white space'],
    ['a\u3164b', 'white space'],
    ['a\ufeff', 'white space'],
    ['a\u0000', 'control characters'],
    ['a\u001b[0m', 'control characters'],
    ['a\u0085', 'control characters'],
    ['a\ud800', 'control characters'],
    ['a..b', '".."'],
    ['a;rm', 'reject_metachars_regex'],
    ['$(x)', 'reject_metachars_regex'],
    ['`x`', 'reject_metachars_regex'],
    ['a\\b', 'reject_metachars_regex'],
    ['-rf', 'begins with "-"'],
    ['--', 'begins with "-"'],
  ])('%j is refused', (value, why) => {
    expect(problemsOf(value).join()).toContain(why);
  });

  test.each(['a', '@scope/pkg', 'x'.repeat(128), 'a-b', 'a.b', 'ünï', '%41', '*'])('%j is passed on', (value) => {
    expect(problemsOf(value)).toEqual([]);
  });

  test('the switches work when they are turned off', () => {
    const off = (verification: Record<string, any>) => {
      verification['reject_whitespace_in_params'] = false;
      verification['reject_dotdot'] = false;
      verification['max_param_len'] = 5;
      verification['reject_metachars_regex'] = '[x]';
    };
    expect(problemsOf('a b', off)).toEqual([]);
    expect(problemsOf('a..b', off)).toEqual([]);
    expect(problemsOf('a;b', off)).toEqual([]);
    expect(problemsOf('abcdef', off).join()).toContain('longer than 5');
    expect(problemsOf('axb', off).join()).toContain('reject_metachars_regex');
    expect(problemsOf('a\u0000', off).join()).toContain('control characters');
  });

  test('may begin with "-" where the template puts it after "--"', () => {
    expect(pathProblemsOf('-x')).toEqual([]);
  });
});

describe('a path', () => {
  test.each(['/etc/passwd', '~/x', 'C:/x', 'a/../..', '..'])('%j is refused', (value) => {
    expect(pathProblemsOf(value)).toHaveLength(1);
  });

  test('may never lead up, even where two dots are allowed', () => {
    const loose = (verification: Record<string, any>) => (verification['reject_dotdot'] = false);
    const of = (value: string) => expand(config(loose), task({ fast: ['file'], params: { file: { file: value } } })).ok;
    expect(of('a/../b')).toBe(false);
    expect(of('a/b..c')).toBe(true);
  });
});

describe('taint', () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: oneOf('ab-./\\;&|$><(){}[]` \n\t\0\u0085\u2028é', '\ud800'), maxLength: 8 }),
    fc.constantFrom(null, true, 0, -1),
  );

  test('a tainted value never reaches an argument', () => {
    fc.assert(
      fc.property(fc.constantFrom('pkg', 'file'), nasty, (id, value) => {
        const expanded = expand(config(), task({ fast: [id], params: { [id]: { [id]: value } } }));
        if (!expanded.ok) return expanded.problems.length > 0;
        expect(typeof value).toBe('string');
        const text = String(value);
        expect(expanded.checks[0]?.args.at(-1)).toBe(id === 'pkg' ? `--workspace=${text}` : text);
        expect(text).not.toBe('');
        expect(text.length).toBeLessThanOrEqual(128);
        expect(text).not.toMatch(/[;&|$\\><(){}[\]`\s]|\.\./);
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        expect(() => encodeURIComponent(text)).not.toThrow();
        expect(text.startsWith(id === 'pkg' ? '-' : '/')).toBe(false);
        return true;
      }),
      { numRuns: 1000 },
    );
  });

  test('whatever a task asks for, it is expanded completely or not at all', () => {
    const ids = fc.constantFrom('lint', 'pkg', 'file', 'two', 'nope', '__proto__', 'constructor');
    const keys = fc.constantFrom('pkg', 'file', 'a', 'b', 'toString');
    const values = fc.oneof(fc.constantFrom<Params[string][string]>('ok', 'a/b', '-x', '{{a}}', null, 1), fc.string());
    const asked = fc.record({
      fast: fc.array(ids, { maxLength: 4 }),
      slow: fc.array(ids, { maxLength: 4 }),
      params: fc.dictionary(ids, fc.dictionary(keys, values)),
    });
    fc.assert(
      fc.property(asked, (verification) => {
        const expanded = expand(config(), task(verification));
        if (!expanded.ok) return expanded.problems.length > 0;
        const ran = expanded.checks.map(({ phase, template_id }) => [phase, template_id]);
        expect(ran).toEqual([
          ...verification.fast.map((id) => ['fast', id]),
          ...verification.slow.map((id) => ['slow', id]),
        ]);
        return expanded.checks.every(({ args }) => args.every((arg) => !arg.includes('{{')));
      }),
      { numRuns: 1000 },
    );
  });
});
