import type { Blocked, Report } from '../generated/types.js';
import { CODE_MEANING, exitCode, type Outcome } from '../outcome.js';
import { blastLine } from '../rules/judge.js';
import { tick } from '../tick.js';
import type { Ended } from '../stages/writing.js';
import { createWorld, type Progress, type World } from '../world/world.js';
import { nowDoing } from './interruption.js';
import { printJson, progress, speaker } from './output.js';

const SHOWN = 10;

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
  readonly pendingQuestion?: { readonly prompt: string; readonly choices: readonly string[] };
  readonly rejectedRef?: string;
}

/** One tick in the real world. */
export async function runTick(options: RunOptions): Promise<RunEnd> {
  const world = await createWorld({
    cwd: options.cwd,
    env: options.env,
    ...(options.signal && { signal: options.signal }),
    ...(options.onPhase && { onProgress: options.onPhase }),
  });
  return concluded(world, await tick(world));
}

/** An ending with the exit code it gives the command. */
export function concluded(world: World, ended: Ended): RunEnd {
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
      nowDoing(text);
      if (!options.quiet) progress(`${phase.padEnd(12)} ${text}`);
    },
  });
  return printEnd(end, options.json);
}

/** Tells how it ended: for people, or as the one JSON object. */
export function printEnd(end: RunEnd, json: boolean): number {
  for (const line of closing(end)) speaker(json)(line);
  if (json) printJson(endJson(end));
  return end.exitCode;
}

function endJson({ runId, outcome, exitCode, report, blocked, pendingQuestion, rejectedRef }: RunEnd): object {
  return {
    run_id: runId,
    verdict: outcome.verdict,
    code: outcome.code,
    evidence: outcome.evidence,
    exit_code: exitCode,
    report: report ?? null,
    blocked: blocked ?? null,
    pending_question: pendingQuestion?.prompt ?? null,
    choices: pendingQuestion?.choices ?? [],
    rejected_ref: rejectedRef ?? null,
  };
}

/** What a person needs to know at the end of a tick, in a few lines. */
function closing(end: RunEnd): string[] {
  const { outcome, report } = end;
  const meaning = CODE_MEANING[outcome.code];
  const success = outcome.verdict === 'success';
  const committed = success && report !== undefined && report.head_commit !== report.base_commit;
  const question = end.pendingQuestion;
  return [
    success ? 'SUCCESS' : `${outcome.verdict.toUpperCase()}  ${outcome.code}`,
    `  ${meaning.meaning}`,
    ...outcome.evidence.slice(0, SHOWN).map((line) => `  - ${line}`),
    ...(outcome.evidence.length > SHOWN ? [`  - … ${outcome.evidence.length - SHOWN} more`] : []),
    ...(report === undefined || outcome.verdict === 'blocked' ? [] : reportLines(report)),
    ...(committed ? [`  commit: ${report.head_commit}`] : []),
    ...(question === undefined
      ? []
      : [`  question: ${question.prompt}`, ...question.choices.map((choice, index) => `    ${index + 1}. ${choice}`)]),
    `next: ${next(end, committed)}`,
  ];
}

function reportLines({ blast_radius, budgets, verification, pointers }: Report): string[] {
  const failed = verification.runs.some((run) => run.exit_code !== 0 || run.timed_out);
  return [
    `  blast radius: ${blastLine(blast_radius)}`,
    ...budgets.warnings.map((line) => `  warning: ${line}`),
    ...(failed ? [`  output of the checks: ${verification.verify_log_path}`] : []),
    ...(pointers?.report_md_path === undefined ? [] : [`  report: ${pointers.report_md_path}`]),
  ];
}

function next({ outcome, blocked, pendingQuestion, rejectedRef }: RunEnd, committed: boolean): string {
  if (pendingQuestion !== undefined) {
    const how = pendingQuestion.choices.length > 0 ? '`relais answer --choice N`, or with ' : '';
    return `Answer it with ${how}\`relais answer "your text"\`.`;
  }
  if (outcome.verdict === 'success' && !committed) return 'Go on with `relais run`.';
  const remedy = blocked?.remedy ?? outcome.remedy ?? CODE_MEANING[outcome.code].remedy;
  return rejectedRef === undefined ? remedy : `${remedy} See the refused work: git show ${rejectedRef}`;
}
