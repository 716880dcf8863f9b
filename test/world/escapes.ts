import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ChildEnd, ChildRequest } from '../../src/model.js';
import { run } from '../../src/world/process/spawn.js';

/** Ways to leave a process behind that writes on; `WRITER` stands for its command. The last column: group, marker and folder find it. */
export const ESCAPES: readonly (readonly [name: string, script: string, found: boolean])[] = [
  ['a plain background process', 'WRITER &', true],
  ['nohup', 'nohup WRITER >/dev/null 2>&1 &', true],
  ['setsid', 'setsid WRITER &', true],
  ['a double fork', `sh -c '(WRITER &) &'`, true],
  ['an emptied environment and setsid', 'env -i PATH="$PATH" setsid WRITER &', true],
  ['a daemon without terminal, pipes and parent', `setsid sh -c '(WRITER </dev/null >/dev/null 2>&1 &)'`, true],
  ['a daemon that also left folder and marker', '(cd /; exec env -i PATH="$PATH" setsid WRITER) &', false],
  ['a background process that ignores signals', `sh -c 'trap "" TERM INT HUP; WRITER' &`, true],
];

/** A folder that looks like a work tree and holds the program that writes on and on. */
export async function makeGround(): Promise<string> {
  const dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-contain-')));
  await mkdir(path.join(dir, '.git'));
  writeFileSync(path.join(dir, 'writer'), 'while :; do echo x >> "$1"; sleep 0.02; done\n');
  return dir;
}

/** The request for a script in which WRITER is the program that writes to `out`. */
export function request(dir: string, script: string, extra: Partial<ChildRequest> = {}): ChildRequest {
  return {
    program: '/bin/sh',
    args: ['-c', script.replace('WRITER', `sh ${dir}/writer ${dir}/out`)],
    cwd: dir,
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 20_000,
    maxOutputBytes: 100_000,
    ...extra,
  };
}

/** Plays one escape, waits until the writer writes, and returns how its starter ended. */
export function escape(dir: string, script: string): Promise<ChildEnd> {
  return run(request(dir, `${script}\nwhile [ ! -s out ]; do sleep 0.01; done`));
}

/** Runs a child and interrupts it as soon as a file in the folder says that it is time. */
export async function interruptAt(dir: string, file: string, child: ChildRequest): Promise<ChildEnd> {
  const controller = new AbortController();
  const ended = run({ ...child, signal: controller.signal });
  await appears(path.join(dir, file));
  controller.abort('SIGINT');
  return ended;
}

export async function appears(file: string): Promise<void> {
  for (let tries = 0; tries < 2000 && !existsSync(file); tries += 1) await sleep(10);
  if (!existsSync(file)) throw new Error(`${file} did not appear`);
}

/** The processes that have this folder in their command line. */
export function processesOf(dir: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && existsSync(`/proc/${name}/exe`))
    .filter((name) => cmdline(name).includes(dir))
    .map(Number);
}

function cmdline(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

/** Nobody of this folder runs any more, and the file they wrote to stays as it is. */
export async function expectQuiet(dir: string): Promise<void> {
  const { size } = statSync(path.join(dir, 'out'));
  expect(size).toBeGreaterThan(0);
  expect(processesOf(dir)).toEqual([]);
  await sleep(120);
  expect(statSync(path.join(dir, 'out')).size).toBe(size);
}
