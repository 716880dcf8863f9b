import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import { listFixtures } from '../src/rehearse/fixture.js';
import { overlay, type JsonObject } from '../src/rehearse/overlay.js';
import { ALONE, OF_THE_BENCH } from './switches/alone.js';
import { configSchema, keysIn, leafKeys } from './switches/keys.js';
import { inScratch, tickOf, turn, type Seen, type Switch } from './switches/play.js';
import { bench } from './switches/situations.js';
import { TOGETHER } from './switches/together.js';

/** Keys that no test can turn, each with the reason. */
const NOT_SWITCHES: Readonly<Record<string, string>> = {
  $schema: 'for editors only; the runner does not look at it',
  version: 'has one value; any other is refused by the schema',
  'verification.execution_mode': 'has one value; any other is refused by the schema',
};

const schema = await configSchema();
const allTurned = TOGETHER.reduce<JsonObject>((config, row) => overlay(config, turn(row)), {});

function titled(rows: readonly Switch[]): [title: string, row: Switch][] {
  return rows.map((row) => [row.to === undefined ? row.key : `${row.key} = ${JSON.stringify(row.to)}`, row]);
}

/** How a tick ended: said with every failure. */
function ending({ end }: Seen): string {
  return [`in a tick that ended ${end.outcome.code}`, ...end.outcome.evidence].join('; ');
}

describe('a switch turned alone changes how the tick goes', () => {
  it.concurrent.each(titled(ALONE))('%s', async (_title, row) => {
    const [normal, turned] = [await tickOf(row.at, {}), await tickOf(row.at, turn(row))];
    expect(row.look(normal), ending(normal)).toEqual(row.normal);
    expect(row.look(turned), ending(turned)).toEqual(row.turned);
  });
});

describe('a switch turned with many others still does what is its own', () => {
  it.concurrent.each(titled(TOGETHER))('%s', async (_title, row) => {
    const [normal, turned] = [await tickOf(row.at, {}), await tickOf(row.at, allTurned)];
    expect(turned.end.outcome.code, ending(turned)).toBe('SUCCESS');
    expect(row.look(normal), ending(normal)).toEqual(row.normal);
    expect(row.look(turned), ending(turned)).toEqual(row.turned);
  });
});

it('recover looks where the config says: another workspace, another history', async () => {
  const moved = overlay(OF_THE_BENCH, { workspace_dir: 'bench', history: { dir: 'bench/past' } });
  const steps = await inScratch(bench, moved, async ({ repo, env }) => {
    await runTick({ cwd: repo, env });
    const state = path.join(repo, 'bench/STATE.json');
    const before = await readFile(state, 'utf8');
    await writeFile(state, '{');
    const cli = path.resolve('dist/cli.js');
    const ran = await execa(process.execPath, [cli, 'recover'], { cwd: repo, env, extendEnv: false, reject: false });
    return { before, ran, after: await readFile(state, 'utf8'), aside: await readFile(`${state}.broken`, 'utf8') };
  });
  expect(steps.ran.exitCode, steps.ran.stderr).toBe(0);
  expect(steps.aside).toBe('{');
  const counters = (text: string): unknown => (JSON.parse(text) as { milestones: unknown }).milestones;
  expect(counters(steps.after)).toEqual(counters(steps.before));
});

describe('the tables of switches', () => {
  it('turn the keys they name, and expect a difference', () => {
    const idle = [...ALONE, ...TOGETHER].filter(
      (row) => !keysIn(schema, turn(row)).includes(row.key) || isDeepStrictEqual(row.normal, row.turned),
    );
    expect(idle.map((row) => row.key)).toEqual([]);
  });

  it('have every key of the config, unless a fixture turns it or a reason says why not', async () => {
    const fixtures = await listFixtures();
    const covered = new Set([
      ...[...ALONE, ...TOGETHER].map((row) => row.key),
      ...fixtures.flatMap((fixture) => keysIn(schema, fixture.config ?? {})),
      ...Object.keys(NOT_SWITCHES),
    ]);
    expect(leafKeys(schema).filter((key) => !covered.has(key))).toEqual([]);
  });

  it('give no reason for a key that is gone', () => {
    const known = new Set(leafKeys(schema));
    expect(Object.keys(NOT_SWITCHES).filter((key) => !known.has(key))).toEqual([]);
  });
});
