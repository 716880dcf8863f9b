import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Inventory } from '../../src/model.js';
import { blobHash, changes, emptyFolders, markRacy, walk } from '../../src/world/walk/inventory.js';
import { absolute, fsPath, parentOf } from '../../src/world/paths.js';
import { removeAll } from '../../src/world/keep/replace.js';
import { freeze, restoreTree } from '../../src/world/keep/restore.js';

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), 'restore-'));
  root = path.join(base, 'tree');
  mkdirSync(root);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function look(): Promise<Inventory> {
  const found = await walk(root, { skip: () => false, prune: (name) => name.endsWith('node_modules') });
  await markRacy(found, Date.now(), root, 'sha1');
  return found;
}

/** Kind, mode, target, number of names and content: everything a rollback promises. */
function shape(inventory: Inventory): unknown[] {
  const rows = [...inventory].map(([name, entry]) => [
    name,
    entry.kind,
    entry.mode,
    entry.target,
    entry.kind === 'dir' ? 0 : entry.nlink,
    entry.hash,
  ]);
  return rows.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
}

function contents(inventory: Inventory): Map<string, Buffer> {
  return new Map(
    [...inventory]
      .filter(([, entry]) => entry.kind === 'file')
      .map(([name]) => [name, readFileSync(absolute(root, name))]),
  );
}

async function rollBack(before: Inventory, kept: Map<string, Buffer>): Promise<string[]> {
  const problems: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const now = await look();
    const found = await changes(
      before,
      now,
      () => undefined,
      (name, entry) => blobHash(absolute(root, name), entry.size, 'sha1'),
    );
    const { created, removed } = emptyFolders(before, now);
    const paths = [...found.map((change) => change.path), ...created, ...removed];
    if (paths.length === 0) break;
    problems.push(
      ...(await restoreTree(root, before, now, paths, async (name) => kept.get(name) ?? Buffer.from('no copy'))),
    );
  }
  return problems;
}

type Edit =
  | { do: 'write'; at: string; text: string }
  | { do: 'remove'; at: string }
  | { do: 'folder'; at: string }
  | { do: 'mode'; at: string; mode: number }
  | { do: 'link' | 'hardlink' | 'move'; at: string; to: string };

const name = fc.constantFrom('a', 'b', 'é', '\udcff', 'x y', '\n', '-n', '*', '.git', 'node_modules');
const where = fc
  .array(name, { minLength: 1, maxLength: 3 })
  .map((names) => names.join('/'))
  .filter((at) => at !== '.git' && !at.startsWith('.git/'));
const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      at: where,
      text: fc.constantFrom('', 'one', 'two', 'three\n'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.oneof(
      fc.record({ do: fc.constant('remove' as const), at: where }),
      fc.record({ do: fc.constant('folder' as const), at: where }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('mode' as const),
      at: where,
      mode: fc.constantFrom(0o600, 0o755, 0o444, 0o777, 0o4755, 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('link' as const, 'hardlink' as const, 'move' as const),
      at: where,
      to: where,
    }),
  },
);

function apply(script: Edit): void {
  const at = absolute(root, script.at);
  try {
    if (script.do === 'remove') rmSync(at, { recursive: true });
    else if (script.do === 'mode') chmodSync(at, script.mode);
    else {
      mkdirSync(absolute(root, parentOf(script.at)), { recursive: true });
      if (script.do === 'write') writeFileSync(at, script.text);
      else if (script.do === 'folder') mkdirSync(at, { recursive: true });
      else if (script.do === 'link') symlinkSync(fsPath(script.to), at);
      else if (script.do === 'hardlink') linkSync(absolute(root, script.to), at);
      else renameSync(absolute(root, script.to), at);
    }
  } catch (error) {
    // An edit that the file system refuses is no edit.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

/** An installed-dependencies folder is noted, not recorded, so what was in it cannot come back. */
function keepsItsDependencies(script: Edit): boolean {
  return !JSON.stringify(script).includes('node_modules');
}

describe('restoreTree', () => {
  it('brings any tree back after any edits', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit.filter(keepsItsDependencies), { maxLength: 8 }),
        fc.array(edit, { maxLength: 8 }),
        async (first, then) => {
          rmSync(root, { recursive: true, force: true });
          mkdirSync(root);
          first.forEach(apply);
          const before = await look();
          const kept = contents(before);
          then.forEach(apply);
          expect(await rollBack(before, kept)).toEqual([]);
          expect(shape(await look())).toEqual(shape(before));
        },
      ),
      { numRuns: 400 },
    );
  }, 60_000);

  it('sets the modification time back and takes a stream', async () => {
    writeFileSync(path.join(root, 'a'), 'old');
    const before = await look();
    writeFileSync(path.join(root, 'a'), 'newer');
    await restoreTree(root, before, await look(), ['a'], async () =>
      Readable.from([Buffer.from('o'), Buffer.from('ld')]),
    );
    expect(readFileSync(path.join(root, 'a'), 'utf8')).toBe('old');
    expect(Math.abs(lstatSync(path.join(root, 'a')).mtimeMs - (before.get('a')?.mtimeMs ?? 0))).toBeLessThan(1);
  });

  it('never writes or deletes through a link that was put in the way', async () => {
    const outside = path.join(base, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'f'), 'not yours');
    mkdirSync(path.join(root, 'd'));
    writeFileSync(path.join(root, 'd/f'), 'mine');
    const before = await look();
    const kept = contents(before);
    rmSync(path.join(root, 'd'), { recursive: true });
    symlinkSync(outside, path.join(root, 'd'));
    // Also when only the file is asked for, and when a file that is not wanted seems to lie behind the link.
    await restoreTree(root, new Map(), new Map(), ['d/f'], async () => Buffer.alloc(0));
    expect(readFileSync(path.join(outside, 'f'), 'utf8')).toBe('not yours');
    await restoreTree(root, before, await look(), ['d/f'], async (at) => kept.get(at) ?? Buffer.alloc(0));
    expect(readFileSync(path.join(outside, 'f'), 'utf8')).toBe('not yours');
    expect(shape(await look())).toEqual(shape(before));
  });

  it('does not write into a file that got a second name elsewhere', async () => {
    writeFileSync(path.join(root, 'a'), 'old');
    const before = await look();
    const other = path.join(base, 'other');
    writeFileSync(other, 'precious');
    rmSync(path.join(root, 'a'));
    linkSync(other, path.join(root, 'a'));
    await rollBack(before, new Map([['a', Buffer.from('old')]]));
    expect(readFileSync(other, 'utf8')).toBe('precious');
    expect(readFileSync(path.join(root, 'a'), 'utf8')).toBe('old');
  });

  it('leaves alone what it was not asked for, in a created folder too', async () => {
    const before = await look();
    mkdirSync(path.join(root, 'build'));
    writeFileSync(path.join(root, 'build/new.ts'), '');
    writeFileSync(path.join(root, 'build/ignored.log'), '');
    expect(await restoreTree(root, before, await look(), ['build/new.ts'], async () => Buffer.alloc(0))).toEqual([]);
    expect(existsSync(path.join(root, 'build/new.ts'))).toBe(false);
    expect(existsSync(path.join(root, 'build/ignored.log'))).toBe(true);
  });

  it('says what cannot come back, restores the rest, and leaves no temporary file', async () => {
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    writeFileSync(path.join(root, 'lost'), 'x');
    writeFileSync(path.join(root, 'z'), 'z');
    const before = await look();
    for (const at of ['pipe', 'lost', 'z']) rmSync(path.join(root, at));
    const problems = await restoreTree(root, before, await look(), ['pipe', 'lost', 'z'], async (at) => {
      if (at === 'lost')
        return new Readable({
          read() {
            this.destroy(new Error('no copy of it was kept'));
          },
        });
      return Buffer.from('z');
    });
    expect(problems).toEqual(['lost: no copy of it was kept', 'pipe: a fifo cannot be made again']);
    expect([...(await look()).keys()]).toEqual(['.', 'z']);
  });

  it('opens closed folders first and closes them again', async () => {
    mkdirSync(path.join(root, 'd'));
    writeFileSync(path.join(root, 'd/f'), 'x');
    chmodSync(path.join(root, 'd'), 0o555);
    const before = await look();
    const kept = contents(before);
    chmodSync(path.join(root, 'd'), 0o700);
    rmSync(path.join(root, 'd/f'));
    chmodSync(path.join(root, 'd'), 0);
    expect(await rollBack(before, kept)).toEqual([]);
    expect(shape(await look())).toEqual(shape(before));
  });
});

describe('freeze', () => {
  it('copies regular files to the same paths, whatever their mode and name', async () => {
    mkdirSync(path.join(root, 'd'));
    writeFileSync(absolute(root, 'd/\udcff'), 'bytes');
    chmodSync(absolute(root, 'd/\udcff'), 0o400);
    await freeze(root, ['d/\udcff'], path.join(base, 'frozen'));
    expect(readFileSync(absolute(path.join(base, 'frozen'), 'd/\udcff'), 'utf8')).toBe('bytes');
  });

  it('refuses links, pipes and folders behind links', async () => {
    writeFileSync(path.join(base, 'secret'), 's');
    symlinkSync('../secret', path.join(root, 'link'));
    symlinkSync('..', path.join(root, 'up'));
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    const refused = await freeze(root, ['link', 'pipe', 'up/secret', 'gone'], path.join(base, 'frozen'));
    expect([...refused]).toEqual([
      ['link', 'ELOOP'],
      ['pipe', 'it is no longer a regular file'],
      ['up/secret', 'it no longer lies in a real folder'],
      ['gone', 'ENOENT'],
    ]);
    for (const name of ['link', 'pipe', 'up/secret']) expect(existsSync(path.join(base, 'frozen', name))).toBe(false);
  });
});

/** Goes down step by step, which no absolute path could; at the end lie a file and a closed folder. */
function dig(name: string, depth: number): void {
  const script = `for (let i = 0; i < ${depth}; i += 1) { fs.mkdirSync('${name}'); process.chdir('${name}'); }
    fs.writeFileSync('x', ''); fs.mkdirSync('y', 0o500);`;
  execFileSync(process.execPath, ['-e', script], { cwd: root });
}

it('removes folders deeper than any path can say, and closed ones among them', async () => {
  const before = await look();
  const name = 'd'.repeat(100);
  dig(name, 120);
  expect(await rollBack(before, new Map())).toEqual([]);
  expect(readdirSync(root)).toEqual([]);
});

it('removes thousands of folders in one another without running out of stack', () => {
  dig('d', 3000);
  removeAll(root, 'd');
  expect(readdirSync(root)).toEqual([]);
});

it('brings a file back whose path leaves no room for a temporary name beside it', async () => {
  const folder = Array.from({ length: 19 }, () => 'f'.repeat(200)).join('/');
  const room = 4095 - Buffer.byteLength(`${root}/${folder}/`);
  const file = `${folder}/${'n'.repeat(Math.min(room, 255))}`;
  mkdirSync(`${root}/${folder}`, { recursive: true });
  writeFileSync(`${root}/${file}`, 'mine');
  const before = await look();
  const kept = contents(before);
  writeFileSync(`${root}/${file}`, 'yours');
  expect(await rollBack(before, kept)).toEqual([]);
  expect(readFileSync(`${root}/${file}`, 'utf8')).toBe('mine');
});
