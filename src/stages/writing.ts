import type { Blocked, Config, Report } from '../generated/types.js';
import { CODE_MEANING, type Outcome } from '../outcome.js';
import type { ReportFacts } from '../rules/report.js';
import type { World } from '../world/world.js';

/** How a tick ended, and what it wrote. */
export interface Ended {
  readonly runId: string;
  readonly outcome: Outcome;
  readonly report?: Report;
  readonly reportMd?: string;
  readonly blocked?: Blocked;
  readonly pendingQuestion?: { readonly prompt: string; readonly choices: readonly string[] };
  /** Where the refused work is kept. */
  readonly rejectedRef?: string;
}

/** When a tick began, and what it is called. */
export interface Begun {
  readonly id: string;
  readonly startedAt: Date;
  readonly startedMs: number;
}

/** A report's times: the end is the start plus what really passed, whatever the wall clock did. */
export function timing(
  world: World,
  begun: Begun,
): Pick<ReportFacts, 'run_id' | 'started_at' | 'ended_at' | 'duration_ms'> {
  const duration = Math.max(0, Math.round(world.clock.monotonicMs() - begun.startedMs));
  return {
    run_id: begun.id,
    started_at: begun.startedAt.toISOString(),
    ended_at: new Date(begun.startedAt.getTime() + duration).toISOString(),
    duration_ms: duration,
  };
}

/** What an operator reads first: why nothing goes on, and the one thing to do about it. */
export function blockedNote(world: World, runId: string, blocked: Outcome): Blocked {
  if (blocked.code === 'SUCCESS') throw new Error('a success blocks nothing');
  return {
    run_id: runId,
    code: blocked.code,
    evidence: [...blocked.evidence],
    remedy: blocked.remedy ?? CODE_MEANING[blocked.code].remedy,
    ...(blocked.notBefore !== undefined && { not_before: blocked.notBefore }),
    written_at: world.clock.now().toISOString(),
  };
}

/** The files a report points to; placeholders where one is not written. */
export function pathsOf(config: Config, runId: string | undefined): ReportFacts['paths'] {
  const history = runId === undefined ? undefined : `${config.history.dir}/${runId}`;
  return {
    ...(config.runner.render_report_md.enabled && { report_md: `${config.workspace_dir}/REPORT.md` }),
    ...(history !== undefined && { history }),
    diff_patch: history !== undefined && config.history.include_diff_patch ? `${history}/diff.patch` : '(none)',
    verify_log: history !== undefined && config.history.include_verify_log ? `${history}/verify.log` : '(none)',
  };
}

/** REPORT.md; one that is no longer wanted would tell of another tick. */
export async function writeMarkdown(world: World, folder: string, config: Config, text: string): Promise<void> {
  const file = world.join(folder, 'REPORT.md');
  await (config.runner.render_report_md.enabled ? world.files.writeAtomic(file, text) : world.files.removeFile(file));
}

/** A tick that was blocked before it had a task leaves no history. */
export function keepsHistory(config: Config, ending: Outcome): boolean {
  return config.history.enabled && ending.verdict !== 'blocked';
}

/** Appends what the tick said and did to the day's log; a log that can't be written changes no verdict. */
export async function writeLog(world: World, folder: string, ended: Ended): Promise<Ended> {
  const { outcome: ending, runId } = ended;
  world.log.info('ended', { run_id: runId, code: ending.code, evidence: ending.evidence.slice(0, 20) });
  try {
    await world.log.flush(world.join(folder, 'logs'));
  } catch (error) {
    world.say('REPORT', `the log could not be written: ${error instanceof Error ? error.message : String(error)}`);
  }
  return ended;
}
