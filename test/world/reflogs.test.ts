import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Head, Inventory, RefMap, Repository } from '../../src/model.js';
import { createGit, readSettings } from '../../src/world/git/git.js';
import {
  changedRefs,
  keepMetadata,
  keepMovedRefs,
  readRefs,
  restoreMetadata,
  walkMetadata,
} from '../../src/world/gitdir/gitdir.js';
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
  TZ: 'UTC',
  LC_ALL: 'C',
};
const RUN = '20260101T000000Z-0001';

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repo.workTree, env: ENV, stdio: 'pipe' }).toString().trim();
}

const inGit = (name: string): string => path.join(repo.gitDir, name);
const log = (name: string): string => readFileSync(inGit(`logs/${name}`), 'utf8');
const putBack = async (): Promise<string[]> => (await restoreMetadata(repo, before, vault, { head, refs })).changed;

function stash(text: string): void {
  writeFileSync(path.join(repo.workTree, 'a'), text);
  git('stash', 'push', '-q', '-m', `it's ${text}`);
}

async function keepMoved(): Promise<Map<string, string[]>> {
  const moved = changedRefs(refs, await readRefs(repo), { ref: head.ref });
  return keepMovedRefs(
    { git: createGit(repo, await readSettings(repo.workTree, ENV)), repo, vault, runId: RUN },
    moved,
  );
}

function doAll(commands: ReadonlyMap<string, readonly string[]>): void {
  for (const command of [...commands.values()].flat())
    execFileSync('/bin/sh', ['-c', command], { cwd: repo.workTree, env: ENV });
}

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'reflogs-'));
  const workTree = path.join(base, 'repo');
  mkdirSync(workTree);
  const gitDir = path.join(workTree, '.git');
  repo = { workTree, gitDir, commonDir: gitDir, mainTree: workTree, objectFormat: 'sha1' };
  git('init', '-q', '-b', 'main');
  writeFileSync(path.join(workTree, 'a'), 'a\n');
  git('add', 'a');
  git('commit', '-q', '-m', 'one');
  for (const text of ['first', 'second', 'third']) stash(text);
  git('branch', 'other');
  git('commit', '-q', '--allow-empty', '-m', 'two');
  git('tag', "o'dd");
  head = { ref: 'refs/heads/main', commit: git('rev-parse', 'HEAD') };
  vault = await openVault(path.join(base, 'vault'));
  before = await walkMetadata(repo);
  await keepMetadata(repo, before, vault);
  refs = await readRefs(repo);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe('logs', () => {
  it('come back whole when they were removed', async () => {
    const old = ['HEAD', 'refs/heads/main', 'refs/heads/other', 'refs/stash'].map(log);
    rmSync(inGit('logs'), { recursive: true });
    expect(await putBack()).toEqual([]);
    expect(['HEAD', 'refs/heads/main', 'refs/heads/other', 'refs/stash'].map(log)).toEqual(old);
    expect(git('stash', 'list').split('\n')).toHaveLength(3);
  });

  it('keep the lines that are new after those that were cut', async () => {
    const old = log('HEAD');
    git('reflog', 'expire', '--expire=all', '--all');
    git('commit', '-q', '--allow-empty', '-m', 'three');
    expect(log('HEAD')).not.toContain('one');
    expect(await putBack()).toEqual([]);
    expect(log('HEAD').startsWith(old)).toBe(true);
    expect(log('HEAD').slice(old.length).split('\n')).toHaveLength(2);
    expect(log('HEAD')).toContain('three');
  });

  it('are left alone when lines were only added', async () => {
    git('commit', '-q', '--allow-empty', '-m', 'three');
    const now = log('HEAD');
    await putBack();
    expect(log('HEAD')).toBe(now);
  });

  it('give back a stash from the middle that was dropped', async () => {
    const old = log('refs/stash');
    git('stash', 'drop', '-q', 'stash@{1}');
    expect(git('stash', 'list').split('\n')).toHaveLength(2);
    expect(await putBack()).toEqual([]);
    expect(log('refs/stash')).toBe(old);
  });

  it('that became links or pipes are removed and named: git would write through them', async () => {
    writeFileSync(path.join(base, 'victim'), 'mine');
    unlinkSync(inGit('logs/refs/heads/main'));
    symlinkSync(path.join(base, 'victim'), inGit('logs/refs/heads/main'));
    execFileSync('mkfifo', [inGit('logs/refs/heads/pipe')]);
    expect(await putBack()).toEqual(['logs/refs/heads/main', 'logs/refs/heads/pipe']);
    git('commit', '-q', '--allow-empty', '-m', 'three');
    expect(readFileSync(path.join(base, 'victim'), 'utf8')).toBe('mine');
    expect(log('refs/heads/main')).toContain('two');
  });

  it('of a deleted branch are not in the way of new ones', async () => {
    git('branch', '-D', 'other');
    await putBack();
    git('branch', 'other/more');
    expect(existsSync(inGit('logs/refs/heads/other/more'))).toBe(true);
  });
});

describe('keepMovedRefs', () => {
  it('keeps what moved and deleted refs stood for through a gc, and the commands bring them back', async () => {
    const old = await readRefs(repo);
    const otherLog = log('refs/heads/other');
    git('branch', '-qD', 'other');
    git('tag', '-d', "o'dd");
    git('branch', 'made');
    await putBack();
    const commands = await keepMoved();
    expect(log(`refs/relais/moved/${RUN}/heads/other`)).toBe(otherLog);
    git('reflog', 'expire', '--expire=now', '--all');
    git('gc', '-q', '--prune=now');
    doAll(commands);
    const now = await readRefs(repo);
    expect(changedRefs(old, now, { runId: RUN })).toEqual([]);
  });

  it("puts Relais' own refs back itself: deleted, moved or planted ones", async () => {
    git('update-ref', 'refs/relais/rejected/gone', head.commit);
    git('update-ref', 'refs/relais/rejected/moved', head.commit);
    const old = await readRefs(repo);
    git('update-ref', '-d', 'refs/relais/rejected/gone');
    git('update-ref', 'refs/relais/rejected/moved', git('rev-parse', 'HEAD~1'));
    git('update-ref', 'refs/relais/rejected/planted', head.commit);
    const moved = changedRefs(old, await readRefs(repo));
    expect(moved.map(({ ref }) => ref.split('/').at(-1))).toEqual(['gone', 'moved', 'planted']);
    await keepMovedRefs(
      { git: createGit(repo, await readSettings(repo.workTree, ENV)), repo, vault, runId: RUN },
      moved,
    );
    expect(changedRefs(old, await readRefs(repo))).toEqual([]);
  });

  it.each([
    ['cleared', ['stash', 'clear']],
    ['dropped from the top', ['stash', 'drop', '-q']],
  ])('keeps every entry of a stash that was %s', async (_, args) => {
    const old = git('stash', 'list', '--format=%H %gs');
    git(...args);
    await putBack();
    const commands = await keepMoved();
    git('gc', '-q', '--prune=now');
    doAll(commands);
    expect(git('stash', 'list', '--format=%H %gs')).toBe(old);
  });
});
