import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Head, Inventory, RefMap, Repository } from '../../src/model.js';
import { keepMetadata, readRefs, restoreMetadata, walkMetadata } from '../../src/world/gitdir/gitdir.js';
import { keepObjects } from '../../src/world/gitdir/objectCopies.js';
import { restoreObjects } from '../../src/world/gitdir/objects.js';
import { openVault, type Vault } from '../../src/world/keep/vault.js';

let base: string;
let repo: Repository;
let head: Head;
let vault: Vault;
let before: Inventory;
let refs: RefMap;

const ENV = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'T',
  GIT_AUTHOR_EMAIL: 't@example.org',
  GIT_COMMITTER_NAME: 'T',
  GIT_COMMITTER_EMAIL: 't@example.org',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
  TZ: 'UTC',
  LC_ALL: 'C',
};

function git(args: string[], input = ''): string {
  return execFileSync('git', args, { cwd: repo.workTree, env: ENV, input, stdio: 'pipe' }).toString().trim();
}

const inGit = (name: string): string => path.join(repo.gitDir, name);
const looseOf = (id: string): string => `objects/${id.slice(0, 2)}/${id.slice(2)}`;
const idOf = (text: string): string =>
  createHash(repo.objectFormat).update(`blob ${text.length}\0${text}`).digest('hex');
const deflated = (text: string): Buffer => deflateSync(Buffer.from(`blob ${text.length}\0${text}`));

function plant(id: string, bytes: Buffer): void {
  mkdirSync(path.dirname(inGit(looseOf(id))), { recursive: true });
  writeFileSync(inGit(looseOf(id)), bytes);
}

function rewrite(file: string, change: (bytes: Buffer) => Buffer): void {
  const { atime, mtime } = statSync(file);
  const bytes = change(readFileSync(file));
  chmodSync(file, 0o644);
  writeFileSync(file, bytes);
  chmodSync(file, 0o444);
  utimesSync(file, atime, mtime);
}

async function make(format: 'sha1' | 'sha256'): Promise<void> {
  const workTree = path.join(base, format);
  mkdirSync(workTree);
  const gitDir = path.join(workTree, '.git');
  repo = { workTree, gitDir, commonDir: gitDir, mainTree: workTree, objectFormat: format };
  git(['init', '-q', '-b', 'main', `--object-format=${format}`]);
  writeFileSync(path.join(workTree, 'a'), 'a\n');
  git(['add', 'a']);
  git(['commit', '-q', '-m', 'one']);
  head = { ref: 'refs/heads/main', commit: git(['rev-parse', 'HEAD']) };
  vault = await openVault(path.join(base, `vault-${format}`), format);
}

async function record(): Promise<void> {
  before = await walkMetadata(repo);
  await keepMetadata(repo, before, vault);
  refs = await readRefs(repo);
}

const putBack = async (): Promise<string[]> => (await restoreMetadata(repo, before, vault, { head, refs })).changed;
const fsck = (): string => git(['fsck', '--full', '--strict', '--no-dangling', '--no-progress']);
const packs = (): string[] => readdirSync(inGit('objects/pack')).sort();

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'objects-'));
  await make('sha1');
  await record();
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe.each(['sha1', 'sha256'] as const)('objects of a %s repository', (format) => {
  beforeEach(async () => {
    if (format === 'sha1') return;
    await make(format);
    await record();
  });

  it('come back when they were deleted, without a word', async () => {
    rmSync(inGit('objects'), { recursive: true });
    expect(await putBack()).toEqual([]);
    expect(fsck()).toBe('');
    expect(git(['cat-file', 'blob', 'HEAD:a'])).toBe('a');
  });

  it('come back when they were rewritten in place with the same size and time, and that is told', async () => {
    const name = looseOf(idOf('a\n'));
    rewrite(inGit(name), () => deflated('b\n'));
    expect(await putBack()).toEqual([name]);
    expect(git(['cat-file', 'blob', 'HEAD:a'])).toBe('a');
    expect(await putBack()).toEqual([]);
  });

  it('that are new stay if they are what their name says, and go if they are not', async () => {
    const [honest, forged, cut, tail] = ['honest\n', 'later\n', 'cut\n', 'tail\n'].map(idOf) as [
      string,
      string,
      string,
      string,
    ];
    plant(honest, deflated('honest\n'));
    plant(forged, deflated('other\n'));
    plant(cut, deflated('cut\n').subarray(0, 8));
    plant(tail, Buffer.concat([deflated('tail\n'), Buffer.from('x')]));
    expect(await putBack()).toEqual([forged, cut, tail].map(looseOf).sort());
    expect(git(['cat-file', 'blob', honest])).toBe('honest');
    // What git writes now under that name is what it means.
    expect(git(['hash-object', '-w', '--stdin'], 'later\n')).toBe(forged);
    expect(git(['cat-file', 'blob', forged])).toBe('later');
    expect(fsck()).toBe('');
  });

  it('in a new pack stay if the pack is true, and go with its index if the index lies', async () => {
    writeFileSync(path.join(repo.workTree, 'b'), 'b\n');
    git(['add', 'b']);
    git(['commit', '-q', '-m', 'two']);
    const two = git(['rev-parse', 'HEAD']);
    git(['gc', '-q', '--prune=now']);
    expect(await putBack()).toEqual([]);
    expect(fsck()).toBe('');
    expect(git(['cat-file', '-t', two])).toBe('commit');
    const idx = packs().find((name) => name.endsWith('.idx')) ?? '';
    const bytes = readFileSync(inGit(`objects/pack/${idx}`));
    chmodSync(inGit(`objects/pack/${idx}`), 0o644);
    // Two entries of the offset table change places, and the checksum at the end is made right again.
    const count = bytes.readUInt32BE(8 + 255 * 4);
    const width = format === 'sha1' ? 20 : 32;
    const at = 8 + 256 * 4 + count * (width + 4);
    const first = bytes.readUInt32BE(at);
    bytes.writeUInt32BE(bytes.readUInt32BE(at + 4), at);
    bytes.writeUInt32BE(first, at + 4);
    createHash(format)
      .update(bytes.subarray(0, -width))
      .digest()
      .copy(bytes, bytes.length - width);
    writeFileSync(inGit(`objects/pack/${idx}`), bytes);
    expect(await putBack()).toEqual([`objects/pack/${idx.replace('.idx', '.pack')}`]);
    expect(packs().filter((name) => /\.(pack|idx)$/.test(name))).toEqual([]);
    expect(fsck()).toBe('');
  });
});

describe('objects', () => {
  it('are not held against anybody when git only renews their times', async () => {
    git(['repack', '-adq']);
    await record();
    for (const name of packs()) utimesSync(inGit(`objects/pack/${name}`), 1, 1);
    expect(await putBack()).toEqual([]);
  });

  it('in a pack that was there come back, whether pack or index was rewritten or removed', async () => {
    git(['repack', '-adq']);
    await record();
    const [idx, pack] = packs().filter((name) => /\.(pack|idx)$/.test(name)) as [string, string];
    rewrite(inGit(`objects/pack/${idx}`), (bytes) => Buffer.from(bytes).fill(7, 1100, 1120));
    unlinkSync(inGit(`objects/pack/${pack}`));
    expect(await putBack()).toEqual([`objects/pack/${idx}`]);
    expect(fsck()).toBe('');
  });

  it('lose planted caches and leftovers without a word, and anything else with one', async () => {
    git(['repack', '-adq']);
    await record();
    const [name] = packs().filter((file) => file.endsWith('.pack')) as [string];
    const stem = inGit(`objects/pack/${name.replace('.pack', '')}`);
    for (const file of [`${stem}.keep`, `${stem}.promisor`, `${stem}.mtimes`, inGit('objects/pack/multi-pack-index')])
      writeFileSync(file, 'x');
    writeFileSync(inGit('objects/pack/tmp_pack_abc'), 'x');
    mkdirSync(inGit('objects/incoming-1/aa'), { recursive: true });
    expect(await putBack()).toEqual([]);
    mkdirSync(inGit('objects/aa/bb'), { recursive: true });
    writeFileSync(inGit('objects/notes'), 'x');
    symlinkSync('/etc/hostname', inGit('objects/ab-link'));
    execFileSync('mkfifo', [inGit('objects/pack/tmp_pipe')]);
    expect(await putBack()).toEqual(['objects/aa/bb', 'objects/ab-link', 'objects/notes', 'objects/pack/tmp_pipe']);
    expect(await putBack()).toEqual([]);
    expect(fsck()).toBe('');
  });

  it('too large to be copied survive deletion, and rewriting one stops everything', async () => {
    git(['repack', '-adq']);
    await record();
    const caps = { file: 10, total: 10 };
    const other = await openVault(path.join(base, 'small-vault'));
    const listed = await keepObjects(repo.commonDir, ['objects'], other, caps);
    expect(listed).toHaveLength(packs().filter((name) => statSync(inGit(`objects/pack/${name}`)).size > 10).length);
    const [pack] = packs().filter((name) => name.endsWith('.pack')) as [string];
    utimesSync(inGit(`objects/pack/${pack}`), 1, 1);
    unlinkSync(inGit(`objects/pack/${pack.replace('.pack', '.idx')}`));
    expect(await restoreObjects(repo, ['objects'], other)).toEqual([]);
    expect(fsck()).toBe('');
    rewrite(inGit(`objects/pack/${pack}`), (bytes) => Buffer.from(bytes).fill(7, 20, 30));
    await expect(restoreObjects(repo, ['objects'], other)).rejects.toThrow(/too large to have been copied/);
  });

  it('are copied once, forgotten with the file, and known to a later process', async () => {
    const name = looseOf(idOf('a\n'));
    const copy = path.join(vault.dir, 'git', name);
    expect(existsSync(copy)).toBe(true);
    unlinkSync(inGit(name));
    const later = await openVault(vault.dir);
    expect((await restoreMetadata(repo, before, later, { head, refs })).changed).toEqual([]);
    expect(existsSync(inGit(name))).toBe(true);
    git(['repack', '-adq']);
    await record();
    expect(existsSync(copy)).toBe(false);
  });

  it('that look small and have no end are not waited for', async () => {
    const id = idOf('bomb');
    plant(id, deflateSync(Buffer.concat([Buffer.from('blob 4\0bomb'), Buffer.alloc(64 * 1024 * 1024)])));
    expect(await putBack()).toEqual([looseOf(id)]);
  });

  it('larger than memory should hold are hashed in pieces', async () => {
    const file = path.join(base, 'large');
    writeFileSync(file, '');
    truncateSync(file, 24 * 1024 * 1024);
    const id = git(['hash-object', '-w', '--no-filters', file]);
    expect(await putBack()).toEqual([]);
    expect(git(['cat-file', '-s', id])).toBe(String(24 * 1024 * 1024));
    const noise = path.join(base, 'noise');
    writeFileSync(noise, randomBytes(600_000));
    const [kept, lost] = [git(['hash-object', '-w', noise]), idOf('lost')];
    plant(lost, readFileSync(inGit(looseOf(kept))));
    expect(await putBack()).toEqual([looseOf(lost)]);
    expect(git(['cat-file', '-s', kept])).toBe('600000');
  });

  it('of a submodule come back, too, and a submodule that is new goes whole', async () => {
    execFileSync('git', ['init', '-q', '--bare', inGit('modules/lib')], { env: ENV });
    execFileSync('git', ['--git-dir', inGit('modules/lib'), 'hash-object', '-w', '--stdin'], {
      env: ENV,
      input: 'm\n',
    });
    await record();
    const name = `modules/lib/${looseOf(idOf('m\n'))}`;
    rewrite(inGit(name), () => deflated('n\n'));
    execFileSync('git', ['init', '-q', '--bare', inGit('modules/new')], { env: ENV });
    execFileSync('git', ['--git-dir', inGit('modules/new'), 'hash-object', '-w', '--stdin'], {
      env: ENV,
      input: 'm\n',
    });
    expect(await putBack()).toEqual(expect.arrayContaining([name, 'modules/new/HEAD']));
    const module = ['--git-dir', inGit('modules/lib'), 'cat-file', 'blob', idOf('m\n')];
    expect(git(module)).toBe('m');
    expect(existsSync(inGit('modules/new'))).toBe(false);
  });
});
