import type { Blocked, Report } from '../generated/types.js';
import { CODE_MEANING, exitCode, type Outcome } from '../outcome.js';
import { blastLine } from '../rules/judge.js';
import { tick } from '../tick.js';
import { createWorld, type Progress } from '../world/world.js';
import { printJson, progress, speaker } from './output.js';

export interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  readonly onPhase?: (progress: Progress) => void;
}

export interface RunEnd {
  readonly runId: string;
  readonly outcome: Outcome;
  readonly exitCode: number;
  readonly report?: Report;
  readonly reportMd?: string;
  readonly blocked?: Blocked;
  readonly pendingQuestion?: string;
}

/** One tick in the real world. */
export async function runTick(options: RunOptions): Promise<RunEnd> {
  const world = await createWorld({
    cwd: options.cwd,
    env: options.env,
    ...(options.signal && { signal: options.signal }),
    ...(options.onPhase && { onProgress: options.onPhase }),
  });
  const ended = await tick(world);
  const reason: unknown = world.signal.reason;
  const interruptedBy =
    ended.outcome.code === 'STOP_INTERRUPTED' && (reason === 'SIGINT' || reason === 'SIGTERM') ? reason : undefined;
  return {
    ...ended,
    exitCode: exitCode(ended.outcome, {
      pendingQuestion: ended.pendingQuestion !== undefined,
      ...(interruptedBy !== undefined && { signal: interruptedBy }),
    }),
  };
}

/** `relais run`: phases on stderr as they happen, then the verdict on stdout; with `--json` that is one object. */
export async function runCommand(options: RunOptions & { json: boolean; quiet: boolean }): Promise<number> {
  const end = await runTick({
    ...options,
    onPhase: ({ phase, text }) => {
      if (!options.quiet) progress(`${phase.padEnd(12)} ${text}`);
    },
  });
  for (const line of closing(end)) speaker(options.json)(line);
  if (options.json) printJson(endJson(end));
  return end.exitCode;
}

function endJson({ runId, outcome, exitCode, report, blocked, pendingQuestion }: RunEnd): object {
  return {
    run_id: runId,
    verdict: outcome.verdict,
    code: outcome.code,
    evidence: outcome.evidence,
    exit_code: exitCode,
    report: report ?? null,
    blocked: blocked ?? null,
    pending_question: pendingQuestion ?? null,
  };
}

/** What a person needs to know at the end of a tick, in a few lines. */
function closing(end: RunEnd): string[] {
  const { outcome, report } = end;
  const meaning = CODE_MEANING[outcome.code];
  return [
    `${outcome.verdict.toUpperCase()}  ${outcome.code}`,
    `  ${meaning.meaning}`,
    ...outcome.evidence.slice(0, 10).map((line) => `  - ${line}`),
    ...(outcome.evidence.length > 10 ? [`  - … ${outcome.evidence.length - 10} more`] : []),
    ...(report === undefined ? [] : [`  blast radius: ${blastLine(report.blast_radius)}`]),
    ...(report?.pointers?.report_md_path === undefined ? [] : [`  report: ${report.pointers.report_md_path}`]),
    ...(end.pendingQuestion === undefined ? [] : [`  question: ${end.pendingQuestion}`]),
    `next: ${end.pendingQuestion === undefined ? (end.blocked?.remedy ?? outcome.remedy ?? meaning.remedy) : 'Answer it with `relais answer`.'}`,
  ];
}
