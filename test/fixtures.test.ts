import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { CODES } from '../src/generated/codes.js';
import { brokenPromises, problems, reportText } from '../src/rehearse/expect.js';
import { listFixtures, type NamedFixture } from '../src/rehearse/fixture.js';
import { play } from '../src/rehearse/play.js';

const update = process.env['RELAIS_UPDATE_FIXTURES'] === '1';
const fixtures = await listFixtures((process.env['RELAIS_FIXTURES'] ?? '').split(' ').filter((name) => name !== ''));

async function problemsOf(fixture: NamedFixture): Promise<string[]> {
  return await play(fixture, async (played) => {
    // A report is recorded only when everything else about it is right.
    const keeps = update && (await brokenPromises(fixture, played)).length === 0;
    if (keeps) await writeExpectation(path.join(fixture.dir, 'expect.report.json'), reportText(played));
    return await problems(fixture, played);
  });
}

async function writeExpectation(file: string, text: string | undefined): Promise<void> {
  await (text === undefined ? rm(file, { force: true }) : writeFile(file, text));
}

describe('a fixture keeps the contract and its own promise', () => {
  it.concurrent.each(fixtures.map((fixture) => [fixture.name, fixture] as const))(
    '%s',
    async (_name, fixture) => {
      expect(await problemsOf(fixture)).toEqual([]);
    },
    60_000,
  );
});

it('every code is reached by a fixture', async () => {
  const reached = new Set((await listFixtures()).map((fixture) => fixture.expect.code));
  expect(CODES.filter((code) => !reached.has(code))).toEqual([]);
});

it('every fixture has a title of its own', async () => {
  const titles = (await listFixtures()).map((fixture) => fixture.title);
  expect(new Set(titles).size).toBe(titles.length);
});
