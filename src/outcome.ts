import type { Code } from './generated/codes.js';

/** The three ways a tick can end. */
export type Verdict = 'success' | 'stop' | 'blocked';

const OUTCOME: unique symbol = Symbol('outcome');

/** How a tick ends and why. Only `outcome()` makes one, so a stage's value is never taken for an ending. */
export interface Outcome {
  readonly [OUTCOME]: true;
  readonly verdict: Verdict;
  readonly code: Code;
  readonly evidence: readonly string[];
  /** What to do in this very case, where the code's general remedy would be too vague. */
  readonly remedy?: string;
  /** Trying before this time is in vain. */
  readonly notBefore?: string;
}

/** An ending; its verdict follows from the code. */
export function outcome(
  code: Code,
  evidence: readonly string[],
  extra: { readonly remedy?: string | undefined; readonly notBefore?: string | undefined } = {},
): Outcome {
  return {
    [OUTCOME]: true,
    verdict: verdictOf(code),
    code,
    evidence,
    ...(extra.remedy === undefined ? {} : { remedy: extra.remedy }),
    ...(extra.notBefore === undefined ? {} : { notBefore: extra.notBefore }),
  };
}

/** Tells an ending from a stage's ordinary value. */
export function isOutcome(value: unknown): value is Outcome {
  return typeof value === 'object' && value !== null && OUTCOME in value;
}

/** Every exit code of the command. */
export const EXIT_CODE = {
  done: 0,
  waiting: 1,
  stop: 2,
  blocked: 3,
  usage: 64,
  internal: 70,
  SIGINT: 130,
  SIGTERM: 143,
} as const;

/** The exit code an ending gives the command. */
export function exitCode(
  ending: Outcome,
  circumstances: { readonly pendingQuestion: boolean; readonly signal?: 'SIGINT' | 'SIGTERM' | undefined },
): number {
  if (ending.code === 'STOP_INTERRUPTED' && circumstances.signal !== undefined) return EXIT_CODE[circumstances.signal];
  if (ending.code === 'BLOCKED_AWAITING_ANSWER') return EXIT_CODE.waiting;
  if (ending.verdict === 'success') return circumstances.pendingQuestion ? EXIT_CODE.waiting : EXIT_CODE.done;
  return ending.verdict === 'stop' ? EXIT_CODE.stop : EXIT_CODE.blocked;
}

/** What each code means and what the operator can do about it; the docs' table is made from this. */
export const CODE_MEANING: Readonly<Record<Code, { readonly meaning: string; readonly remedy: string }>> = {
  SUCCESS: {
    meaning: 'The work stayed in scope and every check the task asked for passed.',
    remedy: 'Look at it with `git show`; undo it with `relais undo`; go on with `relais run`.',
  },
  STOP_SCOPE_VIOLATION_FORBIDDEN: {
    meaning: 'A touched path matches a forbidden glob, or git’s own files were changed.',
    remedy: 'Read the evidence. If the path should be editable, take its glob out of scope.default_forbidden_globs.',
  },
  STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED: {
    meaning: 'A touched path matches none of the globs the task allows.',
    remedy:
      'Read the evidence. Is the work right? Accept it with `relais salvage last --allow <glob>`. Else run again, and say in relais/FACTS.md which paths it needs.',
  },
  STOP_SCOPE_VIOLATION_NEW_FILE: {
    meaning: 'A file was created although the task does not allow new files.',
    remedy:
      'Is the work right? Accept it with `relais salvage last --allow-new-files`. Else run again, and say in relais/FACTS.md that new files are needed.',
  },
  STOP_LOCKFILE_CHANGE_FORBIDDEN: {
    meaning: 'A lockfile was changed although the task does not allow it.',
    remedy:
      'Is the work right? Accept it with `relais salvage last --allow-lockfile`. Else change dependencies yourself, or say in relais/FACTS.md that the task may.',
  },
  STOP_DIFF_TOO_LARGE: {
    meaning: 'More files or lines changed than the task’s limits allow.',
    remedy:
      'Is the work right? Accept it with `relais salvage last --max-lines <n>` or `--max-files <n>`. Else ask for a smaller step, or raise diff_limits in the config.',
  },
  STOP_VERIFY_FAILED_FAST: {
    meaning: 'A fast check failed or ran out of time.',
    remedy: 'Read verify.log in the history folder.',
  },
  STOP_VERIFY_FAILED_SLOW: {
    meaning: 'All fast checks passed, but a slow one failed or ran out of time.',
    remedy: 'Read verify.log in the history folder.',
  },
  STOP_VERIFY_TAINTED: {
    meaning: 'A check is unknown, has a parameter that is not safe to pass on, or changed files itself.',
    remedy: 'Read the evidence, then correct verification.templates in the config or what the check writes.',
  },
  STOP_VERIFY_ONLY_SIDE_EFFECTS: {
    meaning: 'A verify_only task left a change.',
    remedy: 'Run again; if it happens again, say in relais/FACTS.md that this work needs an execute task.',
  },
  STOP_QUESTION_SIDE_EFFECTS: {
    meaning: 'A question task left a change.',
    remedy: 'Run again; the change was undone and the question was not asked.',
  },
  STOP_RUNNER_OWNED_MUTATION: {
    meaning: 'Somebody other than the runner changed the runner’s own files.',
    remedy: 'Read the evidence. The files were put back; look at what the agent was trying to do.',
  },
  STOP_BUILDER_OUTPUT_INVALID: {
    meaning: 'The Hands’ answer is not the one JSON object it has to be.',
    remedy: 'Run again.',
  },
  STOP_HEAD_MOVED: {
    meaning: 'A reference other than the current branch moved during the tick.',
    remedy: 'Look at the references named in the evidence; they were left as they are.',
  },
  STOP_INTERRUPTED: {
    meaning:
      'The tick was interrupted, ran out of time, an agent call failed, or something could not be written or put back.',
    remedy: 'Read the evidence for the cause, then run again.',
  },
  BLOCKED_BUDGET_EXHAUSTED: {
    meaning: 'What is left of the milestone’s budget, or of a provider’s limit, does not cover a whole tick.',
    remedy: 'Raise budgets.per_milestone, start a new project.milestone_id, or wait until the time given.',
  },
  BLOCKED_DIRTY_WORKTREE: {
    meaning: 'The work tree has changes that are not committed, or a git operation is under way.',
    remedy: 'Commit, stash or remove what is listed, and finish the git operation.',
  },
  BLOCKED_LOCK_HELD: {
    meaning: 'Another tick is running, or it can’t be told that it is not.',
    remedy: 'Wait for it to end. If you are sure that it is gone, `relais unlock` says how to remove the lock.',
  },
  BLOCKED_CRASH_RECOVERY_REQUIRED: {
    meaning: 'An earlier tick did not end properly, or one of the runner’s files is damaged.',
    remedy: 'Run `relais recover`.',
  },
  BLOCKED_ORCHESTRATOR_OUTPUT_INVALID: {
    meaning: 'The Brain did not answer with one valid task.',
    remedy: 'Read the evidence, make project.goal or relais/FACTS.md clearer, and run again.',
  },
  BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED: {
    meaning: 'The history is larger than history.max_mb.',
    remedy: 'Remove or move away old folders in the history folder, or raise history.max_mb.',
  },
  BLOCKED_MISSING_CONFIG: {
    meaning: 'The config, something it names, or a git repository with a commit is missing or can’t be used.',
    remedy: 'Correct what is named in the evidence; `relais init` writes what is missing.',
  },
  BLOCKED_AWAITING_ANSWER: {
    meaning: 'The last task asked the operator a question that has no answer yet.',
    remedy: 'Answer it with `relais answer`.',
  },
};

function verdictOf(code: Code): Verdict {
  if (code === 'SUCCESS') return 'success';
  return code.startsWith('STOP_') ? 'stop' : 'blocked';
}
