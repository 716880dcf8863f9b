import type { Row } from './table.js';
import { visible } from './text.js';

/** Everything the A5 table looks at; asked before the first check, after each check, and after the last look. */
export interface VerifyFacts {
  /** Unknown templates and parameters that may not be passed on. */
  readonly problems: readonly string[];
  readonly failedFast: readonly string[];
  readonly failedSlow: readonly string[];
  /** Tracked or protected paths that the checks changed. */
  readonly changed: readonly string[];
}

/** A5: is the work proved? First match wins. */
export const VERIFY_ROWS: readonly Row<VerifyFacts>[] = [
  ['tainted', 'STOP_VERIFY_TAINTED', ({ problems }) => problems],
  ['failed_fast', 'STOP_VERIFY_FAILED_FAST', ({ failedFast }) => failedFast],
  ['failed_slow', 'STOP_VERIFY_FAILED_SLOW', ({ failedSlow }) => failedSlow],
  [
    'changed_by_checks',
    'STOP_VERIFY_TAINTED',
    ({ changed }) => changed.map((path) => `${visible(path)}: changed while the checks ran`),
  ],
];
