import type { Row } from './table.js';
import { oneLine } from './text.js';

/** How a call of an agent ended, as far as a decision needs it. */
export type CallEnd =
  | { readonly kind: 'answered' }
  | { readonly kind: 'failed'; readonly class: string; readonly message: string }
  | { readonly kind: 'limited'; readonly message: string; readonly until?: string }
  | { readonly kind: 'timed_out' | 'interrupted'; readonly message: string };

/** Everything the A2 table looks at, after each call of the Brain. */
export interface OrchestrateFacts {
  readonly result: CallEnd;
  /** Why the answer is not an acceptable task; empty if it is, or if there is no answer. */
  readonly problems: readonly string[];
  readonly retriesLeft: number;
}

/** A2: can the tick go on with what the Brain said? An invalid task fires no row while a retry is left. */
export const ORCHESTRATE_ROWS: readonly Row<OrchestrateFacts>[] = [
  [
    'call_failed',
    'STOP_INTERRUPTED',
    ({ result }) => (hasNoResult(result) ? [] : callProblems('orchestrator', result)),
    ({ result }) => limitOf(result),
  ],
  [
    'result_missing',
    'STOP_INTERRUPTED',
    ({ result }) => (hasNoResult(result) ? callProblems('orchestrator', result) : []),
  ],
  [
    'task_invalid',
    'BLOCKED_ORCHESTRATOR_OUTPUT_INVALID',
    ({ problems, retriesLeft }) => (retriesLeft > 0 ? [] : problems),
  ],
];

/** The evidence of a call that gave no answer; empty for one that did. */
export function callProblems(role: string, result: CallEnd): string[] {
  if (result.kind === 'answered') return [];
  const how = {
    failed: 'failed',
    limited: 'met a limit',
    timed_out: 'ran out of time',
    interrupted: 'was interrupted',
  }[result.kind];
  const reason = result.kind === 'failed' ? ` (${result.class})` : '';
  return [`the ${role} call ${how}${reason}: ${oneLine(result.message)}`];
}

/** When a provider's limit ends, where the call met one that says so. */
export function limitOf(result: CallEnd): { notBefore?: string | undefined } {
  return result.kind === 'limited' ? { notBefore: result.until } : {};
}

function hasNoResult(result: CallEnd): boolean {
  return result.kind === 'failed' && result.class === 'empty';
}
