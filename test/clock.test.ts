import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { recoverCommand } from '../src/commands/recover.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';
import { tick } from '../src/tick.js';
import { createWorld } from '../src/world/world.js';

const HOUR = 3_600_000;
const JUMPS = [0, -5 * HOUR, 9 * HOUR, -HOUR];
const NOON = Date.parse('2026-11-18T12:00:00Z');

let scratch: Scratch | undefined;
afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

async function prepared(): Promise<Scratch> {
  const builder = [1, 2].map((n) => ({ do: [{ append: 'src/greet.js', text: `// ${n}\n` }], result: {} }));
  const scenario = await fullScenario({ orchestrator: [{ task: {} }, { task: {} }], builder });
  scratch = await makeScratch({ config: await readBase('config.json'), scenario });
  return scratch;
}

/** A tick whose calendar says something else every time it is asked. */
async function tickBy({ repo, env }: Scratch, calendar: () => number) {
  const clock = { now: () => new Date(calendar()), monotonicMs: () => performance.now() };
  return tick(await createWorld({ cwd: repo, env, clock }));
}

it('a calendar that jumps to and fro gives no negative duration and no end before the start', async () => {
  const at = await prepared();
  let turn = 0;
  const { outcome, report } = await tickBy(at, () => NOON + (JUMPS[turn++ % JUMPS.length] ?? 0));
  expect(outcome.code).toBe('SUCCESS');
  expect(report?.duration_ms).toBeGreaterThan(0);
  expect(Date.parse(report?.ended_at ?? '')).toBe(Date.parse(report?.started_at ?? '') + (report?.duration_ms ?? 0));
});

it('what came last is told by the sequence, not by the calendar', async () => {
  const at = await prepared();
  const first = await tickBy(at, () => NOON);
  const second = await tickBy(at, () => NOON - 24 * HOUR);
  expect([first.outcome.code, second.outcome.code]).toEqual(['SUCCESS', 'SUCCESS']);
  expect(second.runId < first.runId).toBe(true);
  expect(readdirSync(path.join(at.repo, 'relais/history'))).toHaveLength(2);
  const file = path.join(at.repo, 'relais/STATE.json');
  const before = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, '{ broken');
  expect(await recoverCommand({ cwd: at.repo, env: at.env, json: true, dryRun: false, keep: false })).toBe(0);
  const rebuilt = JSON.parse(readFileSync(file, 'utf8'));
  expect(rebuilt).toMatchObject({ sequence: 2, last_run_id: second.runId, last_task_run_id: second.runId });
  expect(rebuilt.milestones).toEqual(before.milestones);
});

it('ids of one instant differ, and are of one form in every time zone', async () => {
  const world = await createWorld({ cwd: '/', env: {}, clock: { now: () => new Date(NOON), monotonicMs: () => 0 } });
  const ids = Array.from({ length: 1000 }, () => world.newRunId());
  expect(new Set(ids).size).toBe(1000);
  expect(ids.every((id) => /^20261118T120000Z-[0-9a-f]{8}$/.test(id))).toBe(true);
});
