import { spawn } from 'node:child_process';
import { link, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HostIdentity } from '../../src/model.js';
import { identity } from '../../src/world/host.js';
import { inspectLock, takeLock } from '../../src/world/lock.js';

let dir: string;
let file: string;
let me: HostIdentity;
const started = '2026-01-02T03:04:05.000Z';

const write = (changes: object): Promise<void> =>
  writeFile(file, JSON.stringify({ ...me, run_id: '20260101T000000Z-00000000', started_at: started, ...changes }));
const take = () => takeLock(file, me, '20260102T030405Z-3fa9c1d2', started);

beforeEach(async () => {
  dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-lock-')));
  file = path.join(dir, 'lock.json');
  me = await identity();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('a lock', () => {
  it('is taken once, complete, and released without a trace', async () => {
    const first = await take();
    expect(first.taken).toBe(true);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
      pid: process.pid,
      run_id: '20260102T030405Z-3fa9c1d2',
    });
    expect(await take()).toMatchObject({ taken: false, found: { state: 'held' } });
    if (first.taken) await first.release();
    expect(await readdir(dir)).toEqual([]);
  });

  it('is not released when it is no longer ours', async () => {
    const first = await take();
    await write({ host: 'elsewhere' });
    if (first.taken) await first.release();
    expect(await readdir(dir)).toEqual(['lock.json']);
  });

  it('is held in every doubt', async () => {
    for (const doubt of [
      { host: 'elsewhere' },
      { host: 'elsewhere', boot_id: 'x' },
      { pid_namespace: 'pid:[1]' },
      { pid_start: '' },
      {},
    ]) {
      await write(doubt);
      expect(await inspectLock(file, me), JSON.stringify(doubt)).toMatchObject({ state: 'held' });
      expect((await take()).taken).toBe(false);
    }
    expect(await readdir(dir)).toEqual(['lock.json']);
  });

  it('is stale after a restart, when the process is gone, or when its id was used again', async () => {
    for (const proof of [
      { boot_id: 'another' },
      { boot_id: 'another', pid_namespace: 'pid:[1]' },
      { pid: 2 ** 22 + 7 },
      { pid_start: '1' },
    ]) {
      await write(proof);
      expect(await inspectLock(file, me), JSON.stringify(proof)).toMatchObject({ state: 'stale' });
      const taken = await take();
      expect(taken).toMatchObject({ taken: true, reclaimed: proof });
      if (taken.taken) await taken.release();
      expect(await readdir(dir)).toEqual([]);
    }
  });

  it('that is corrupt, a folder or a link is reported and left', async () => {
    for (const text of ['', '{', '[]', '{"pid":1}']) {
      await writeFile(file, text);
      expect(await take(), text).toMatchObject({ taken: false, found: { state: 'corrupt' } });
      expect(await readFile(file, 'utf8')).toBe(text);
    }
    await rm(file);
    await mkdir(file);
    expect(await take()).toMatchObject({ taken: false, found: { state: 'corrupt' } });
    await rm(file, { recursive: true });
    await symlink('/nowhere', file);
    expect(await take()).toMatchObject({ taken: false, found: { state: 'corrupt' } });
  });

  it('is reclaimed although an earlier reclaimer died half way', async () => {
    await write({ boot_id: 'another' });
    const copy = path.join(dir, 'copy');
    await link(file, copy);
    const { createHash } = await import('node:crypto');
    const digest = createHash('sha256')
      .update(await readFile(file, 'utf8'))
      .digest('hex')
      .slice(0, 16);
    await link(copy, `${file}.reclaim.${digest}`);
    await rm(copy);
    const taken = await take();
    expect(taken.taken).toBe(true);
    if (taken.taken) await taken.release();
    expect(await readdir(dir)).toEqual([]);
  });
});

describe('a crowd on a stale lock', () => {
  const ROUNDS = 200;
  const CROWD = 32;

  it('has one winner, and never two holders', { timeout: 600_000 }, async () => {
    const program = path.join(dir, 'contender.mjs');
    await build({
      stdin: { contents: CONTENDER, resolveDir: path.resolve(import.meta.dirname, '../..'), loader: 'ts' },
      outfile: program,
      bundle: true,
      format: 'esm',
      platform: 'node',
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      logLevel: 'silent',
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      file = path.join(dir, `lock-${round}.json`);
      await write(round % 2 === 0 ? { boot_id: 'another' } : { pid_start: '1' });
    }
    const ends = await Promise.all(Array.from({ length: CROWD }, () => contend(program)));
    const all = ends.flat();
    expect(all).toHaveLength(ROUNDS * CROWD);
    expect(all.filter((one) => one.clash)).toEqual([]);
    for (let round = 0; round < ROUNDS; round += 1) {
      expect(
        all.filter((one) => one.round === round && one.reclaimed),
        `round ${round}`,
      ).toHaveLength(1);
    }
    expect((await readdir(dir)).filter((name) => name !== 'contender.mjs')).toEqual([]);
  });

  interface One {
    readonly round: number;
    readonly taken: boolean;
    readonly reclaimed: boolean;
    readonly clash: boolean;
  }

  /** All contenders start each round at the same wall-clock instant. */
  const epoch = Date.now() + 6000;
  async function contend(program: string): Promise<One[]> {
    const child = spawn(process.execPath, [program, dir, String(ROUNDS), String(Math.max(epoch, Date.now() + 8000))], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as One);
  }
});

const CONTENDER = `
import { mkdir, rmdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { identity } from './src/world/host.js';
import { takeLock } from './src/world/lock.js';

const [dir, rounds, start] = [process.argv[2] as string, Number(process.argv[3]), Number(process.argv[4])];
const me = await identity();
for (let round = 0; round < rounds; round += 1) {
  while (Date.now() < start + round * 250) await sleep(1);
  const taken = await takeLock(dir + '/lock-' + round + '.json', me, 'contender-' + process.pid, new Date().toISOString());
  let clash = false;
  if (taken.taken) {
    try {
      await mkdir(dir + '/held-' + round);
      await sleep(Math.random() * 20);
      await rmdir(dir + '/held-' + round);
    } catch (error) {
      clash = true;
    }
    await taken.release();
  }
  console.log(JSON.stringify({ round, taken: taken.taken, reclaimed: taken.taken && taken.reclaimed !== undefined, clash }));
}
`;
