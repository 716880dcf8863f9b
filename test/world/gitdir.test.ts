import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
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
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Head, Inventory, RefMap, Repository } from '../../src/model.js';
import {
  changedRefs,
  keepMetadata,
  readHead,
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

function git(...args: string[]): string {
  return execFileSync('git', args, {
    cwd: repo.workTree,
    env: ENV,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

const inGit = (name: string): string => path.join(repo.gitDir, name);

let refs: RefMap;

async function record(): Promise<void> {
  before = await walkMetadata(repo);
  await keepMetadata(repo, before, vault);
  refs = await readRefs(repo);
}

async function putBack(): Promise<string[]> {
  return (await restoreMetadata(repo, before, vault, { head, refs })).changed;
}

beforeEach(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'gitdir-'));
  const workTree = path.join(base, 'repo');
  mkdirSync(workTree);
  const gitDir = path.join(workTree, '.git');
  repo = { workTree, gitDir, commonDir: gitDir, mainTree: workTree, objectFormat: 'sha1' };
  git('init', '-q', '-b', 'main');
  writeFileSync(path.join(workTree, 'a'), 'a\n');
  git('add', 'a');
  git('commit', '-q', '-m', 'one');
  git('branch', 'other');
  head = { ref: 'refs/heads/main', commit: git('rev-parse', 'HEAD') };
  vault = await openVault(path.join(base, 'vault'));
  await record();
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

describe('walkMetadata', () => {
  it('records what steers git, its logs, and what nobody knows, but not objects', () => {
    const names = [...before.keys()];
    for (const name of [
      'git/HEAD',
      'git/config',
      'git/index',
      'git/hooks',
      'git/info/exclude',
      'git/refs/heads/main',
      'git/objects/info',
      'git/logs/HEAD',
      'git/description',
      'git/COMMIT_EDITMSG',
    ])
      expect(names).toContain(name);
    expect(names.filter((name) => /^git\/objects\/(?!info)/.test(name))).toEqual([]);
  });

  it('records modules without their objects, also a module that is itself named objects', async () => {
    for (const module of ['lib', 'objects', 'group/logs']) {
      mkdirSync(inGit(`modules/${module}/objects/ab`), { recursive: true });
      mkdirSync(inGit(`modules/${module}/logs`));
      for (const name of ['HEAD', 'config', 'index', 'objects/ab/cd', 'logs/HEAD'])
        writeFileSync(inGit(`modules/${module}/${name}`), '');
    }
    const names = [...(await walkMetadata(repo)).keys()].filter(
      (name) => name.startsWith('git/modules/') && /(HEAD|config|index|cd)$/.test(name),
    );
    expect(names.sort()).toEqual(
      ['lib', 'objects', 'group/logs']
        .flatMap((module) => [`git/modules/${module}/HEAD`, `git/modules/${module}/config`])
        .sort(),
    );
  });
});

describe('restoreMetadata', () => {
  it('finds nothing when nothing happened, twice', async () => {
    expect(await putBack()).toEqual([]);
    expect(await putBack()).toEqual([]);
  });

  it('puts config, hooks, excludes, attributes and alternates back and names them', async () => {
    const config = readFileSync(inGit('config'));
    appendFileSync(inGit('config'), '[core]\n\tfsmonitor = touch pwned\n');
    writeFileSync(inGit('hooks/post-index-change'), '#!/bin/sh\n', { mode: 0o755 });
    rmSync(inGit('info'), { recursive: true });
    writeFileSync(inGit('objects/info/alternates'), '/elsewhere\n');
    writeFileSync(inGit('config.worktree'), '');
    expect(await putBack()).toEqual([
      'config',
      'config.worktree',
      'hooks/post-index-change',
      'info/exclude',
      'objects/info/alternates',
    ]);
    expect(readFileSync(inGit('config'))).toEqual(config);
    expect(existsSync(inGit('hooks/post-index-change'))).toBe(false);
    expect(existsSync(inGit('info/exclude'))).toBe(true);
    expect(await putBack()).toEqual([]);
  });

  it('never writes through a link, to a file or to a folder', async () => {
    writeFileSync(path.join(base, 'outside'), 'mine');
    mkdirSync(path.join(base, 'hooks'));
    writeFileSync(path.join(base, 'hooks/x'), 'mine');
    unlinkSync(inGit('config'));
    symlinkSync(path.join(base, 'outside'), inGit('config'));
    rmSync(inGit('hooks'), { recursive: true });
    symlinkSync(path.join(base, 'hooks'), inGit('hooks'));
    expect(await putBack()).toContain('config');
    expect(readFileSync(path.join(base, 'outside'), 'utf8')).toBe('mine');
    expect(readFileSync(path.join(base, 'hooks/x'), 'utf8')).toBe('mine');
    expect(lstatSync(inGit('hooks')).isDirectory()).toBe(true);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('removes an operation in progress, locks included, and sees a mode change', async () => {
    writeFileSync(inGit('MERGE_HEAD'), `${head.commit}\n`);
    mkdirSync(inGit('rebase-merge'));
    writeFileSync(inGit('index.lock'), '');
    writeFileSync(inGit('refs/heads/main.lock'), '');
    chmodSync(inGit('hooks'), 0o700);
    expect(await putBack()).toEqual(['MERGE_HEAD', 'hooks']);
    for (const name of ['MERGE_HEAD', 'rebase-merge', 'index.lock', 'refs/heads/main.lock'])
      expect(existsSync(inGit(name))).toBe(false);
  });

  it('takes honest work for honest: a commit moves HEAD, index and branch back without a word', async () => {
    writeFileSync(path.join(repo.workTree, 'b'), 'b\n');
    git('add', 'b');
    git('commit', '-q', '-m', 'two');
    const refs = await readRefs(repo);
    expect(refs.get('refs/heads/main')).not.toBe(head.commit);
    expect(await putBack()).toEqual([]);
    expect(git('rev-parse', 'HEAD')).toBe(head.commit);
    expect(git('status', '--porcelain')).toBe('?? b');
  });

  it('undoes a checkout and leaves other refs as they are', async () => {
    git('checkout', '-q', '-b', 'side');
    git('commit', '-q', '--allow-empty', '-m', 'two');
    git('branch', '-D', 'other');
    expect(await putBack()).toEqual([]);
    expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    const refs = await readRefs(repo);
    expect(refs.has('refs/heads/side')).toBe(true);
    expect(refs.has('refs/heads/other')).toBe(false);
  });

  it('survives packing: the own branch comes back loose, packed, or against a folder in its place', async () => {
    git('commit', '-q', '--allow-empty', '-m', 'two');
    git('gc', '-q');
    expect(await putBack()).toEqual([]);
    expect(git('rev-parse', 'main')).toBe(head.commit);

    git('pack-refs', '--all', '--prune');
    await record();
    git('commit', '-q', '--allow-empty', '-m', 'three');
    expect(await putBack()).toEqual([]);
    expect(existsSync(inGit('refs/heads/main'))).toBe(false);
    expect(git('rev-parse', 'main')).toBe(head.commit);

    git('checkout', '-q', '--detach');
    git('branch', '-D', 'main');
    git('branch', 'main/x');
    expect(await putBack()).toEqual([]);
    expect(git('rev-parse', 'main')).toBe(head.commit);
    expect(git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  });

  it('does not follow a refs folder that became a link', async () => {
    renameSync(inGit('refs'), path.join(base, 'refs'));
    symlinkSync(path.join(base, 'refs'), inGit('refs'));
    writeFileSync(path.join(base, 'refs/heads/main'), 'f'.repeat(40));
    expect((await readRefs(repo)).has('refs/heads/main')).toBe(false);
    await putBack();
    expect(git('rev-parse', 'HEAD')).toBe(head.commit);
    expect(readFileSync(path.join(base, 'refs/heads/main'), 'utf8')).toBe('f'.repeat(40));
  });

  it('refuses a vault for another object format', async () => {
    await expect(keepMetadata({ ...repo, objectFormat: 'sha256' }, before, vault)).rejects.toThrow(/sha256/);
  });
});

describe('a linked work tree', () => {
  it('protects what is shared, and leaves the main work tree its HEAD and index', async () => {
    const linked = path.join(base, 'linked');
    git('worktree', 'add', '-q', '-b', 'feature', linked);
    const main = repo;
    repo = { ...repo, workTree: linked, gitDir: path.join(main.gitDir, 'worktrees/linked') };
    head = { ref: 'refs/heads/feature', commit: head.commit };
    await record();
    expect([...before.keys()]).toEqual(
      expect.arrayContaining(['git/HEAD', 'git/gitdir', 'git/commondir', 'common/config', 'common/hooks']),
    );
    expect([...before.keys()].filter((name) => /^common\/(HEAD|index|worktrees\/linked)/.test(name))).toEqual([]);
    git('commit', '-q', '--allow-empty', '-m', 'two');
    execFileSync('git', ['checkout', '-q', 'other'], { cwd: main.workTree, env: ENV });
    appendFileSync(path.join(main.gitDir, 'config'), '[alias]\n\tx = !true\n');
    writeFileSync(path.join(repo.gitDir, 'config.worktree'), '');
    expect(await putBack()).toEqual(['config', 'config.worktree']);
    expect(git('rev-parse', 'HEAD')).toBe(head.commit);
    expect((await readHead(main)).ref).toBe('refs/heads/other');
  });
});

describe('refs', () => {
  it('are read as git reads them, loose before packed', async () => {
    git('tag', '-a', 'v1', '-m', 'v1');
    git('pack-refs', '--all');
    git('commit', '-q', '--allow-empty', '-m', 'two');
    git('branch', 'new');
    const listed = git('for-each-ref', '--format=%(refname) %(objectname)').split('\n');
    const own = [...(await readRefs(repo))].map(([name, value]) => `${name} ${value}`).sort();
    expect(own).toEqual(listed.sort());
  });

  it('are compared without the own branch and without those this run made', async () => {
    const old = await readRefs(repo);
    git('update-ref', 'refs/relais/rejected/x', head.commit);
    git('update-ref', 'refs/relais/rejected/y', head.commit);
    git('commit', '-q', '--allow-empty', '-m', 'two');
    git('branch', '-D', 'other');
    git('tag', 'v1');
    expect(changedRefs(old, await readRefs(repo), { ref: head.ref, runId: 'x' })).toEqual([
      { ref: 'refs/heads/other', before: head.commit },
      { ref: 'refs/relais/rejected/y', after: head.commit },
      { ref: 'refs/tags/v1', after: git('rev-parse', 'HEAD') },
    ]);
  });

  it('include symbolic and damaged ones as they stand', async () => {
    git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/main');
    writeFileSync(inGit('refs/heads/empty'), '');
    symlinkSync('main', inGit('refs/heads/link'));
    const refs = await readRefs(repo);
    expect(refs.get('refs/remotes/origin/HEAD')).toBe('ref: refs/remotes/origin/main');
    expect(refs.get('refs/heads/empty')).toBe('(empty)');
    expect(refs.get('refs/heads/link')).toBe('(link to main)');
  });

  it('tell where HEAD is', async () => {
    expect(await readHead(repo)).toEqual({ ref: 'refs/heads/main', raw: 'ref: refs/heads/main\n' });
    git('checkout', '-q', '--detach');
    expect((await readHead(repo)).commit).toBe(head.commit);
    rmSync(inGit('HEAD'));
    execFileSync('mkfifo', [inGit('HEAD')]);
    expect(await readHead(repo)).toEqual({ raw: '' });
  });
});

it('drops a replacing ref, loose or packed, and leaves other refs alone', async () => {
  await record();
  git('replace', 'HEAD', git('commit-tree', '-m', 'other', 'HEAD^{tree}'));
  git('tag', 'mine');
  expect(await putBack()).toEqual([`refs/replace/${git('--no-replace-objects', 'rev-parse', 'HEAD')}`]);
  expect(git('replace', '-l')).toBe('');
  git('replace', 'HEAD', git('commit-tree', '-m', 'other', 'HEAD^{tree}'));
  git('pack-refs', '--all');
  expect((await putBack()).length).toBe(1);
  expect(git('replace', '-l')).toBe('');
  expect(git('tag')).toBe('mine');
});

describe('the git folder itself', () => {
  const mustBeWhole = async (): Promise<void> => {
    expect(git('status', '--porcelain')).toBe('');
    expect(git('fsck', '--no-dangling', '--no-progress')).toBe('');
    expect(await readRefs(repo)).toEqual(refs);
    expect(await putBack()).toEqual([]);
  };

  it.each(['inside', 'beside'])('comes back from %s the work tree', async (where) => {
    mkdirSync(path.join(repo.workTree, 'deep/er'), { recursive: true });
    const to = path.join(where === 'inside' ? path.join(repo.workTree, 'deep/er') : base, 'moved');
    renameSync(repo.gitDir, to);
    expect(await readHead(repo)).toEqual({ raw: '' });
    expect((await readRefs(repo)).size).toBe(0);
    expect(await putBack()).toEqual([`. (it had been moved to ${to})`]);
    await mustBeWhole();
  });

  it.each(['a link', 'a pointer file', 'another folder'])('takes its place back from %s', async (what) => {
    const { ino } = lstatSync(repo.gitDir);
    const far = path.join(base, 'far/away');
    mkdirSync(path.dirname(far));
    const to = what === 'another folder' ? path.join(base, 'away') : far;
    renameSync(repo.gitDir, to);
    if (what === 'a link') symlinkSync(to, repo.gitDir);
    else if (what === 'a pointer file') writeFileSync(repo.gitDir, `gitdir: ${to}\n`);
    else git('init', '-q');
    expect((await putBack())[0]).toContain('it had been moved to');
    expect(lstatSync(repo.gitDir).ino).toBe(ino);
    await mustBeWhole();
  });

  it('is made anew from the copies, refs and objects included, when it was deleted', async () => {
    git('tag', '-a', 'v1', '-m', 'v1');
    git('pack-refs', '--all');
    git('branch', 'loose');
    await record();
    rmSync(repo.gitDir, { recursive: true });
    writeFileSync(repo.gitDir, 'nothing\n');
    expect(await putBack()).toContain('. (it was gone)');
    await mustBeWhole();
    expect(git('reflog', 'show', 'main')).toContain('one');
  });

  it('of a linked work tree comes back, too', async () => {
    const linked = path.join(base, 'linked');
    git('worktree', 'add', '-q', '-b', 'feature', linked);
    repo = { ...repo, workTree: linked, gitDir: path.join(repo.gitDir, 'worktrees/linked') };
    head = { ref: 'refs/heads/feature', commit: head.commit };
    await record();
    rmSync(repo.commonDir, { recursive: true });
    expect(await putBack()).toContain('. (it was gone)');
    expect(await readRefs(repo)).toEqual(refs);
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--format=%s', 'feature')).toBe('one');
  });
});

it('removes pipes from refs, on which git would wait for ever, and names them', async () => {
  execFileSync('mkfifo', [inGit('refs/heads/pipe')]);
  rmSync(inGit('refs/heads/other'));
  execFileSync('mkfifo', [inGit('refs/heads/other')]);
  expect((await readRefs(repo)).get('refs/heads/pipe')).toBe('(fifo)');
  expect(await putBack()).toEqual(['refs/heads/other', 'refs/heads/pipe']);
  expect(git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
});

it('removes what lies deeper in the git folder than a path can say', async () => {
  const deep = 'd'.repeat(200);
  const dig = `for (let i = 0; i < 30; i += 1) { fs.mkdirSync('${deep}'); process.chdir('${deep}'); }`;
  for (const top of ['hooks', 'refs/heads']) execFileSync(process.execPath, ['-e', dig], { cwd: inGit(top) });
  const changed = await putBack();
  expect(changed.some((name) => name.startsWith('hooks/'))).toBe(true);
  for (const top of ['hooks', 'refs/heads']) expect(existsSync(inGit(`${top}/${deep}/${deep}/${deep}`))).toBe(false);
  expect(existsSync(inGit(`hooks/${deep}`))).toBe(false);
});

describe('names in the git folder that git does not know', () => {
  it('are kept by copy: put back, removed where they are new, and named', async () => {
    mkdirSync(inGit('git-crypt/keys'), { recursive: true });
    writeFileSync(inGit('git-crypt/keys/default'), 'key', { mode: 0o600 });
    await record();
    writeFileSync(inGit('git-crypt/keys/default'), 'evil');
    mkdirSync(inGit('stowaway/deep'), { recursive: true });
    writeFileSync(inGit('stowaway/deep/payload'), 'x');
    mkdirSync(inGit('.git/x'), { recursive: true });
    writeFileSync(inGit('.git/x/payload'), 'x');
    execFileSync('mkfifo', [inGit('pipe')]);
    rmSync(inGit('description'));
    expect(await putBack()).toEqual(['.git', 'description', 'git-crypt/keys/default', 'pipe', 'stowaway/deep/payload']);
    expect(readFileSync(inGit('git-crypt/keys/default'), 'utf8')).toBe('key');
    expect(lstatSync(inGit('git-crypt/keys/default')).mode & 0o777).toBe(0o600);
    expect(existsSync(inGit('description'))).toBe(true);
    for (const name of ['stowaway', '.git', 'pipe']) expect(existsSync(inGit(name))).toBe(false);
    expect(await putBack()).toEqual([]);
  });

  it('are left to the tools that write them, unless a link or a second name leads elsewhere', async () => {
    mkdirSync(inGit('lfs/objects'), { recursive: true });
    writeFileSync(inGit('gitk.cache'), 'old');
    await record();
    writeFileSync(inGit('lfs/objects/new'), 'x');
    writeFileSync(inGit('gitk.cache'), 'new');
    writeFileSync(inGit('.watchman-cookie-host-1-2'), '');
    mkdirSync(inGit('annex'));
    expect(await putBack()).toEqual([]);
    expect(readFileSync(inGit('gitk.cache'), 'utf8')).toBe('new');
    for (const name of ['lfs/objects/new', '.watchman-cookie-host-1-2', 'annex'])
      expect(existsSync(inGit(name))).toBe(true);

    writeFileSync(path.join(base, 'outside'), 'mine');
    rmSync(inGit('annex'), { recursive: true });
    symlinkSync(base, inGit('annex'));
    rmSync(inGit('gitk.cache'));
    symlinkSync(path.join(base, 'outside'), inGit('gitk.cache'));
    linkSync(path.join(base, 'outside'), inGit('tags'));
    rmSync(inGit('lfs'), { recursive: true });
    writeFileSync(inGit('lfs'), '');
    expect(await putBack()).toEqual(['annex', 'gitk.cache', 'lfs', 'tags']);
    for (const name of ['annex', 'gitk.cache', 'tags'])
      expect(lstatSync(inGit(name), { throwIfNoEntry: false })).toBeUndefined();
    expect(lstatSync(inGit('lfs')).isDirectory()).toBe(true);
    expect(readFileSync(path.join(base, 'outside'), 'utf8')).toBe('mine');
  });

  it('are told of where they are too large for a copy, and the rest comes back all the same', async () => {
    const large = 256 * 1024 * 1024 + 1;
    for (const name of ['large', 'huge']) {
      writeFileSync(inGit(name), '');
      truncateSync(inGit(name), large);
    }
    before = await walkMetadata(repo);
    expect((await keepMetadata(repo, before, vault)).tooLarge).toEqual(['git/huge', 'git/large']);
    rmSync(inGit('large'));
    truncateSync(inGit('huge'), large + 1);
    appendFileSync(inGit('config'), '# evil\n');
    expect(await putBack()).toEqual(['config', 'huge (it could not be put back)', 'large (it could not be put back)']);
    expect(readFileSync(inGit('config'), 'utf8')).not.toContain('evil');
    expect(lstatSync(inGit('huge')).size).toBe(large + 1);
  });

  it('may be the ends of a program that has ended meanwhile', async () => {
    execFileSync('mkfifo', [inGit('events')]);
    await record();
    rmSync(inGit('events'));
    expect(await putBack()).toEqual([]);
  });
});

describe('what git leaves', () => {
  it('by a commit and a fetch is put back without a word, also where it became a link', async () => {
    const message = readFileSync(inGit('COMMIT_EDITMSG'), 'utf8');
    writeFileSync(path.join(base, 'outside'), 'mine');
    rmSync(inGit('COMMIT_EDITMSG'));
    symlinkSync(path.join(base, 'outside'), inGit('COMMIT_EDITMSG'));
    writeFileSync(inGit('FETCH_HEAD'), '');
    writeFileSync(inGit('ORIG_HEAD'), `${head.commit}\n`);
    expect(await putBack()).toEqual([]);
    expect(readFileSync(inGit('COMMIT_EDITMSG'), 'utf8')).toBe(message);
    expect(existsSync(inGit('FETCH_HEAD'))).toBe(false);
  });

  it('when its upkeep is killed half-way goes without a word', async () => {
    git('repack', '-adq');
    await record();
    for (let at = 0; at < 40; at += 1) writeFileSync(path.join(repo.workTree, `f${at}`), randomBytes(100_000));
    git('add', '.');
    git('commit', '-q', '-m', 'two');
    const gc = spawn('git', ['gc', '-q', '--prune=now'], {
      cwd: repo.workTree,
      env: ENV,
      stdio: 'ignore',
      detached: true,
    });
    const ended = new Promise((resolve) => gc.once('close', resolve));
    const isAtWork = (): boolean => readdirSync(inGit('objects/pack')).some((name) => /tmp/.test(name));
    while (gc.exitCode === null && !isAtWork()) await new Promise((resolve) => setTimeout(resolve, 1));
    if (gc.pid !== undefined && gc.exitCode === null) process.kill(-gc.pid, 'SIGKILL');
    await ended;
    // What one that went to the background, or was at another step, leaves as well.
    mkdirSync(inGit('rr-cache/ab'), { recursive: true });
    mkdirSync(inGit('objects/info/commit-graphs'), { recursive: true });
    const leftovers = [
      'gc.pid',
      'gc.pid.lock',
      'gc.log',
      'gc.log.lock',
      'packed-refs.lock',
      'packed-refs.new',
      'MERGE_RR.lock',
      'rr-cache/ab/preimage',
      'info/refs_a1B2c3',
      'logs/HEAD.lock',
      'logs/refs/heads/main.lock',
      'refs/heads/main.lock',
      'objects/maintenance.lock',
      'objects/info/packs_a1B2c3',
      'objects/info/commit-graph.lock',
      'objects/info/commit-graphs/tmp_graph_a1B2c3',
      'objects/pack/.tmp-77-pack-0123456789012345678901234567890123456789.pack',
      'objects/pack/tmp_idx_a1B2c3',
    ];
    for (const name of leftovers) writeFileSync(inGit(name), 'x');
    expect(await putBack()).toEqual([]);
    expect(leftovers.filter((name) => existsSync(inGit(name)))).toEqual([]);
    expect(readdirSync(inGit('objects/pack')).filter((name) => /tmp/.test(name))).toEqual([]);
    expect(git('fsck', '--no-dangling', '--no-progress')).toBe('');
    expect(git('rev-parse', 'HEAD')).toBe(head.commit);
    expect(git('gc', '-q')).toBe('');
  });
});
