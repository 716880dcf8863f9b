import type { Config, State, Task } from '../generated/types.js';
import { countersOf, worstCase } from './budget.js';
import { globProblem } from './globs.js';
import type { PreflightFacts } from './preflight.js';
import { isGitPath } from './scope.js';
import { oneLine } from './text.js';

/** What the operator's flags add to the recorded task. */
export interface Widening {
  readonly allow: readonly string[];
  readonly maxLines?: number;
  readonly maxFiles?: number;
  readonly allowNewFiles: boolean;
  readonly allowLockfile: boolean;
}

/** Why a command did nothing, and what can be done about it; `usage` where the command line was the reason. */
export interface Refusal {
  readonly refused: string;
  readonly remedy: string;
  readonly usage?: true;
}

/** The limits the task schema sets for the two numbers, and for one glob. */
export const MOST = { lines: 20_000, files: 500, globChars: 200, globs: 64 } as const;

/** What is wrong with the flags of a salvage; undefined if nothing is. */
export function wideningProblem({ allow, maxLines, maxFiles }: Widening): Refusal | undefined {
  const usage = (refused: string): Refusal => ({ refused, remedy: '`relais salvage --help` says more.', usage: true });
  for (const glob of allow) {
    const problem = globProblem(glob);
    if (problem !== undefined) return usage(`--allow: ${oneLine(problem)}`);
    if (glob.length > MOST.globChars) return usage(`--allow: a glob has at most ${MOST.globChars} characters`);
  }
  const within = (value: number | undefined, most: number): boolean =>
    value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= most);
  if (!within(maxLines, MOST.lines)) return usage(`--max-lines: a number from 1 to ${MOST.lines} is needed`);
  if (!within(maxFiles, MOST.files)) return usage(`--max-files: a number from 1 to ${MOST.files} is needed`);
  return undefined;
}

/** A1 for a run without agents: no calls are reserved, no agent program and no answer is waited for. */
export function withoutAgents(
  { notBefore: _limit, pendingQuestion: _question, ...facts }: PreflightFacts,
  config: PreflightFacts['config'],
  budget: readonly string[],
): PreflightFacts {
  return { ...facts, config, budget };
}

/** Which budgets do not cover the checks of one more run; calls, money and ticks are not asked about. */
export function verifyShortfall(config: Config, state: State): string[] {
  const { verify_runs: need } = worstCase(config);
  const { verify_runs: used, milestone_id: id } = countersOf(state, config.project.milestone_id);
  const most = config.budgets.per_milestone.max_verify_runs;
  return used + need > most
    ? [`milestone "${oneLine(id)}": verify_runs: ${used} of ${most} used, and one salvage may need ${need}`]
    : [];
}

/**
 * The task the work is judged by: as recorded, with what the operator adds. A glob the task forbids is lifted
 * by allowing that very glob; the config's stay. With --allow a task that was to change nothing may.
 */
export function widenedTask(
  recorded: Task | undefined,
  config: Config,
  runId: string,
  widening: Widening,
): Task | Refusal {
  const { allow } = widening;
  if (recorded === undefined && allow.length === 0)
    return {
      refused: `no task is recorded for ${runId}, so nothing says what it may touch`,
      remedy: "Say it yourself with --allow, for example --allow 'src/**'.",
    };
  const task = recorded ?? invented(config, runId);
  const allowed = [...new Set([...task.scope.allowed_globs, ...allow])];
  if (allowed.length > MOST.globs)
    return { refused: `more than ${MOST.globs} allowed globs`, remedy: 'Give fewer, wider ones.', usage: true };
  const { question, ...rest } = task;
  return {
    ...rest,
    ...(allow.length > 0 ? { task_kind: 'execute' as const } : question !== undefined && { question }),
    milestone_id: config.project.milestone_id,
    scope: {
      allowed_globs: recorded === undefined ? [...new Set(allow)] : allowed,
      forbidden_globs: task.scope.forbidden_globs.filter((glob) => !allow.includes(glob)),
      allow_new_files: task.scope.allow_new_files || widening.allowNewFiles,
      allow_lockfile_changes: task.scope.allow_lockfile_changes || widening.allowLockfile,
    },
    diff_limits: {
      max_files_touched: widening.maxFiles ?? task.diff_limits.max_files_touched,
      max_lines_changed: widening.maxLines ?? task.diff_limits.max_lines_changed,
    },
  };
}

/** Stands in for a task that nobody recorded: the config's defaults, and every check that needs no parameter. */
function invented(config: Config, runId: string): Task {
  const { default_max_files_touched, default_max_lines_changed } = config.diff_limits;
  const plain = config.verification.templates.filter(({ params }) => Object.keys(params ?? {}).length === 0);
  return {
    task_id: `salvage-${runId}`.slice(0, 80),
    milestone_id: config.project.milestone_id,
    task_kind: 'execute',
    intent: `Salvage the refused work of ${runId}`,
    scope: { allowed_globs: [], forbidden_globs: [], allow_new_files: false, allow_lockfile_changes: false },
    diff_limits: { max_files_touched: default_max_files_touched, max_lines_changed: default_max_lines_changed },
    verification: { fast: plain.slice(0, 16).map(({ id }) => id), slow: [] },
    builder: { mode: 'claude_code', max_turns: 1, instructions: 'Nobody is called: the work is there already.' },
  };
}

/** The flags as one line for the report; undefined where none was given. */
export function wideningLine({
  allow,
  maxLines,
  maxFiles,
  allowNewFiles,
  allowLockfile,
}: Widening): string | undefined {
  const parts = [
    ...allow.map((glob) => `--allow ${glob}`),
    ...(maxLines === undefined ? [] : [`--max-lines ${maxLines}`]),
    ...(maxFiles === undefined ? [] : [`--max-files ${maxFiles}`]),
    ...(allowNewFiles ? ['--allow-new-files'] : []),
    ...(allowLockfile ? ['--allow-lockfile'] : []),
  ];
  return parts.length === 0 ? undefined : `the operator widened the task: ${parts.join(' ')}`;
}

/** Whether git of this version can merge trees on its own (2.38). */
export function canMerge(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 38);
}

/** Why a path of a tree must never be written; undefined if it may. Whoever made the tree may have lied about names. */
export function nameProblem(path: string): string | undefined {
  if (path.split('/').some((name) => name === '' || name === '.' || name === '..')) return 'leads out of its folder';
  return isGitPath(path) ? "is one of git's own files" : undefined;
}
