import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Entry, Inventory } from '../../src/model.js';
import type { Rules } from '../../src/world/walk/caches.js';
import {
  absolute,
  blobHash,
  changes,
  deserialize,
  emptyFolders,
  entryAt,
  markRacy,
  serialize,
  targetBytes,
  walk,
} from '../../src/world/walk/inventory.js';
import type { TreeInventory } from '../../src/world/walk/columns.js';
import { lookAt, walkAgain as lookAgain, type Keeper } from '../../src/world/walk/walk.js';

const everything = { skip: () => false, prune: () => false };
let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'inventory-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(name: string, text = name): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}

async function settled(): Promise<Inventory> {
  const found = await walk(root, everything);
  await markRacy(found, Date.now(), root, 'sha1');
  return found;
}

async function changedPaths(
  before: Inventory,
  base: (path: string) => string | undefined = () => undefined,
): Promise<string[]> {
  const after = await settled();
  const found = await changes(before, after, base, (name, entry) => blobHash(absolute(root, name), entry.size, 'sha1'));
  return found.map((change) => change.path).sort();
}

describe('walk', () => {
  it('records files, folders, links and pipes, and does not enter the top-level .git', async () => {
    put('src/a.ts');
    put('.git/config');
    put('vendor/.git/config');
    symlinkSync('../outside', path.join(root, 'src/link'));
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    const found = await walk(root, everything);
    expect([...found.keys()].sort()).toEqual([
      '.',
      '.git',
      'pipe',
      'src',
      'src/a.ts',
      'src/link',
      'vendor',
      'vendor/.git',
      'vendor/.git/config',
    ]);
    expect(found.get('src/link')).toMatchObject({ kind: 'link', target: '../outside' });
    expect(targetBytes(found.get('src/link') as Entry).toString()).toBe('../outside');
    expect(found.get('pipe')?.kind).toBe('fifo');
  });

  it('notes pruned folders without entering them and leaves skipped ones out', async () => {
    put('node_modules/x/index.js');
    put('tmp/x');
    const found = await walk(root, { skip: (name) => name === 'tmp', prune: (name) => name === 'node_modules' });
    expect([...found.keys()]).toEqual(['.', 'node_modules']);
    expect(found.get('node_modules')?.pruned).toBe(true);
  });

  it('carries names that are not UTF-8, folders too', async () => {
    mkdirSync(Buffer.from([...Buffer.from(`${root}/`), 0xff]));
    writeFileSync(Buffer.from([...Buffer.from(`${root}/`), 0xff, 0x2f, 0xfe]), 'x');
    const found = await walk(root, everything);
    expect([...found.keys()].sort()).toEqual(['.', '\udcff', '\udcff/\udcfe']);
    expect(await entryAt(root, '\udcff/\udcfe')).toMatchObject({ kind: 'file', size: 1 });
  });

  it('does not walk a folder that is not there', async () => {
    await expect(walk(`${root}/none`, everything)).rejects.toThrow(/cannot be listed/);
    expect(await entryAt(root, 'none')).toBeUndefined();
  });
});

describe('blobHash', () => {
  it('is what git says, for small and large files and both formats', async () => {
    put('small', 'hello\n');
    writeFileSync(path.join(root, 'large'), Buffer.alloc(3 * 1024 * 1024 + 7, 'abc'));
    for (const name of ['small', 'large']) {
      const size = (await entryAt(root, name))?.size ?? 0;
      const git = execFileSync('git', ['hash-object', '--no-filters', name], { cwd: root, encoding: 'utf8' }).trim();
      expect(await blobHash(path.join(root, name), size, 'sha1')).toBe(git);
    }
    expect(await blobHash(path.join(root, 'small'), 6, 'sha256')).toBe(
      '2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4',
    );
  });

  it('refuses links, pipes and folders, and does not wait', async () => {
    put('a');
    symlinkSync('a', path.join(root, 'link'));
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    for (const name of ['link', 'pipe', '']) await expect(blobHash(path.join(root, name), 1, 'sha1')).rejects.toThrow();
  });
});

describe('changes', () => {
  it('finds nothing where nothing happened, or only times moved', async () => {
    put('a');
    put('d/b');
    const before = await settled();
    expect(await changedPaths(before)).toEqual([]);
    utimesSync(path.join(root, 'a'), 1, 1);
    expect(await changedPaths(before)).toEqual([]);
  });

  it('sees a same-size edit whose modification time was set back', async () => {
    put('a', 'one');
    utimesSync(path.join(root, 'a'), 1000, 1000);
    const before = await settled();
    put('a', 'two');
    utimesSync(path.join(root, 'a'), 1000, 1000);
    expect(await changedPaths(before)).toEqual(['a']);
  });

  it('sees modes, kinds, targets, hard links, additions and deletions', async () => {
    for (const name of ['mode', 'kind', 'hard', 'gone', 'moved', 'dir/x']) put(name);
    symlinkSync('a', path.join(root, 'target'));
    const before = await settled();
    chmodSync(path.join(root, 'mode'), 0o755);
    rmSync(path.join(root, 'kind'));
    mkdirSync(path.join(root, 'kind'));
    linkSync(path.join(root, 'hard'), path.join(root, 'hard2'));
    rmSync(path.join(root, 'gone'));
    renameSync(path.join(root, 'moved'), path.join(root, 'moved2'));
    chmodSync(path.join(root, 'dir'), 0o700);
    rmSync(path.join(root, 'target'));
    symlinkSync('b', path.join(root, 'target'));
    expect(await changedPaths(before)).toEqual([
      'dir',
      'gone',
      'hard',
      'hard2',
      'kind',
      'mode',
      'moved',
      'moved2',
      'target',
    ]);
  });

  it('compares with the base hash, and counts unknown content as changed', async () => {
    put('a', 'hello\n');
    const before = await walk(root, everything);
    utimesSync(path.join(root, 'a'), 5, 5);
    expect(await changedPaths(before, () => 'ce013625030ba8dba906f756967f9e9ca394464a')).toEqual([]);
    expect(await changedPaths(before)).toEqual(['a']);
  });

  it('does not take what lay in an unreadable folder for new', async () => {
    put('closed/secret');
    const before = new Map(await settled());
    before.delete('closed/secret');
    before.set('closed', { ...(before.get('closed') as Entry), unreadable: true });
    expect(await changedPaths(before)).toEqual(['closed']);
  });
});

describe('emptyFolders', () => {
  it('lists only folders without any file', async () => {
    put('kept/x');
    mkdirSync(path.join(root, 'old/deep'), { recursive: true });
    const before = await settled();
    rmSync(path.join(root, 'old'), { recursive: true });
    mkdirSync(path.join(root, 'new/deep'), { recursive: true });
    put('full/deep/x');
    expect(emptyFolders(before, await settled())).toEqual({
      created: ['new', 'new/deep'],
      removed: ['old', 'old/deep'],
    });
  });
});

describe('serialize', () => {
  it('reads back exactly what was written, and refuses a cut file', async () => {
    put('a\nb');
    writeFileSync(absolute(root, '\udcfe'), 'x');
    symlinkSync('nowhere', path.join(root, 'link'));
    const found = new Map(await settled());
    found.set('p', { ...(found.get('a\nb') as Entry), kind: 'dir', pruned: true, unreadable: true });
    const bytes = serialize(found);
    expect(deserialize(bytes)).toEqual(found);
    expect(() => deserialize(bytes.subarray(0, bytes.length - 1))).toThrow(/complete/);
    expect(deserialize(serialize(new Map()))).toEqual(new Map());
  });

  it('takes 100,000 entries in about a second', () => {
    const entry: Entry = {
      kind: 'file',
      ino: 1,
      nlink: 1,
      size: 3,
      mode: 0o644,
      mtimeMs: 1763455439123.456,
      ctimeMs: 1763455439123.456,
    };
    const many = new Map(
      Array.from({ length: 100_000 }, (_, n) => [`some/folder/${n}/file.ts`, { ...entry, ino: n }] as const),
    );
    const started = performance.now();
    expect(deserialize(serialize(many)).size).toBe(100_000);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});

describe('a walk in columns', () => {
  const rules = async (): Promise<Rules> => ({ caches: ['.cache'], entered: [] });
  const marks = { key: 'length', of: (name: string) => name.length & 1 };

  function walkTree(_root: string, _rules: typeof rules, keeper?: Keeper): Promise<TreeInventory> {
    return lookAt(root, { rules, marks, ...(keeper !== undefined && { keeper }) });
  }

  function walkAgain(first: TreeInventory, { glance = false, keeper }: { glance?: boolean; keeper?: Keeper } = {}) {
    return lookAgain(first, { glance, keeper });
  }

  function sorted(inventory: Inventory): [string, Entry][] {
    return [...inventory].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  async function plain(): Promise<[string, Entry][]> {
    const prune = (name: string): boolean => /(^|\/)node_modules\/\.cache$/.test(name);
    return sorted(await walk(root, { skip: () => false, prune }));
  }

  function plant(): void {
    for (let n = 0; n < 6000; n += 1) put(`part${n % 90}/group${n % 7}/file${n}`, `${n}`);
    for (const name of ['top', '.git/config', 'node_modules/a/index.js', 'node_modules/.cache/x', 'a/b/c/d/e'])
      put(name);
    mkdirSync(path.join(root, 'empty'));
    symlinkSync('part1', path.join(root, 'part1/link'));
    execFileSync('mkfifo', [path.join(root, 'part2/pipe')]);
    writeFileSync(Buffer.from([...Buffer.from(`${root}/part3/`), 0xff]), 'x');
  }

  function edit(): void {
    put('part1/group1/file1', 'other');
    put('new/deep/file');
    put('part4/new');
    put('node_modules/.cache/x', 'other');
    rmSync(path.join(root, 'part5'), { recursive: true });
    rmSync(path.join(root, 'top'));
    put('top/now/a/folder');
    rmSync(path.join(root, 'part1/link'));
    symlinkSync('part2', path.join(root, 'part1/link'));
    // A folder behind a link is not in the tree, whatever it holds.
    renameSync(path.join(root, 'part6'), path.join(root, 'moved'));
    symlinkSync('moved', path.join(root, 'part6'));
    renameSync(path.join(root, 'part7'), path.join(root, 'aside'));
    renameSync(path.join(root, 'part8'), path.join(root, 'part7'));
    chmodSync(path.join(root, 'part9'), 0o700);
  }

  it('sees what the plain walk sees, at first and again', async () => {
    plant();
    const first = await walkTree(root, rules);
    expect(sorted(first)).toEqual(await plain());
    edit();
    expect(sorted(await walkAgain(first))).toEqual(await plain());
    expect(first.has('part5')).toBe(true);
  });

  it('trusts no folder that changed a moment before', async () => {
    put('part4/early');
    const first = await walkTree(root, rules);
    const folder = path.join(root, 'part4');
    const { atime, mtime } = lstatSync(folder);
    put('part4/late');
    utimesSync(folder, atime, mtime);
    expect((await walkAgain(first)).has('part4/late')).toBe(true);
  });

  it('sees at a glance what comes, goes or is replaced, but not what is rewritten in place', async () => {
    for (const name of ['a/one', 'a/two', 'b/one', 'c/one']) put(name);
    for (const name of ['a/one', 'a/two', 'b/one', 'c/one', 'a', 'b', 'c', '.'])
      utimesSync(path.join(root, name), 1000, 1000);
    await new Promise((done) => setTimeout(done, 2100));
    const first = await walkTree(root, rules);
    put('a/one', 'in place');
    put('new', 'x');
    renameSync(path.join(root, 'new'), path.join(root, 'b/one'));
    rmSync(path.join(root, 'c/one'));
    const glance = await walkAgain(first, { glance: true });
    const seen = await changes(
      first,
      glance,
      () => undefined,
      () => Promise.resolve(''),
    );
    expect(seen.map((change) => change.path).sort()).toEqual(['b/one', 'c/one']);
    expect((await walkAgain(first)).get('a/one')?.size).toBe(8);
  });

  it('reads like a map, takes notes without changing the walk, and comes back from its bytes', async () => {
    for (const name of ['top', 'part1/group1/file1', 'a/b']) put(name);
    symlinkSync('a', path.join(root, 'link'));
    writeFileSync(Buffer.from([...Buffer.from(`${root}/`), 0xff]), 'x');
    const first = await walkTree(root, rules);
    const copy = first.copy();
    copy.delete('top');
    copy.set('note', { ...(first.get('part1/group1/file1') as Entry), hash: 'ff' });
    expect([copy.has('top'), first.has('top'), first.has('note'), copy.size]).toEqual([false, true, false, first.size]);
    expect(sorted(deserialize(serialize(copy)))).toEqual(sorted(copy));
    expect(() => deserialize(serialize(copy).subarray(0, -1))).toThrow('complete');
    expect(
      await changes(
        first,
        copy,
        () => undefined,
        () => Promise.resolve(''),
      ),
    ).toMatchObject([{ path: 'top' }, { path: 'note' }]);
  });
});
