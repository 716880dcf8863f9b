import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CODES } from '../../src/generated/codes.js';
import type { Report } from '../../src/generated/types.js';
import { outcome } from '../../src/outcome.js';
import { JUDGE_ROWS } from '../../src/rules/judge.js';
import { buildReport, NO_TASK, type ReportFacts } from '../../src/rules/report.js';
import { renderReport } from '../../src/rules/reportMd.js';
import { checkReport } from '../../src/schemas.js';
import { hostileFacts, ran, reportFacts } from './reportFacts.js';
import { oneOf, sampleTask, touch } from './samples.js';

function valid(facts: ReportFacts): Report {
  const report = buildReport(facts);
  // As it comes back from disk: what JSON can't hold must not be in it.
  const checked = checkReport(JSON.parse(JSON.stringify(report)));
  if (!checked.ok) throw new Error(checked.errors.join('\n'));
  expect(checked.value).toEqual(report);
  return report;
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

describe('a report', () => {
  test('of an ordinary success says it all', () => {
    expect(valid(reportFacts())).toEqual({
      run_id: '20300101T000000Z-abcdef',
      started_at: '2030-01-01T00:00:00.000Z',
      ended_at: '2030-01-01T00:00:05.000Z',
      duration_ms: 5000,
      base_commit: 'a'.repeat(40),
      head_commit: 'b'.repeat(40),
      task: { task_id: 'T1', milestone_id: 'M1', task_kind: 'execute', intent: 'Make the sum right.' },
      verdict: 'success',
      code: 'SUCCESS',
      blast_radius: { files_touched: 1, lines_added: 1, lines_deleted: 1, new_files: 0 },
      scope: { ok: true, violations: [], touched_paths: ['src/sum.js'] },
      diff: {
        files_changed: 1,
        lines_changed: 2,
        diff_patch_path: 'relais/history/20300101T000000Z-abcdef/diff.patch',
      },
      verification: {
        exec_mode: 'argv_no_shell',
        runs: [ran()],
        verify_log_path: 'relais/history/20300101T000000Z-abcdef/verify.log',
      },
      budgets: {
        milestone_id: 'M1',
        ticks: 1,
        orchestrator_calls: 1,
        builder_calls: 1,
        verify_runs: 0,
        estimated_cost_usd: 0.25,
        warnings: [],
      },
      pointers: { report_md_path: 'relais/REPORT.md', history_dir: 'relais/history/20300101T000000Z-abcdef' },
    });
  });

  test('without a task, diff, log or history has its placeholders', () => {
    const { task: _task, ...facts } = reportFacts({
      outcome: outcome('BLOCKED_DIRTY_WORKTREE', ['?? x']),
      violations: ['?? x'],
      touched: [],
      runs: [],
      paths: { diff_patch: '', verify_log: '(none)' },
    });
    const report = valid(facts);
    expect(report.task).toEqual({ ...NO_TASK, milestone_id: 'M1' });
    expect(report.diff.diff_patch_path).toBe('(none)');
    expect(report.verification).toEqual({ exec_mode: 'argv_no_shell', runs: [], verify_log_path: '(none)' });
    expect(report.pointers).toEqual({});
    expect(report.scope).toEqual({ ok: true, violations: ['?? x'], touched_paths: [] });
  });

  test.each(CODES)('%s validates; the scope is violated only by what the Judge finds', (code) => {
    const report = valid(reportFacts({ outcome: outcome(code, ['x']), violations: ['x'] }));
    expect(report.code).toBe(code);
    expect(report.scope.ok).toBe(!JUDGE_ROWS.some(([, judged]) => judged === code));
  });
});

describe('what is too much for the schema', () => {
  test('10,000 touched paths: the list is cut, the cut stated, the blast radius whole', () => {
    const touched = Array.from({ length: 10_000 }, (_, at) => touch(`src/${at}`, { change: 'added' }));
    const report = valid(reportFacts({ touched }));
    expect(report.scope.touched_paths).toHaveLength(500);
    expect(report.scope.touched_paths.slice(-2)).toEqual(['src/498', '… and 9501 more, cut here; meta.json has all']);
    expect(report.blast_radius).toMatchObject({ files_touched: 10_000, new_files: 10_000 });
    expect(report.diff.files_changed).toBe(10_000);
  });

  test('exactly as many as fit are not cut', () => {
    const touched = Array.from({ length: 500 }, (_, at) => touch(`src/${at}`));
    expect(valid(reportFacts({ touched })).scope.touched_paths.at(-1)).toBe('src/499');
    const violations = Array.from({ length: 201 }, (_, at) => `v${at}`);
    expect(valid(reportFacts({ violations })).scope.violations.slice(-2)).toEqual([
      'v198',
      '… and 2 more, cut here; meta.json has all',
    ]);
  });

  test('a path of 5,000 characters is cut and marked', () => {
    const report = valid(reportFacts({ touched: [touch(`src/${'x'.repeat(5000)}`)], violations: ['y'.repeat(5000)] }));
    expect(report.scope.touched_paths[0]).toHaveLength(400);
    expect(report.scope.touched_paths[0]?.endsWith('x…')).toBe(true);
    expect(report.scope.violations[0]).toHaveLength(200);
  });

  test('a check ended by a signal has 128 + n, one that never started -1', () => {
    const runs = [ran({ exit_code: 137 }), ran({ exit_code: -1 }), ran({ exit_code: 999 }), ran({ exit_code: -9 })];
    const report = valid(reportFacts({ outcome: outcome('STOP_VERIFY_FAILED_FAST', ['x']), runs }));
    expect(report.verification.runs.map((run) => run.exit_code)).toEqual([137, -1, 255, -1]);
  });

  test('more checks and arguments than fit are counted', () => {
    const runs = Array.from({ length: 45 }, () => ran({ args: Array.from({ length: 50 }, (_, at) => String(at)) }));
    const report = valid(reportFacts({ runs }));
    expect(report.verification.runs).toHaveLength(40);
    expect(report.verification.runs[0]?.args.slice(-2)).toEqual(['38', '… 11 more']);
    expect(report.budgets.warnings).toEqual(['5 more checks ran than are listed']);
  });

  test('more warnings than fit are counted', () => {
    const warnings = Array.from({ length: 25 }, (_, at) => `w${at}`);
    expect(valid(reportFacts({ warnings })).budgets.warnings.slice(-2)).toEqual([
      'w18',
      '… and 6 more, cut here; meta.json has all',
    ]);
  });

  test('empty evidence is not an empty string', () => {
    expect(valid(reportFacts({ violations: ['', '\u001b'] })).scope.violations).toEqual(['(none)', '(none)']);
  });

  test('a long path of a kept file is cut', () => {
    const long = `relais/${'h'.repeat(400)}`;
    const report = valid(reportFacts({ paths: { diff_patch: long, verify_log: long } }));
    expect(report.diff.diff_patch_path).toHaveLength(300);
    expect(report.verification.verify_log_path).toHaveLength(300);
  });
});

describe('text from elsewhere', () => {
  test('everything nasty at once still validates, and no control character is left', () => {
    const report = valid(hostileFacts());
    // oxlint-disable-next-line no-control-regex
    const active = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\u2028]/;
    for (const text of strings(report)) {
      expect(text).not.toMatch(active);
      expect(() => encodeURIComponent(text)).not.toThrow();
    }
    const text = JSON.stringify(report);
    expect(JSON.parse(text)).toEqual(report);
  });

  test('evidence stands on one line', () => {
    expect(valid(reportFacts({ violations: ['a\nb\r\n\tc'] })).scope.violations).toEqual(['a b c']);
  });

  test('bytes of a name that are no text are shown', () => {
    expect(valid(reportFacts({ touched: [touch('src/\udcff\n')] })).scope.touched_paths).toEqual(['src/\\xff\\x0a']);
  });
});

describe('whatever the facts are', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 600 }),
    fc.string({ unit: oneOf('a` \n\t\r\u001b\u0085\u2028<>|*_#[](){}\\', '\ud800', '\udc80', '😀') }),
  );
  const facts = fc
    .record({
      code: fc.constantFrom(...CODES),
      paths: fc.array(text.filter((path) => path !== '')),
      violations: fc.array(text),
      warnings: fc.array(text),
      id: text.filter((id) => id !== ''),
      intent: text,
      runs: fc.array(
        fc.record({
          template_id: fc.constant('t'),
          phase: fc.constantFrom('fast' as const, 'slow' as const),
          cmd: text.filter((cmd) => cmd !== ''),
          args: fc.array(text),
          exit_code: fc.integer({ min: -300, max: 300 }),
          duration_ms: fc.double({ min: 0, max: 1e9, noNaN: true }),
          timed_out: fc.boolean(),
        }),
      ),
      maxChars: fc.integer({ min: 500, max: 8000 }),
    })
    .map(({ code, paths, id, intent, maxChars, ...rest }) => ({
      maxChars,
      facts: reportFacts({
        ...rest,
        outcome: outcome(code, ['x']),
        touched: paths.map((path) => touch(path)),
        task: sampleTask({ task_id: id, intent }),
      }),
    }));

  test('the report validates, and its rendering fits, is stable and has nothing active in it', () => {
    fc.assert(
      fc.property(facts, (given) => {
        const report = valid(given.facts);
        const text = renderReport(report, given.maxChars);
        expect(text.length).toBeLessThanOrEqual(given.maxChars);
        expect(renderReport(JSON.parse(JSON.stringify(report)) as Report, given.maxChars)).toBe(text);
        // oxlint-disable-next-line no-control-regex
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      }),
      { numRuns: 300 },
    );
  });
});
