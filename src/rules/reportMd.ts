import type { Report } from '../generated/types.js';
import { blastLine, fileCount } from './judge.js';
import { cut, oneLine } from './text.js';

const MAX_VALUE = 400;

/**
 * REPORT.md, from REPORT.json alone: the same report always gives the same text. Every value stands in
 * a code span, where Markdown and HTML do nothing. Whole lines are left out at `maxChars`, longest lists last.
 */
export function renderReport(report: Report, maxChars: number): string {
  const lines = [
    ...summaryLines(report),
    ...evidence(report),
    ...checks(report),
    ...warnings(report),
    ...touched(report),
  ];
  const whole = `${lines.join('\n')}\n`;
  if (whole.length <= maxChars) return whole;
  const kept: string[] = [];
  const note = (): string => `\n… ${lines.length - kept.length} more lines, cut here; REPORT.json has all\n`;
  let length = 0;
  for (const line of lines) {
    if (length + line.length + 1 + `\n… ${lines.length} more lines, cut here; REPORT.json has all\n`.length > maxChars)
      break;
    kept.push(line);
    length += line.length + 1;
  }
  return kept.length === 0 ? cut(`# Relais: ${report.code}`, maxChars) : `${kept.join('\n')}\n${note()}`;
}

function summaryLines(report: Report): string[] {
  const { task, budgets, diff, pointers } = report;
  return [
    `# Relais: ${report.code === 'SUCCESS' ? 'SUCCESS' : `${report.verdict.toUpperCase()} ${code(report.code)}`}`,
    '',
    `- Blast radius: ${blastLine(report.blast_radius)}`,
    `- Task: ${code(task.task_id)} (${task.task_kind}), milestone ${code(task.milestone_id)}`,
    `- Intent: ${code(task.intent)}`,
    `- Run: ${code(report.run_id)}, ${code(report.started_at)} to ${code(report.ended_at)}, ${report.duration_ms} ms`,
    `- Commits: base ${code(report.base_commit)}, head ${code(report.head_commit)}`,
    `- Scope: ${report.scope.ok ? 'ok' : 'violated'}`,
    `- Diff: ${fileCount(diff.files_changed)}, ${diff.lines_changed} lines, patch ${code(diff.diff_patch_path)}`,
    `- Budget: ${budgets.ticks} ticks, ${budgets.orchestrator_calls} orchestrator calls, ${budgets.builder_calls} builder calls, ${budgets.verify_runs} verify runs, ${budgets.estimated_cost_usd} USD`,
    ...(pointers?.history_dir === undefined ? [] : [`- History: ${code(pointers.history_dir)}`]),
  ];
}

function evidence({ scope }: Report): string[] {
  return section(
    'Evidence',
    scope.violations.map((item) => `- ${code(item)}`),
  );
}

function checks({ verification }: Report): string[] {
  const lines = verification.runs.map((run) => {
    const ended = run.timed_out ? 'timed out' : `exit ${run.exit_code}`;
    return `- ${code(run.template_id)} (${run.phase}): ${ended}, ${run.duration_ms} ms, ${code([run.cmd, ...run.args].join(' '))}`;
  });
  return section(
    'Verification',
    lines.length === 0 ? ['No check was run.'] : [...lines, `- Log: ${code(verification.verify_log_path)}`],
  );
}

function warnings({ budgets }: Report): string[] {
  return section(
    'Warnings',
    budgets.warnings.map((item) => `- ${code(item)}`),
  );
}

function touched({ scope }: Report): string[] {
  return section(
    'Touched',
    scope.touched_paths.map((item) => `- ${code(item)}`),
  );
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `## ${title}`, '', ...lines];
}

/** A code span whose delimiter is longer than any run of backticks inside. */
function code(value: string): string {
  const text = cut(oneLine(value), MAX_VALUE) || '(empty)';
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const mark = '`'.repeat(longest + 1);
  return longest === 0 ? `${mark}${text}${mark}` : `${mark} ${text} ${mark}`;
}
