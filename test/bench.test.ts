import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

const run = promisify(execFile);
const bench = fileURLToPath(new URL('../scripts/bench.mjs', import.meta.url));

interface Found {
  start: { ratios: Record<string, number> };
  repositories: {
    files: number;
    ratios: Record<string, number>;
    phases_ms: Record<'success' | 'stop', Record<string, number>>;
    git_processes: Record<string, number>;
    peak_memory_mb: Record<string, number>;
  }[];
  targets: { what: string; measured: number; kept: boolean }[];
}

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'relais-bench-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function call(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return run(process.execPath, [bench, ...args], { env: { ...process.env, TMPDIR: folder } });
}

test('the bench measures whole ticks, gives every ratio as a number and leaves nothing behind', async () => {
  const { stdout } = await call('--files', '100', '--runs', '1', '--json');
  const found = JSON.parse(stdout) as Found;
  const [repository] = found.repositories;
  if (repository === undefined) throw new Error('no repository was measured');
  expect(Object.keys(found.start.ratios)).toEqual(['relais --version / node -e 0', 'relais --help / node -e 0']);
  expect(Object.keys(repository.ratios)).toEqual([
    'relais status --preflight / git status',
    'relais status --preflight / node -e 0',
    'tick SUCCESS / git status',
    'tick SUCCESS / git add + commit',
    'tick SUCCESS / node -e 0',
    'tick STOP / git status',
    'tick STOP / git add + commit',
    'tick STOP / node -e 0',
  ]);
  const { phases_ms: phases, ratios, git_processes, peak_memory_mb } = repository;
  for (const value of [found.start.ratios, ratios, git_processes, peak_memory_mb].flatMap((numbers) =>
    Object.values(numbers),
  )) {
    expect(value).toBeGreaterThan(0);
    expect(value).toBeLessThan(Infinity);
  }
  // Two lines can arrive at once, so a phase may have taken no time.
  for (const value of [...Object.values(phases.success), ...Object.values(phases.stop)])
    expect(value).toBeGreaterThanOrEqual(0);
  for (const phase of ['BASELINE', 'ORCHESTRATE', 'BUILD', 'JUDGE', 'REPORT']) {
    expect(phases.success).toHaveProperty(phase);
    expect(phases.stop).toHaveProperty(phase);
  }
  expect(found.targets.map(({ what }) => what)).toContain('tick SUCCESS / node -e 0');
  expect(await readdir(folder)).toEqual([]);
});

test('the bench refuses what it cannot measure', async () => {
  await expect(call('--files', '10')).rejects.toMatchObject({ code: 64 });
  await expect(call('--runs', '0')).rejects.toMatchObject({ code: 64 });
  await expect(call('--agent', 'nobody')).rejects.toMatchObject({ code: 64 });
  expect(await readdir(folder)).toEqual([]);
});
