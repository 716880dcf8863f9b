import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { outcome } from '../../src/outcome.js';
import { decide, decideAll, type Row } from '../../src/rules/table.js';

/** What a table is tested with: facts on which nothing fires, and for each row what has to be added to fire it. */
export interface TableCases<F> {
  readonly rows: readonly Row<F>[];
  readonly quiet: F;
  readonly join: (left: F, right: F) => F;
  readonly firing: Readonly<Record<string, { readonly facts: F; readonly evidence: readonly string[] }>>;
  /** Rows that look at two values of one fact and so can never fire together. */
  readonly exclusive?: readonly (readonly [string, string])[];
}

/** One test per row, named by its id, and one that pits every row against all rows after it. */
export function testRows<F>({ rows, quiet, join, firing, exclusive = [] }: TableCases<F>): void {
  const ids = rows.map(([id]) => id);
  const together = (one: string, other: string): boolean =>
    !exclusive.some((pair) => pair.includes(one) && pair.includes(other));

  test('nothing fires on quiet facts', () => {
    expect(decideAll(rows, quiet)).toEqual([]);
    expect(decide(rows, quiet)).toBeUndefined();
  });

  test('every row has a case and every case a row', () => {
    expect(Object.keys(firing)).toEqual(ids);
  });

  test.each(ids)('%s', (id) => {
    const { facts, evidence } = caseOf(firing, id);
    const [, code = 'SUCCESS'] = rows.find(([name]) => name === id) ?? [];
    const fired = decide(rows, facts);
    expect(fired?.id).toBe(id);
    expect(fired?.outcome.code).toBe(code);
    expect(fired?.outcome.verdict).toBe(outcome(code, []).verdict);
    expect(fired?.outcome.evidence).toEqual(evidence);
  });

  test.each(ids)('%s comes before every later row', (id) => {
    let all = caseOf(firing, id).facts;
    for (const later of ids.slice(ids.indexOf(id) + 1)) {
      if (!together(id, later)) continue;
      const both = join(caseOf(firing, id).facts, caseOf(firing, later).facts);
      expect(decideAll(rows, both).map((fired) => fired.id)).toEqual(expect.arrayContaining([id, later]));
      expect(decide(rows, both)?.id).toBe(id);
      all = join(all, caseOf(firing, later).facts);
    }
    expect(decideAll(rows, all)[0]?.id).toBe(id);
    expect(decide(rows, all)?.id).toBe(id);
  });
}

function caseOf<F>(firing: TableCases<F>['firing'], id: string): TableCases<F>['firing'][string] {
  const found = firing[id];
  if (found === undefined) throw new Error(`no case for the row ${id}`);
  return found;
}

/** The `[id, code]` pairs that docs/decision-tables.md lists under a heading, in its order. */
export function documentedRows(heading: string): string[][] {
  const text = readFileSync(new URL('../../docs/decision-tables.md', import.meta.url), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^\| (\d+) \| `(\w+)` \| .* \| `([A-Z_]+)` \|$/gm)].map(
    ([, number = '', id = '', code = '']) => [number, id, code],
  );
}
