import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newRunId } from '../../src/world/clock.js';
import {
  cleanTemps,
  ensureDir,
  ensurePrivateDir,
  exists,
  folderSize,
  naming,
  readBytes,
  readText,
  removeFile,
  writeAtomic,
  writeJson,
} from '../../src/world/files.js';
import { identity, processStart, stateDir } from '../../src/world/host.js';
import { openLog } from '../../src/world/log.js';

let dir: string;
const at = (...parts: string[]): string => path.join(dir, ...parts);

beforeEach(async () => {
  dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-files-')));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe('reading', () => {
  it('tells missing, unreadable and present apart', async () => {
    await writeFile(at('a'), 'héllo');
    await writeFile(at('broken'), Buffer.from([0x61, 0xff]));
    await symlink('a', at('link'));
    execFileSync('mkfifo', [at('fifo')]);
    expect(await readText(at('a'), 100)).toEqual({ found: 'text', text: 'héllo' });
    expect(await readText(at('none'), 100)).toEqual({ found: 'missing' });
    expect(await readText(at('a'), 6)).toEqual({ found: 'text', text: 'héllo' });
    for (const [name, max] of [
      ['a', 5],
      ['broken', 100],
      ['link', 100],
      ['fifo', 100],
      ['.', 100],
      ['a/b', 100],
    ] as const) {
      expect((await readText(at(name), max)).found, name).toBe('unreadable');
    }
    await expect(readBytes(at('link'))).rejects.toThrow();
  });
});

describe('atomic writing', () => {
  it('replaces the content and leaves no temp file', async () => {
    await writeJson(at('STATE.json'), { a: 1 });
    await writeJson(at('STATE.json'), { a: 2 });
    expect(await readFile(at('STATE.json'), 'utf8')).toBe('{\n  "a": 2\n}\n');
    await writeAtomic(at('secret'), Buffer.from('x'), 0o600);
    expect((await stat(at('secret'))).mode & 0o777).toBe(0o600);
    expect(await readdir(dir)).toEqual(['STATE.json', 'secret']);
  });

  it('never writes through a link, into a linked folder or over a folder', async () => {
    await mkdir(at('real'));
    await writeFile(at('victim'), 'mine');
    await symlink('victim', at('REPORT.json'));
    await symlink('real', at('relais'));
    await symlink('../victim', at('real', 'TASK.json.12345'));
    await expect(writeAtomic(at('REPORT.json'), 'x')).rejects.toThrow(/link/);
    await expect(writeAtomic(at('relais', 'STATE.json'), 'x')).rejects.toThrow(/link/);
    await expect(writeAtomic(at('real'), 'x')).rejects.toThrow(/not a regular file/);
    await writeAtomic(at('real', 'TASK.json'), 'x');
    expect(await exists(at('real', 'TASK.json.12345'))).toBe(false);
    expect(await readFile(at('victim'), 'utf8')).toBe('mine');
  });

  it('cleans only what interrupted writes left, and only directly inside', async () => {
    await mkdir(at('history'));
    for (const name of ['STATE.json.4711', 'REPORT.md.9', 'x.tmp', 'notes.2024', 'REPORT.json', 'data.json.bak'])
      await writeFile(at(name), '');
    await writeFile(at('history', 'y.tmp'), '');
    const isTemp = (name: string): boolean => name.endsWith('.tmp');
    expect(await cleanTemps(dir, isTemp)).toEqual(['REPORT.md.9', 'STATE.json.4711', 'x.tmp']);
    expect((await readdir(dir)).toSorted()).toEqual(['REPORT.json', 'data.json.bak', 'history', 'notes.2024']);
    expect(await exists(at('history', 'y.tmp'))).toBe(true);
    expect(await cleanTemps(at('none'), isTemp)).toEqual([]);
  });
});

describe('folders', () => {
  it('are sized without following links, and made private', async () => {
    await ensureDir(at('a', 'b'));
    await writeFile(at('a', 'b', 'f'), 'x'.repeat(1000));
    await symlink('/usr', at('a', 'usr'));
    expect(await folderSize(at('a'))).toBe(1000 + '/usr'.length);
    expect(await folderSize(at('none'))).toBe(0);
    await mkdir(at('open'), { mode: 0o755 });
    await ensurePrivateDir(at('open'));
    expect((await stat(at('open'))).mode & 0o777).toBe(0o700);
    await symlink('a', at('planted'));
    await expect(ensurePrivateDir(at('planted'))).rejects.toThrow(/link/);
    await removeFile(at('none'));
  });
});

describe('host and clock', () => {
  it('know this process from every other', async () => {
    const me = await identity();
    expect(me.pid).toBe(process.pid);
    expect(await processStart(process.pid)).toBe(me.pid_start);
    expect(await processStart(2 ** 22 + 5)).toBeUndefined();
    expect(await processStart(-1)).toBeUndefined();
    expect(newRunId(new Date('2026-11-18T08:39:15.123Z'), () => '3fa9c1d2')).toBe('20261118T083915Z-3fa9c1d2');
  });

  it('keep private copies where the user said', () => {
    expect(stateDir({ RELAIS_STATE_DIR: '/x', XDG_STATE_HOME: '/y' })).toBe('/x');
    expect(stateDir({ XDG_STATE_HOME: '/y' })).toBe('/y/relais');
    expect(stateDir({ XDG_STATE_HOME: 'relative', HOME: '/h' })).toBe('/h/.local/state/relais');
  });
});

describe('the log', () => {
  it('is written on flush, without secrets', async () => {
    const log = openLog(() => new Date('2026-01-02T03:04:05Z'));
    // Put together here, so that no scanner takes it for a real key.
    const key = ['sk', 'ant', 'x'.repeat(24)].join('-');
    log.info(`called with ${key}`, {
      api_key: 'plain',
      tokens: { input: 5 },
      nested: [{ url: 'https://u:pw123@host/' }],
    });
    expect(await exists(at('logs'))).toBe(false);
    await log.flush(at('logs'));
    await log.flush(at('logs'));
    const text = await readFile(at('logs', '2026-01-02.log'), 'utf8');
    const [line] = text
      .trimEnd()
      .split('\n')
      .map((each) => JSON.parse(each) as Record<string, unknown>);
    expect(text.trimEnd().split('\n')).toHaveLength(1);
    expect(line).toMatchObject({
      msg: 'called with [redacted]',
      api_key: '[redacted]',
      tokens: { input: 5 },
      time: '2026-01-02T03:04:05.000Z',
    });
    expect(text).not.toContain('pw123');
  });
});

it('an error that does not say which file it is about is made to, and keeps its code and cause', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  expect(naming('/a/STATE.json', full)).toMatchObject({
    message: 'ENOSPC: no space left on device, write, /a/STATE.json',
    code: 'ENOSPC',
    cause: full,
  });
  const named = new Error("EACCES: permission denied, open '/a/STATE.json'");
  expect(naming('/a/STATE.json', named)).toBe(named);
});
