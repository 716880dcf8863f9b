import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import type { Meta } from '../src/generated/types.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';

let scratch: Scratch | undefined;

afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

it('refused work that no tree can or may hold is kept as files, and leaves the repository', async () => {
  const big = 80 * 1024 * 1024;
  const attack = [
    'printf "TOKEN=stolen\\n" > .env',
    `truncate -s ${big} src/big.bin`,
    'mkdir -p src/inner/.git && printf secret > src/inner/.git/HEAD',
    'mkfifo src/pipe',
  ].join(' && ');
  const scenario = await fullScenario({
    orchestrator: [{ task: {} }],
    builder: [{ do: [{ sh: attack }], result: {} }],
  });
  scratch = await makeScratch({ config: await readBase('config.json'), scenario });
  const { repo, env } = scratch;
  const end = await runTick({ cwd: repo, env });
  expect(end.outcome.code).toBe('STOP_SCOPE_VIOLATION_FORBIDDEN');
  for (const name of ['.env', 'src/big.bin', 'src/inner', 'src/pipe'])
    expect(existsSync(path.join(repo, name)), name).toBe(false);
  const meta = JSON.parse(await readFile(path.join(repo, 'relais/history', end.runId, 'meta.json'), 'utf8')) as Meta;
  const listed = meta.not_in_tree.map((item) => item.path);
  expect(listed).toEqual(expect.arrayContaining(['.env', 'src/big.bin', 'src/inner/.git/HEAD', 'src/pipe']));
  if (typeof meta.kept_apart !== 'string') throw new Error('nothing was kept');
  expect((await stat(meta.kept_apart)).mode & 0o077).toBe(0);
  expect(await readFile(path.join(meta.kept_apart, '.env'), 'utf8')).toBe('TOKEN=stolen\n');
  expect(await readFile(path.join(meta.kept_apart, 'src/inner/.git/HEAD'), 'utf8')).toBe('secret');
  expect((await stat(path.join(meta.kept_apart, 'src/big.bin'))).size).toBe(big);
});
