import type { Code } from '../generated/codes.js';
import { outcome, type Outcome } from '../outcome.js';

/** One line of a decision table: it fires when `find` returns evidence, and the evidence is what is reported. */
export type Row<F> = readonly [
  id: string,
  code: Code,
  find: (facts: F) => readonly string[],
  extra?: (facts: F) => { readonly remedy?: string | undefined; readonly notBefore?: string | undefined },
];

/** A row that fired, and the ending it asks for. */
export interface Fired {
  readonly id: string;
  readonly outcome: Outcome;
}

/** The first row that fires; undefined if none does. */
export function decide<F>(rows: readonly Row<F>[], facts: F): Fired | undefined {
  for (const row of rows) {
    const fired = fire(row, facts);
    if (fired !== undefined) return fired;
  }
  return undefined;
}

/** Every row that fires, in the table's order. */
export function decideAll<F>(rows: readonly Row<F>[], facts: F): Fired[] {
  return rows.map((row) => fire(row, facts)).filter((fired) => fired !== undefined);
}

function fire<F>([id, code, find, extra]: Row<F>, facts: F): Fired | undefined {
  const evidence = find(facts);
  return evidence.length === 0 ? undefined : { id, outcome: outcome(code, evidence, extra?.(facts)) };
}
