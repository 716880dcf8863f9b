import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Inventory, RefMap, Repository } from '../../src/model.js';
import { keepMetadata, readRefs, restoreMetadata, walkMetadata } from '../../src/world/gitdir/gitdir.js';
import { openVault, type Vault } from '../../src/world/keep/vault.js';

const NOBODY = 65534;
let base: string;
let repo: Repository;
let vault: Vault;
let before: Inventory;
let refs: RefMap;

const inGit = (name: string): string => path.join(repo.gitDir, name);
const modeOf = (name: string): number => lstatSync(inGit(name)).mode & 0o777;

function git(...args: string[]): string {
  const names = ['AUTHOR', 'COMMITTER'].flatMap((who) => [
    [`GIT_${who}_NAME`, 'T'],
    [`GIT_${who}_EMAIL`, 't@example.org'],
  ]);
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', LC_ALL: 'C', ...Object.fromEntries(names) };
  return execFileSync('git', args, { cwd: repo.workTree, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

async function record(): Promise<void> {
  before = await walkMetadata(repo);
  await keepMetadata(repo, before, vault);
  refs = await readRefs(repo);
}

async function putBack(): Promise<string[]> {
  const head = { ref: 'refs/heads/main', commit: refs.get('refs/heads/main') ?? '' };
  return (await restoreMetadata(repo, before, vault, { head, refs })).changed;
}

beforeAll(() => {
  // Nothing is closed to root. This file has a process of its own, so nobody else is affected.
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
});

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'gitdir-'));
  const workTree = path.join(base, 'repo');
  const gitDir = path.join(workTree, '.git');
  repo = { workTree, gitDir, commonDir: gitDir, mainTree: workTree, objectFormat: 'sha1' };
  mkdirSync(workTree);
  git('init', '-q', '-b', 'main');
  git('commit', '-q', '--allow-empty', '-m', 'one');
  git('repack', '-adq');
  mkdirSync(inGit('modules/lib/hooks'), { recursive: true });
  writeFileSync(inGit('modules/lib/HEAD'), 'ref: refs/heads/main\n');
  vault = await openVault(path.join(base, 'vault'));
  await record();
});

afterEach(() => {
  execFileSync('chmod', ['-R', 'u+rwX', base]);
  rmSync(base, { recursive: true, force: true });
});

it.each(['hooks', 'info', 'objects/info', 'objects/pack', 'modules/lib/hooks', 'modules', 'branches', '.'])(
  'looks into %s although it was closed',
  async (folder) => {
    const mode = modeOf(folder);
    const planted = path.posix.join(folder, 'planted');
    for (const closed of [0o000, 0o300, 0o400]) {
      writeFileSync(inGit(planted), 'x');
      chmodSync(inGit(folder), closed);
      expect(await putBack()).toEqual([folder, planted].sort());
      expect(existsSync(inGit(planted))).toBe(false);
      expect(modeOf(folder)).toBe(mode);
    }
    expect(git('fsck', '--no-dangling', '--no-progress')).toBe('');
    expect(await putBack()).toEqual([]);
  },
);

it('opens folders within folders, and the objects and logs', async () => {
  const folders = [
    'modules/lib/hooks',
    'modules/lib',
    'modules',
    'logs/refs/heads',
    'logs',
    'refs/heads',
    'refs',
    'objects',
  ];
  writeFileSync(inGit('modules/lib/hooks/planted'), 'x');
  const modes = folders.map(modeOf);
  for (const name of folders) chmodSync(inGit(name), 0o000);
  expect(await putBack()).toEqual([...folders, 'modules/lib/hooks/planted'].sort());
  expect(folders.map(modeOf)).toEqual(modes);
  expect(existsSync(inGit('modules/lib/hooks/planted'))).toBe(false);
  expect(git('fsck', '--no-dangling', '--no-progress')).toBe('');
  expect(git('log', '-g', '--format=%s', 'main')).toBe('one');
});

it.each(['refs', 'refs/heads', '.'])('tells where the branch was left although %s was closed', async (folder) => {
  git('commit', '-q', '--allow-empty', '-m', 'two');
  const tip = git('rev-parse', 'HEAD');
  const head = { ref: 'refs/heads/main', commit: refs.get('refs/heads/main') ?? '' };
  chmodSync(inGit(folder), 0o000);
  const { found } = await restoreMetadata(repo, before, vault, { head, refs });
  expect(found.head.ref).toBe('refs/heads/main');
  expect(found.refs.get('refs/heads/main')).toBe(tip);
  expect(git('rev-parse', 'HEAD')).toBe(head.commit);
});

it('removes a new folder that nobody can look into', async () => {
  const folders = ['hooks/new', 'logs/new', 'refs/heads/new', 'lfs', 'stowaway', 'objects/ab'];
  for (const name of folders) {
    mkdirSync(inGit(name));
    writeFileSync(inGit(`${name}/payload`), 'x');
    chmodSync(inGit(name), 0o000);
  }
  const changed = await putBack();
  expect(folders.filter((name) => !changed.some((one) => one === name || one === `${name}/payload`))).toEqual([]);
  expect(folders.filter((name) => existsSync(inGit(`${name}/payload`)))).toEqual([]);
});

it('opens the shared folder of a linked work tree, and the folder of work trees', async () => {
  git('worktree', 'add', '-q', '-b', 'feature', path.join(base, 'linked'));
  const common = repo.gitDir;
  repo = { ...repo, workTree: path.join(base, 'linked'), gitDir: path.join(common, 'worktrees/linked') };
  await record();
  for (const name of ['worktrees/linked', 'worktrees', '.']) chmodSync(path.join(common, name), 0o000);
  expect(await putBack()).toEqual(['.', 'worktrees']);
  expect(git('status', '--porcelain')).toBe('');
  expect(await putBack()).toEqual([]);
});

it('leaves a file that nobody could read before alone, and says so', async () => {
  writeFileSync(inGit('closed'), 'x', { mode: 0o000 });
  before = await walkMetadata(repo);
  expect((await keepMetadata(repo, before, vault)).tooLarge).toEqual(['git/closed']);
  rmSync(inGit('closed'));
  expect(await putBack()).toEqual(['closed (it could not be put back)']);
});
