import { outcome } from '../../src/outcome.js';
import { emptyCounters } from '../../src/rules/budget.js';
import type { ReportFacts, RunFacts } from '../../src/rules/report.js';
import { sampleTask, touch } from './samples.js';

/** One check that passed, unless told otherwise. */
export function ran(change: Partial<RunFacts> = {}): RunFacts {
  return {
    template_id: 'test',
    phase: 'fast',
    cmd: 'npm',
    args: ['run', 'test'],
    exit_code: 0,
    duration_ms: 1234,
    timed_out: false,
    ...change,
  };
}

/** The facts of an ordinary success. */
export function reportFacts(change: Partial<ReportFacts> = {}): ReportFacts {
  return {
    run_id: '20300101T000000Z-abcdef',
    started_at: '2030-01-01T00:00:00.000Z',
    ended_at: '2030-01-01T00:00:05.000Z',
    duration_ms: 5000,
    base_commit: 'a'.repeat(40),
    head_commit: 'b'.repeat(40),
    task: sampleTask(),
    milestone_id: 'M1',
    outcome: outcome('SUCCESS', []),
    touched: [touch('src/sum.js')],
    violations: [],
    runs: [ran()],
    counters: { ...emptyCounters('M1'), ticks: 1, orchestrator_calls: 1, builder_calls: 1, estimated_cost_usd: 0.25 },
    warnings: [],
    paths: {
      report_md: 'relais/REPORT.md',
      history: 'relais/history/20300101T000000Z-abcdef',
      diff_patch: 'relais/history/20300101T000000Z-abcdef/diff.patch',
      verify_log: 'relais/history/20300101T000000Z-abcdef/verify.log',
    },
    ...change,
  };
}

/** Facts that try everything a report could choke on at once. */
export function hostileFacts(): ReportFacts {
  const nasty = 'a\u001b]0;x\u0007\u009b2J\u202e`` ```\r\nb\u2028c\ud800\udcff<script>|\u{e0041}\u0000';
  const long = `src/${'x'.repeat(5000)}`;
  const paths = Array.from({ length: 10_000 }, (_, at) => (at % 3 === 0 ? `src/${at}${nasty}` : `${long}${at}`));
  return reportFacts({
    outcome: outcome('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED', []),
    task: sampleTask({ task_id: nasty, intent: nasty.repeat(20) }),
    touched: paths.map((path) => touch(path, { change: 'added', linesAdded: 7 })),
    violations: paths.map((path) => `added ${path}: matches no allowed glob`),
    runs: [
      ran({ exit_code: 128 + 9, args: [nasty, '', 'y'.repeat(900)] }),
      ran({ exit_code: 128 + 15, timed_out: true, cmd: `/opt/${nasty}` }),
      ran({ exit_code: -1, args: Array.from({ length: 60 }, () => 'z') }),
      ...Array.from({ length: 50 }, () => ran({ phase: 'slow', exit_code: 4000, duration_ms: -0.4 })),
    ],
    warnings: Array.from({ length: 40 }, () => nasty.repeat(30)),
  });
}
