import type { Task } from '../generated/types.js';
import type { Row } from './table.js';
import { visible } from './text.js';

/** Everything the A5 table looks at; asked before the first check, after each check, and after the last look. */
export interface VerifyFacts {
  /** Unknown templates and parameters that may not be passed on. */
  readonly problems: readonly string[];
  readonly failedFast: readonly string[];
  readonly failedSlow: readonly string[];
  /** HEAD or its branch moved while the checks ran. */
  readonly headMoved: readonly string[];
  readonly task_kind: Task['task_kind'];
  /** Untracked paths that the checks made; a task that may change things has them removed. */
  readonly created: readonly string[];
  /** Tracked or protected paths that the checks changed. */
  readonly changed: readonly string[];
}

/** A5: is the work proved? First match wins. */
export const VERIFY_ROWS: readonly Row<VerifyFacts>[] = [
  ['tainted', 'STOP_VERIFY_TAINTED', ({ problems }) => problems],
  ['failed_fast', 'STOP_VERIFY_FAILED_FAST', ({ failedFast }) => failedFast],
  ['failed_slow', 'STOP_VERIFY_FAILED_SLOW', ({ failedSlow }) => failedSlow],
  ['head_moved', 'STOP_HEAD_MOVED', ({ headMoved }) => headMoved],
  ['question_changed', 'STOP_QUESTION_SIDE_EFFECTS', (facts) => sideEffects(facts, 'question')],
  ['verify_only_changed', 'STOP_VERIFY_ONLY_SIDE_EFFECTS', (facts) => sideEffects(facts, 'verify_only')],
  ['changed_by_checks', 'STOP_VERIFY_TAINTED', ({ changed }) => changed.map(say)],
];

function sideEffects({ task_kind, changed, created }: VerifyFacts, kind: Task['task_kind']): string[] {
  return task_kind === kind ? [...changed, ...created].map(say) : [];
}

function say(path: string): string {
  return `${visible(path)}: changed while the checks ran`;
}
