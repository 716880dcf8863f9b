import { writeSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeGround, type Ground } from './ground.js';
import { holds } from './holds.js';
import { anyPlay, gitPlay, insidePlay, type Play } from './scripts.js';

/**
 * Edit scripts played in all. The seed is fixed, so that a change and not luck turns this red; new
 * ground is searched with RELAIS_PROPERTY_SEED=random, and the seed of a failure is printed.
 */
const RUNS = Number(process.env['RELAIS_PROPERTY_RUNS'] ?? 510);
const SEED = process.env['RELAIS_PROPERTY_SEED'] ?? '20261118';

let made: Ground;

beforeAll(async () => {
  // The user's own git configuration is read by the runner, not by these tests.
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  made = await makeGround();
  vi.stubEnv('HOME', made.home);
});

afterAll(async () => {
  await made.dispose();
  vi.unstubAllEnvs();
});

const SHARDS: readonly [title: string, plays: fc.Arbitrary<Play>, share: number][] = [
  ['whatever the Hands do, anywhere', anyPlay, 0.4],
  ['whatever the Hands do with git', gitPlay, 0.3],
  ['whatever the Hands do in scope', insidePlay, 0.3],
];

describe('the Judge sees exactly what changed, and the tick ends in one commit or as if nothing had been', () => {
  it.concurrent.each(SHARDS)(
    '%s',
    async (title, plays, share) => {
      const codes = new Map<string, number>();
      const numRuns = Math.ceil(RUNS * share);
      await fc.assert(
        fc.asyncProperty(plays, async (play) => {
          const { code } = await holds(made, play);
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }),
        { numRuns, ...(SEED !== 'random' && { seed: Number(SEED) }) },
      );
      expect([...codes.values()].reduce((sum, count) => sum + count, 0)).toBe(numRuns);
      if (process.env['RELAIS_PROPERTY_COUNTS'] !== undefined)
        writeSync(2, `${title}: ${JSON.stringify(Object.fromEntries(codes))}\n`);
    },
    Math.max(300_000, RUNS * 3000),
  );
});
