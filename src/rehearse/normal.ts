import type { Report } from '../generated/types.js';
import type { Played } from './play.js';

/**
 * A report with ids, times, durations and hashes replaced by their names, so that two runs of one
 * fixture give the same text wherever they ran.
 */
export function normalReport(report: Report, played: Played): string {
  const timeless = {
    ...report,
    duration_ms: 0,
    verification: { ...report.verification, runs: report.verification.runs.map((run) => ({ ...run, duration_ms: 0 })) },
  };
  const names: readonly (readonly [string, string])[] = [
    [report.run_id, '<run_id>'],
    [played.headBefore, '<base>'],
    [played.headAfter, '<head>'],
    [played.scratch.repo, '<repository>'],
    [played.scratch.root, '<scratch>'],
    [process.execPath, 'node'],
  ];
  let text = JSON.stringify(timeless, null, 2);
  for (const [value, name] of names) if (value !== '') text = text.replaceAll(value, name);
  return `${text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
    .replaceAll(/\b\d{8}T\d{6}Z-[0-9a-f]{8}\b/g, '<other_run_id>')
    .replaceAll(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g, '<hash>')
    .replaceAll(/\bpid \d+/g, 'pid <pid>')}\n`;
}
