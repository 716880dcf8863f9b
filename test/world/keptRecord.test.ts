import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Entry, Inventory } from '../../src/model.js';
import { createGit, openRepository, readSettings } from '../../src/world/git/git.js';
import type { Rules } from '../../src/world/walk/caches.js';
import { deserialize, forgetRecord, serialize, settleRecord, walk } from '../../src/world/walk/inventory.js';
import { lookAt, walkAgain, type Keeper } from '../../src/world/walk/walk.js';

const FILES = 6000;
const rules = async (): Promise<Rules> => ({ caches: ['.cache'], entered: [] });
const marks = { key: 'none', of: () => 0 };
let dir: string;
let root: string;
let keeper: Keeper;
/** What git was asked, and what it said. */
let answers: (readonly string[] | undefined)[];

beforeEach(async () => {
  dir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'relais-record-')));
  root = path.join(dir, 'tree');
  mkdirSync(root);
  execFileSync('git', ['init', '--quiet', root]);
  for (let n = 0; n < FILES; n += 1) put(`part${n % 50}/file${n}`, `${n}`);
  put('part3/odd\nname', 'x');
  writeFileSync(Buffer.from([...Buffer.from(`${root}/part4/`), 0xfe]), 'x');
  symlinkSync('part1', path.join(root, 'link'));
  const found = await openRepository(root);
  if (found.found === 'no') throw new Error(found.why);
  const git = createGit(found.repository, await readSettings(root));
  answers = [];
  keeper = {
    dir: path.join(dir, 'record'),
    differing: async (indexFile, gitDir) => {
      const answer = await git.differing(indexFile, gitDir);
      answers.push(answer);
      return answer;
    },
  };
  // Young times prove nothing: everything would be looked at by name.
  await new Promise((done) => setTimeout(done, 2100));
}, 60_000);
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}

function sorted(inventory: Inventory): [string, Entry][] {
  return [...inventory].sort(([one], [other]) => (one < other ? -1 : 1));
}

async function plain(): Promise<[string, Entry][]> {
  return sorted(await walk(root, { skip: () => false, prune: () => false }));
}

function edit(): void {
  put('part1/file1', 'other');
  appendFileSync(path.join(root, 'part3/odd\nname'), 'y');
  rmSync(path.join(root, 'part2/file2'));
  chmodSync(path.join(root, 'part5/file5'), 0o600);
  put('new/deep/file', 'x');
  put('part4/fresh', 'x');
  renameSync(path.join(root, 'part6'), path.join(root, 'moved'));
  rmSync(path.join(root, 'link'));
  symlinkSync('part2', path.join(root, 'link'));
}

/** The same size and mtime: only ctime tells. */
function disguise(name: string): void {
  const file = path.join(root, name);
  const { atime, mtime } = statSync(file);
  writeFileSync(file, readFileSync(file, 'latin1').replaceAll(/./g, 'z'));
  utimesSync(file, atime, mtime);
}

const look = (): Promise<Awaited<ReturnType<typeof lookAt>>> => lookAt(root, { rules, marks, keeper });

describe('a record kept between ticks', () => {
  it('tells with git what the plain walk tells, in the same tick and in the next', async () => {
    const first = await look();
    expect(sorted(first)).toEqual(await plain());
    edit();
    disguise('part7/file7');
    expect(sorted(await walkAgain(first, { glance: false, keeper }))).toEqual(await plain());
    expect(answers.at(-1)).toContain('part7/file7');
    const next = await look();
    expect(sorted(next)).toEqual(await plain());
    expect(next.record).not.toBe(first.record);
    expect(next.record.parts.startedMs).toBe(first.record.parts.startedMs);
    expect(next.resumed?.paths).toContain('part7/file7');
    put('part8/file8', 'later');
    disguise('part7/file7');
    const again = await walkAgain(next, { glance: false, keeper });
    expect(sorted(again)).toEqual(await plain());
    expect(again.get('part7/file7')?.ctimeMs).not.toBe(next.get('part7/file7')?.ctimeMs);
  });

  it('takes a glance without forgetting what differed already', async () => {
    await look();
    put('part1/file1', 'rewritten in place, folder unchanged');
    const next = await look();
    const glance = await walkAgain(next, { glance: true, keeper });
    expect(glance.get('part1/file1')).toEqual(next.get('part1/file1'));
    rmSync(path.join(root, 'part1/file1'));
    expect((await walkAgain(next, { glance: true, keeper })).has('part1/file1')).toBe(false);
  });

  it('believes its own memory, not the file on disk', async () => {
    const first = await look();
    disguise('part7/file7');
    // Whoever rewrites the index so that it fits the new file is not asked.
    const forged = await lookAt(root, { rules, marks, keeper: { ...keeper, dir: path.join(dir, 'forged') } });
    for (const name of ['index', 'columns'])
      writeFileSync(path.join(keeper.dir, name), readFileSync(path.join(dir, 'forged', name)));
    expect((await walkAgain(first, { glance: false, keeper })).changed().has('part7/file7')).toBe(true);
    settleRecord(forged, path.join(dir, 'forged'));
    expect(existsSync(path.join(dir, 'forged'))).toBe(true);
    settleRecord(first, keeper.dir);
    expect(existsSync(keeper.dir)).toBe(false);
  });

  it('leaves no git folder behind, and runs nothing that one names', async () => {
    const first = await look();
    put('part1/file1', 'other');
    await walkAgain(first, { glance: false, keeper });
    expect(readdirSync(keeper.dir).sort()).toEqual(['columns', 'index']);
  });

  it('looks by itself where git cannot, and where too much has changed', async () => {
    const first = await look();
    edit();
    const deaf = { ...keeper, differing: () => Promise.resolve(undefined) };
    expect(sorted(await walkAgain(first, { glance: false, keeper: deaf }))).toEqual(await plain());
    for (let n = 0; n < 3000; n += 1) put(`part${n % 50}/file${n}`, `changed ${n}`);
    const anew = await look();
    expect(anew.resumed?.paths.size).toBe(0);
    expect(sorted(anew)).toEqual(await plain());
  });

  it('is made anew for other rules or marks, when it is cut, and when it was forgotten', async () => {
    const startedMs = (await look()).record.parts.startedMs;
    const kept = async (options: Partial<Parameters<typeof lookAt>[1]> = {}): Promise<boolean> =>
      (await lookAt(root, { rules, marks, keeper, ...options })).record.parts.startedMs === startedMs;
    expect(await kept()).toBe(true);
    const columns = readFileSync(path.join(keeper.dir, 'columns'));
    writeFileSync(path.join(keeper.dir, 'columns'), columns.subarray(0, -1));
    expect(await kept()).toBe(false);
    for (const other of [
      { rules: async () => ({ caches: [], entered: [] }) },
      { marks: { key: 'other', of: () => 1 } },
    ]) {
      const before = (await look()).record.parts.startedMs;
      expect((await lookAt(root, { rules, marks, keeper, ...other })).record.parts.startedMs).not.toBe(before);
    }
    const before = (await look()).record.parts.startedMs;
    forgetRecord(keeper.dir);
    expect((await look()).record.parts.startedMs).not.toBe(before);
  });

  it('names a file that was young when it was recorded every time', async () => {
    put('part1/file1', 'young');
    const first = await look();
    disguise('part1/file1');
    await walkAgain(first, { glance: false, keeper });
    expect(answers.at(-1)).toContain('part1/file1');
  });

  it('comes back from a journal that only names it', async () => {
    const first = await look();
    first.set('note', { ...(first.get('part1/file1') as Entry), hash: 'ff' });
    first.delete('part2/file2');
    const bytes = serialize(first);
    expect(bytes.length).toBeLessThan(2000);
    expect(sorted(deserialize(bytes))).toEqual(sorted(first));
    expect(() => deserialize(bytes.subarray(0, -1))).toThrow('complete');
    forgetRecord(keeper.dir);
    expect(() => deserialize(bytes)).toThrow('gone or damaged');
  });
});
