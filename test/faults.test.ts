import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';

const FAULTS = path.resolve('scripts/faults.mjs');

// The whole matrix takes an hour: `npm run test:faults`.
test('a sample of the fault matrix has no loss', { timeout: 900_000 }, async () => {
  const end = await execa(process.execPath, [FAULTS, '--sample', '20', '--seed', '20261118'], {
    all: true,
    reject: false,
  });
  expect(end.all).toMatch(/^fault matrix: \d{3,} points, 4 faults, 60 runs, 0 losses$/m);
  expect(end.exitCode).toBe(0);
});

test('a fault is really let loose, at the point that is named', { timeout: 120_000 }, async () => {
  const out = path.join(await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-faults-'))), 'out.json');
  await execa(process.execPath, [
    FAULTS,
    '--scenario',
    'success',
    '--jobs',
    '1',
    '--only',
    '3:before:ENOSPC',
    '--out',
    out,
  ]);
  const { results } = JSON.parse(await readFile(out, 'utf8'));
  expect(results).toMatchObject([
    { phase: 'LOCK', kind: 'mkdir', fault: 'ENOSPC', end: 'STOP_INTERRUPTED', way: 'run', problems: [] },
  ]);
  await rm(path.dirname(out), { recursive: true });
});

// The long form has 2,000 steps: `npm run test:simulation`.
test(
  'a story of ticks, kills, recoveries and the user’s own work keeps every promise',
  { timeout: 900_000 },
  async () => {
    const simulate = path.resolve('scripts/simulate.mjs');
    const end = await execa(process.execPath, [simulate, '--steps', '40', '--length', '20', '--seed', '20261118'], {
      all: true,
      reject: false,
    });
    expect(end.all).toContain('simulation: seed 20261118, 40 steps, 0 violations');
    expect(end.exitCode).toBe(0);
  },
);
