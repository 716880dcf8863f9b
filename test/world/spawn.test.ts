import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChildRequest } from '../../src/model.js';
import { run } from '../../src/world/process/spawn.js';

let dir: string;
const env = { PATH: process.env['PATH'] ?? '' };
const sh = (script: string, extra: Partial<ChildRequest> = {}): ChildRequest => ({
  program: '/bin/sh',
  args: ['-c', script],
  cwd: dir,
  env,
  timeoutMs: 20_000,
  maxOutputBytes: 100_000,
  ...extra,
});

async function pidIn(file: string): Promise<number> {
  for (let tries = 0; tries < 200; tries += 1) {
    const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    if (text !== '') return Number(text);
    await sleep(10);
  }
  throw new Error(`${file} was not written`);
}

function isRunning(pid: number): boolean {
  const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'latin1') : ') Z';
  return !/\) [ZX]/.test(stat);
}

/** Who works in the test's folder; in a namespace a child's own numbers mean nothing out here. */
function runningHere(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/cwd`).startsWith(dir);
    } catch (error) {
      if (['ENOENT', 'ESRCH', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
      throw error;
    }
  });
}

beforeEach(async () => {
  dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-spawn-')));
});
afterEach(() => {
  vi.unstubAllEnvs();
  return rm(dir, { recursive: true, force: true });
});

describe('a child process', () => {
  it('gives its exit code, output and nothing of our environment', async () => {
    const end = await run(sh('cat; echo err >&2; env; exit 7', { stdin: 'in\n', env: { ONLY: 'this' } }));
    expect(end).toMatchObject({ how: 'exited', exitCode: 7, cut: false, escapees: [] });
    expect(end.stderr.toString()).toBe('err\n');
    const names = end.stdout
      .toString()
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split('=')[0]);
    expect(
      names
        .filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name ?? ''))
        .toSorted((one, other) => (one ?? '').localeCompare(other ?? '')),
    ).toEqual(['ONLY', 'RELAIS_MARK']);
  });

  it('has its stdin ended even when nothing is given, and may ignore what is', async () => {
    expect((await run(sh('cat'))).how).toBe('exited');
    expect((await run(sh('exec <&-; exit 0', { stdin: Buffer.alloc(5_000_000) }))).exitCode).toBe(0);
  });

  it('that cannot start is a fact', async () => {
    expect(await run(sh('', { program: 'no-such-program-here' }))).toMatchObject({
      how: 'not_started',
      exitCode: -1,
      error: 'ENOENT',
    });
    expect(await run(sh('', { cwd: path.join(dir, 'none') }))).toMatchObject({ how: 'not_started', exitCode: -1 });
    expect(await run(sh('', { args: ['a\0b'] }))).toMatchObject({ how: 'not_started', exitCode: -1 });
  });

  it('killed by a signal counts 128 + n', async () => {
    expect(await run(sh('kill -SEGV $$'))).toMatchObject({ how: 'signalled', exitCode: 139 });
  });

  it('gets the program from the PATH it was given', async () => {
    await writeFile(path.join(dir, 'tool'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
    expect((await run(sh('', { program: 'tool', args: [], env: { PATH: dir } }))).stdout.toString()).toBe('mine\n');
  });

  it('writes as much as it likes; we keep the beginning', async () => {
    const end = await run(sh('head -c 5000000 /dev/zero; echo done >&2', { maxOutputBytes: 1000 }));
    expect(end).toMatchObject({ how: 'exited', exitCode: 0, cut: true });
    expect(end.stdout).toHaveLength(1000);
    expect(end.stderr.toString()).toBe('done\n');
  });
});

describe('stdout to a file', () => {
  it('is private, read back, and never written through a link', async () => {
    const stdoutFile = path.join(dir, 'out');
    const end = await run(sh('printf hello', { stdoutFile }));
    expect(end.stdout.toString()).toBe('hello');
    expect((await stat(stdoutFile)).mode & 0o777).toBe(0o600);
    await symlink('out', path.join(dir, 'link'));
    await expect(run(sh('printf bad', { stdoutFile: path.join(dir, 'link') }))).rejects.toThrow(/EEXIST/);
    expect(await readFile(stdoutFile, 'utf8')).toBe('hello');
  });

  it('ends a child that writes beyond the cap', async () => {
    const end = await run(
      sh('yes', { stdoutFile: path.join(dir, 'out'), maxOutputBytes: 10_000, stop: [['SIGTERM', 100]] }),
    );
    expect(end).toMatchObject({ how: 'output_cap', cut: true });
    expect(end.stdout).toHaveLength(10_000);
  });
});

describe('ending early', () => {
  it('a timeout ends a child that ignores SIGTERM, with its children', async () => {
    const end = await run(
      sh(`trap '' TERM; sleep 300 & echo $! > pid; while :; do sleep 0.05; done`, {
        timeoutMs: 300,
        stop: [['SIGTERM', 200]],
      }),
    );
    expect(end).toMatchObject({ how: 'timed_out', exitCode: 137 });
    expect(end.durationMs).toBeLessThan(5000);
    expect(await pidIn(path.join(dir, 'pid'))).toBeGreaterThan(1);
    expect(runningHere()).toEqual([]);
  });

  it('an abort is an interruption, a deadline a timeout, and an aborted start is no start', async () => {
    for (const [reason, how] of [
      ['SIGINT', 'interrupted'],
      ['deadline', 'timed_out'],
    ] as const) {
      const controller = new AbortController();
      const onStart = (): void => void setTimeout(() => controller.abort(reason), 50);
      expect((await run(sh('sleep 300', { signal: controller.signal, onStart }))).how).toBe(how);
      expect(await run(sh('touch started', { signal: controller.signal }))).toMatchObject({ how, exitCode: -1 });
    }
    expect(existsSync(path.join(dir, 'started'))).toBe(false);
  });
});

describe('leftovers', () => {
  it('in the same group are ended although they hold the pipe', async () => {
    const end = await run(sh('sleep 300 & echo $! > pid; echo out'));
    const pid = await pidIn(path.join(dir, 'pid'));
    expect(end).toMatchObject({ how: 'exited', exitCode: 0, escapees: [pid] });
    expect(end.stdout.toString()).toBe('out\n');
    expect(end.durationMs).toBeLessThan(5000);
    expect(runningHere()).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('in an own session are found by the marker', async () => {
    vi.stubEnv('RELAIS_CONTAINMENT', 'group');
    const end = await run(
      sh(`setsid sh -c 'cd /; echo $$ > "${dir}/pid"; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done`),
    );
    const pid = await pidIn(path.join(dir, 'pid'));
    expect(end.escapees).toContain(pid);
    expect(isRunning(pid)).toBe(false);
  });

  it.runIf(process.platform === 'linux')(
    'without marker and group are found by their working folder, in a work tree only',
    async () => {
      vi.stubEnv('RELAIS_CONTAINMENT', 'group');
      const script = `setsid env -i PATH="$PATH" sh -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do sleep 0.01; done`;
      expect((await run(sh(script))).escapees).toEqual([]);
      const missed = await pidIn(path.join(dir, 'pid'));
      expect(isRunning(missed)).toBe(true);
      process.kill(missed, 'SIGKILL');
      await rm(path.join(dir, 'pid'));
      await mkdir(path.join(dir, '.git'));
      const end = await run(sh(script));
      const pid = await pidIn(path.join(dir, 'pid'));
      expect(end.escapees).toContain(pid);
      expect(isRunning(pid)).toBe(false);
    },
  );

  it('of one child do not include another child that is still running', async () => {
    await mkdir(path.join(dir, '.git'));
    const slow = run(sh('sleep 0.6; echo slow'));
    await run(sh('true'));
    const later = run(sh('sleep 0.3; echo later'));
    await run(sh('true'));
    expect((await slow).stdout.toString()).toBe('slow\n');
    expect((await later).stdout.toString()).toBe('later\n');
  });
});
