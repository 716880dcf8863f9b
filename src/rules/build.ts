import { callProblems, limitOf, type CallEnd } from './orchestrate.js';
import type { Row } from './table.js';
import { oneLine } from './text.js';

/** Everything the A3 table looks at. */
export type BuildFacts =
  | { readonly mode: 'patch'; readonly applied: boolean; readonly why: string }
  | {
      readonly mode: 'agent';
      readonly result: CallEnd;
      /** Why the answer is no builder result; empty if it is one, or if there is no answer. */
      readonly problems: readonly string[];
    };

/** A3: how the Hands ended. A failed call is final; output that is merely invalid gives way to any code of A4. */
export const BUILD_ROWS: readonly Row<BuildFacts>[] = [
  [
    'call_failed',
    'STOP_INTERRUPTED',
    (facts) => (facts.mode === 'agent' ? callProblems('builder', facts.result) : []),
    (facts) => (facts.mode === 'agent' ? limitOf(facts.result) : {}),
  ],
  ['patch_refused', 'STOP_BUILDER_OUTPUT_INVALID', patchProblems],
  ['output_invalid', 'STOP_BUILDER_OUTPUT_INVALID', (facts) => (facts.mode === 'agent' ? facts.problems : [])],
];

function patchProblems(facts: BuildFacts): string[] {
  if (facts.mode === 'agent' || facts.applied) return [];
  const why = oneLine(facts.why);
  return [why === '' ? "the task's patch does not apply" : `the task's patch does not apply: ${why}`];
}
