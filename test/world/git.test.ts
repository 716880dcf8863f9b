import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Repository } from '../../src/model.js';
import { exists } from '../../src/world/files.js';
import { copyRules, createGit, openRepository, readSettings, type Git } from '../../src/world/git/git.js';
import { GitError } from '../../src/world/git/call.js';
import { absolute, decodePath } from '../../src/world/paths.js';

let dir: string;
let root: string;
const at = (...parts: string[]): string => path.join(root, ...parts);
const saved = { ...process.env };

/** The user's git, with a fixed environment. */
function user(...args: string[]): string {
  const env = { PATH: saved['PATH'], HOME: path.join(dir, 'home'), GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C', TZ: 'UTC' };
  return execFileSync('git', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    .toString()
    .trim();
}

async function opened(cwd = root): Promise<{ git: Git; repository: Repository }> {
  const found = await openRepository(cwd);
  if (found.found === 'no') throw new Error(found.why);
  return {
    git: createGit(found.repository, await readSettings(found.repository.workTree)),
    repository: found.repository,
  };
}

async function commitAll(): Promise<string> {
  user('add', '-A');
  user('commit', '-qm', 'more');
  return user('rev-parse', 'HEAD');
}

async function content(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

beforeEach(async () => {
  dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'relais-git-')));
  root = path.join(dir, 'repo');
  await mkdir(path.join(dir, 'home'));
  await mkdir(root);
  for (const name of Object.keys(process.env)) if (name.startsWith('GIT_')) delete process.env[name];
  Object.assign(process.env, { HOME: path.join(dir, 'home'), GIT_CONFIG_NOSYSTEM: '1' });
  delete process.env['XDG_CONFIG_HOME'];
  user('init', '-q', '-b', 'main', '--template=');
  user('config', '--global', 'user.name', 'Ada Example');
  user('config', '--global', 'user.email', 'ada@example.com');
  await writeFile(at('a.txt'), 'one\ntwo\n');
  await mkdir(at('src'));
  await writeFile(at('src', 'b.ts'), 'b\n');
  await commitAll();
});
afterEach(async () => {
  for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
  Object.assign(process.env, saved);
  await rm(dir, { recursive: true, force: true });
});

describe('opening', () => {
  it('finds the parts from a subfolder and from a linked work tree', async () => {
    const found = await openRepository(at('src'));
    const git = at('.git');
    expect(found).toEqual({
      found: 'yes',
      repository: { workTree: root, gitDir: git, commonDir: git, mainTree: root, objectFormat: 'sha1' },
    });
    user('worktree', 'add', '-q', '../other');
    const { repository } = await opened(path.join(dir, 'other'));
    expect(repository).toMatchObject({
      workTree: path.join(dir, 'other'),
      gitDir: path.join(git, 'worktrees', 'other'),
      commonDir: git,
      mainTree: root,
    });
  });

  it('says why there is none', async () => {
    expect(await openRepository(dir)).toMatchObject({
      found: 'no',
      why: expect.stringContaining('not a git repository') as string,
    });
    user('init', '-q', '--bare', path.join(dir, 'bare'));
    expect(await openRepository(path.join(dir, 'bare'))).toMatchObject({ found: 'no' });
  });

  it('is not redirected by the environment', async () => {
    Object.assign(process.env, { GIT_DIR: '/nowhere', GIT_WORK_TREE: '/', GIT_INDEX_FILE: '/nowhere' });
    const { git } = await opened();
    expect((await git.status()).changes).toEqual([]);
  });

  it('knows sha256 repositories', async () => {
    root = path.join(dir, 'wide');
    await mkdir(root);
    user('init', '-q', '--object-format=sha256');
    await writeFile(at('f'), 'x\n');
    await commitAll();
    const { git, repository } = await opened();
    expect(repository.objectFormat).toBe('sha256');
    const base = await git.treeOf('HEAD');
    const tree = (await git.buildTree(base, [{ path: 'f', mode: '0', oid: null }], path.join(dir, 'index'))).tree;
    expect(await git.numstat(base, tree)).toEqual(new Map([['f', { added: 0, deleted: 1 }]]));
  });
});

describe('looking', () => {
  it('names every changed file, whatever its name', async () => {
    const odd = [
      'new/é "q".txt',
      'new/tab\there',
      'new/line\nbreak',
      ' lead',
      'a -> b',
      decodePath(Buffer.from([0x6e, 0xff])),
    ];
    await mkdir(at('new'));
    for (const name of odd) await writeFile(absolute(root, name), 'x');
    await writeFile(at('a.txt'), 'changed\n');
    user('mv', 'src/b.ts', 'src/c d.ts');
    const { git } = await opened();
    const seen = new Map((await git.status()).changes.map(({ path: name, xy }) => [name, xy]));
    expect([...seen.keys()].toSorted()).toEqual([...odd, 'a.txt', 'src/b.ts', 'src/c d.ts'].toSorted());
    expect(seen.get('a.txt')).toBe('.M');
    expect(seen.get('src/b.ts')).toBe('D.');
  });

  it('does not write the index', async () => {
    const before = await readFile(at('.git', 'index'));
    await writeFile(at('a.txt'), 'one\ntwo\n');
    const { git } = await opened();
    expect((await git.status()).changes).toEqual([]);
    expect(await readFile(at('.git', 'index'))).toEqual(before);
  });

  it('reads HEAD on a branch, detached and before the first commit', async () => {
    const { git } = await opened();
    const commit = user('rev-parse', 'HEAD');
    expect(await git.head()).toEqual({ ref: 'refs/heads/main', commit, tree: user('rev-parse', 'HEAD^{tree}') });
    user('checkout', '-q', '--detach');
    expect(await git.head()).toEqual({ commit, tree: user('rev-parse', 'HEAD^{tree}') });
    user('checkout', '-q', '--orphan', 'fresh');
    expect(await git.head()).toBeUndefined();
    expect(await git.refExists('refs/heads/main')).toBe(true);
    expect(await git.refExists('refs/heads/none')).toBe(false);
  });

  it('sees flags in the index and operations in progress', async () => {
    user('update-index', '--assume-unchanged', 'a.txt');
    user('update-index', '--skip-worktree', 'src/b.ts');
    await writeFile(at('plain'), '');
    user('add', 'plain');
    const { git } = await opened();
    const entries = await git.indexEntries();
    expect([...entries].map(([name, entry]) => [name, entry.flagged])).toEqual([
      ['a.txt', true],
      ['plain', false],
      ['src/b.ts', true],
    ]);
    expect(entries.get('plain')).toMatchObject({ mode: '100644', oid: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391' });
    expect(await git.operationInProgress()).toEqual([]);
    await writeFile(at('.git', 'MERGE_HEAD'), '');
    await mkdir(at('.git', 'rebase-merge'));
    expect(await git.operationInProgress()).toEqual(['a merge', 'a rebase']);
  });

  it("ignores by the rules under the rule root and the user's own, not by those in the work tree", async () => {
    const rules = path.join(dir, 'rules');
    await mkdir(path.join(rules, 'src'), { recursive: true });
    await writeFile(path.join(rules, '.gitignore'), 'dist/\n*.log\n!keep.log\na.txt\n');
    await writeFile(path.join(rules, 'src', '.gitignore'), 'gen\n');
    await writeFile(at('.gitignore'), '*\n');
    await mkdir(path.join(dir, 'home', '.config', 'git'), { recursive: true });
    await writeFile(path.join(dir, 'home', '.config', 'git', 'ignore'), '.idea\n');
    const { git } = await opened();
    const asked = [
      'dist/x/y',
      'z.log',
      'keep.log',
      'a.txt',
      'src/gen',
      'src/b.ts',
      '.idea/w',
      'line\nbreak.log',
      'dist',
      ':(exclude)x.log',
      ':!y',
      '[a-z].log',
    ];
    expect([...(await git.ignored(asked, rules))]).toEqual([
      'dist/x/y',
      'z.log',
      'a.txt',
      'src/gen',
      '.idea/w',
      'line\nbreak.log',
      ':(exclude)x.log',
      '[a-z].log',
    ]);
    expect(await git.ignored(['src/b.ts'], rules)).toEqual(new Set());
  });

  it('fails loudly instead of seeing nothing', async () => {
    const { git } = await opened();
    await writeFile(at('.git', 'index'), 'garbage');
    await expect(git.status()).rejects.toThrow(GitError);
    await expect(git.indexEntries()).rejects.toThrow(GitError);
    await expect(git.treeOf('0'.repeat(40))).rejects.toThrow(GitError);
    await expect(content(await git.blobTo('0'.repeat(40)))).rejects.toThrow(GitError);
  });
});

describe('conversion', () => {
  const ENTRY = { kind: 'file', ino: 1, nlink: 1, size: 999, mode: 0o644, mtimeMs: 0, ctimeMs: 0 } as const;

  it('is not looked for where nothing converts', async () => {
    const { git } = await opened();
    expect(await git.convertedPaths(await git.indexEntries(), () => ENTRY)).toEqual(new Set());
  });

  it('is found for line ends, ident and filters', async () => {
    await writeFile(at('.gitattributes'), '*.crlf text eol=crlf\n*.id ident\n*.up filter=up\n');
    user('config', '--global', 'filter.up.clean', 'tr a-z A-Z');
    user('config', '--global', 'filter.up.smudge', 'tr A-Z a-z');
    await writeFile(at('w.crlf'), 'x\r\ny\r\n');
    await writeFile(at('i.id'), '$Id$\n');
    await writeFile(at('f.up'), 'loud\n');
    await commitAll();
    const { git } = await opened();
    const converted = await git.convertedPaths(await git.indexEntries(), (name) => ({
      ...ENTRY,
      size: readFileSync(at(name)).length,
    }));
    expect([...converted].toSorted()).toEqual(['f.up', 'i.id', 'w.crlf']);
  });

  it('stores files as git add would, by the attributes of the given root', async () => {
    user('config', '--global', 'filter.up.clean', 'tr a-z A-Z');
    const frozen = path.join(dir, 'frozen');
    await mkdir(path.join(frozen, 'sub'), { recursive: true });
    await writeFile(path.join(frozen, '.gitattributes'), '*.up filter=up\n*.crlf text\n');
    // The work tree's own attributes came later and must not count.
    await writeFile(at('.gitattributes'), '* filter=none -text\n');
    const names = [
      'f.up',
      'sub/w.crlf',
      '"quoted"',
      'line\nbreak',
      'end\r',
      decodePath(Buffer.from([0x6e, 0xff])),
      '-dash',
      'back\\slash',
    ];
    for (const name of names) await writeFile(absolute(frozen, name), `${name.length}x\r\n`);
    const { git } = await opened();
    const oids = await git.storeFiles(frozen, names);
    expect([...oids.keys()]).toEqual(names);
    expect(await content(await git.blobTo(oids.get('f.up') ?? ''))).toBe('4X\r\n');
    expect(await content(await git.blobTo(oids.get('sub/w.crlf') ?? ''))).toBe('10x\n');
    expect(await content(await git.blobTo(oids.get('end\r') ?? ''))).toBe('4x\r\n');
    const bytes = await git.storeBytes(Buffer.from('raw\r\n'));
    expect(await content(await git.blobTo(bytes))).toBe('raw\r\n');
  });
});

describe('building', () => {
  it("replaces paths in a tree without looking at the user's index or files", async () => {
    const { git } = await opened();
    const base = user('rev-parse', 'HEAD');
    const oid = await git.storeBytes(Buffer.from('1\n2\n3\n'));
    const binary = await git.storeBytes(Buffer.from('\0\n\0\n'));
    const odd = decodePath(Buffer.from([0x6e, 0xff]));
    const before = await readFile(at('.git', 'index'));
    // src becomes a file: its content has to go first.
    const changes = [
      { path: 'src', mode: '100755', oid },
      { path: 'src/b.ts', mode: '0', oid: null },
      { path: odd, mode: '100644', oid: binary },
      { path: 'link', mode: '120000', oid },
    ];
    const tree = (await git.buildTree(base, changes, path.join(dir, 'index'))).tree;
    expect(await git.numstat(base, tree)).toEqual(
      new Map([
        ['link', { added: 3, deleted: 0 }],
        [odd, { added: 2, deleted: 0 }],
        ['src', { added: 3, deleted: 0 }],
        ['src/b.ts', { added: 0, deleted: 1 }],
      ]),
    );
    // Attributes must not hide lines either.
    await writeFile(at('.gitattributes'), '* -diff\n');
    await mkdir(at('.git', 'info'), { recursive: true });
    await writeFile(at('.git', 'info', 'attributes'), '* binary\n');
    expect((await git.numstat(base, tree)).get('src')).toEqual({ added: 3, deleted: 0 });
    expect(await readFile(at('.git', 'index'))).toEqual(before);
    expect((await git.buildTree(base, [], path.join(dir, 'index'))).tree).toBe(await git.treeOf(base));
    const refused = [
      { path: '.git/config', mode: '100644', oid },
      { path: 'src/.gitmodules', mode: '120000', oid },
      { path: 'fine', mode: '100644', oid },
    ];
    expect((await git.buildTree(base, refused, path.join(dir, 'index'))).refused).toEqual([
      '.git/config',
      'src/.gitmodules',
    ]);
  });

  it('commits as the user, moves the branch only from where it was, and stages what changed', async () => {
    const { git } = await opened();
    const base = user('rev-parse', 'HEAD');
    await writeFile(at('a.txt'), 'new\n');
    const oid = await git.storeBytes(Buffer.from('new\n'));
    const tree = (await git.buildTree(base, [{ path: 'a.txt', mode: '100644', oid }], path.join(dir, 'index'))).tree;
    const date = new Date('2026-01-02T03:04:05Z');
    const commit = await git.commitTree({ tree, parents: [base], message: 'Do it\n\nRelais-Run: x\n', date });
    expect(user('log', '-1', '--format=%an <%ae> %cn %aI%n%B', commit)).toBe(
      'Ada Example <ada@example.com> Ada Example 2026-01-02T03:04:05+00:00\nDo it\n\nRelais-Run: x',
    );
    expect(await git.updateRef('refs/heads/main', commit, commit, 'no')).toBe(false);
    expect(await git.updateRef('refs/heads/main', commit, base, 'relais')).toBe(true);
    expect(await git.updateRef('refs/relais/rejected/x', base, undefined, 'keep')).toBe(true);
    expect(await git.updateRef('refs/relais/rejected/x', commit, undefined, 'keep')).toBe(true);
    await expect(git.updateRef('refs/heads/bad..name', commit, undefined, 'x')).rejects.toThrow(GitError);
    await git.stage(await git.treeChanges(base, tree));
    expect(user('status', '--porcelain')).toBe('');
    expect((await git.recentCommits(5)).map((line) => line.replace(/^\w+ \S+ /, ''))).toEqual(['Do it', 'more']);
    expect(await git.version()).toMatch(/^\d+\.\d+/);
  });

  it('moves a detached HEAD itself', async () => {
    user('checkout', '-q', '--detach');
    const { git } = await opened();
    const base = user('rev-parse', 'HEAD');
    const commit = await git.commitTree({
      tree: await git.treeOf(base),
      parents: [base],
      message: 'x',
      date: new Date(0),
    });
    expect(await git.updateRef('HEAD', commit, base, 'relais')).toBe(true);
    expect(await git.head()).toEqual({ commit, tree: user('rev-parse', 'HEAD^{tree}') });
    expect(user('rev-parse', 'main')).toBe(base);
  });

  it('writes a patch that applies again, up to a limit', async () => {
    const { git } = await opened();
    const base = await git.treeOf('HEAD');
    const oid = await git.storeBytes(Buffer.from('one\n2\n'));
    const binary = await git.storeBytes(Buffer.from([0, 1, 2, 255]));
    const tree = (
      await git.buildTree(
        base,
        [
          { path: 'a.txt', mode: '100644', oid },
          { path: 'bin', mode: '100644', oid: binary },
        ],
        path.join(dir, 'index'),
      )
    ).tree;
    const file = path.join(dir, 'diff.patch');
    expect(await git.patch(base, tree, file, 1_000_000)).toEqual({ cut: false });
    const text = await readFile(file, 'utf8');
    expect(await git.applyPatch(text, { check: true })).toEqual({ ok: true, stderr: '' });
    expect(await readFile(at('a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect((await git.applyPatch(text, { check: false })).ok).toBe(true);
    expect(await readFile(at('bin'))).toEqual(Buffer.from([0, 1, 2, 255]));
    expect(await git.applyPatch(text, { check: true })).toMatchObject({ ok: false });
    expect(await git.patch(base, tree, file, 40)).toEqual({ cut: true });
    expect((await readFile(file)).length).toBe(40);
  });

  it('refuses a patch that leaves the tree or goes through a link', async () => {
    await symlink(dir, at('out'));
    const { git } = await opened();
    for (const name of ['../evil', 'out/evil', '.git/evil']) {
      const text = `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`;
      expect(await git.applyPatch(text, { check: false }), name).toMatchObject({ ok: false });
    }
    expect(await exists(path.join(dir, 'evil'))).toBe(false);
  });

  it('gives many blobs in order, however large', async () => {
    const { git } = await opened();
    const texts = ['', 'a\nb', 'x'.repeat(300_000), 'a\nb'];
    const oids = await Promise.all(texts.map((text) => git.storeBytes(Buffer.from(text))));
    const reader = git.openBlobs();
    const seen: string[] = [];
    for (const oid of oids) seen.push((await reader.read(oid)).toString());
    expect(seen).toEqual(texts);
    await expect(reader.read('0'.repeat(40))).rejects.toThrow(GitError);
    await reader.close();
    await git.openBlobs().close();
  });
});

describe('hardening', () => {
  it('runs no program the repository names', async () => {
    const marker = path.join(dir, 'ran');
    const evil = path.join(dir, 'evil.sh');
    await writeFile(evil, `#!/bin/sh\necho "$0 $*" >> ${marker}\n`);
    await chmod(evil, 0o755);
    const { git } = await opened();
    const base = await git.treeOf('HEAD');
    const hooks = at('.git', 'hooks');
    await mkdir(hooks, { recursive: true });
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-commit', 'post-commit', 'applypatch-msg'])
      await symlink(evil, path.join(hooks, hook));
    for (const key of [
      'core.fsmonitor',
      'core.pager',
      'core.editor',
      'diff.external',
      'diff.x.textconv',
      'diff.x.command',
      'gpg.program',
      'core.sshCommand',
      'core.askPass',
    ])
      user('config', key, evil);
    user('config', 'core.hooksPath', hooks);
    user('config', 'commit.gpgSign', 'true');
    user('config', 'log.showSignature', 'true');
    await mkdir(at('.git', 'info'), { recursive: true });
    await writeFile(at('.git', 'info', 'attributes'), '* diff=x\n');
    await rm(marker, { force: true });
    await writeFile(at('a.txt'), 'other\n');
    await git.status();
    await git.indexEntries();
    const oid = await git.storeBytes(Buffer.from('other\n'));
    const tree = (await git.buildTree(base, [{ path: 'a.txt', mode: '100644', oid }], path.join(dir, 'index'))).tree;
    await git.numstat(base, tree);
    await git.patch(base, tree, path.join(dir, 'p'), 10_000);
    const commit = await git.commitTree({
      tree,
      parents: [user('rev-parse', 'HEAD')],
      message: 'x',
      date: new Date(0),
    });
    await rm(marker, { force: true });
    await git.updateRef('refs/heads/main', commit, undefined, 'x');
    await git.stage(await git.treeChanges(base, tree));
    await git.recentCommits(3);
    expect(await exists(marker)).toBe(false);
  });

  it('takes no git from inside the repository, and is not fooled by replaced objects', async () => {
    const marker = path.join(dir, 'ran');
    await mkdir(at('node_modules', '.bin'), { recursive: true });
    await writeFile(at('node_modules', '.bin', 'git'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    process.env['PATH'] = `${at('node_modules', '.bin')}:${saved['PATH'] ?? ''}`;
    const base = user('rev-parse', 'HEAD');
    await writeFile(at('a.txt'), 'evil\n');
    const evil = await commitAll();
    user('reset', '-q', '--hard', base);
    user('replace', base, evil);
    const { git } = await opened(at('src'));
    await git.status();
    await git.recentCommits(1);
    expect(await exists(marker)).toBe(false);
    expect(await git.treeOf(base)).not.toBe(await git.treeOf(evil));
  });
});

describe("the user's own rules", () => {
  it.each([
    ['in the folder of settings', 'home/.config/git/ignore', undefined],
    ['where ~ points', 'home/my-ignore', '~/my-ignore'],
    ['beside the work tree', 'shared-ignore', '../shared-ignore'],
  ])('are frozen as they were when the tick began: %s', async (_where, file, configured) => {
    if (configured !== undefined) user('config', '--global', 'core.excludesFile', configured);
    await mkdir(path.dirname(path.join(dir, file)), { recursive: true });
    await writeFile(path.join(dir, file), '*.secret\n');
    const { repository } = await opened();
    const git = createGit(repository, await copyRules(await readSettings(root), root, dir));
    await writeFile(path.join(dir, file), '*\n');
    await writeFile(at('key.secret'), 'k');
    await writeFile(at('new.txt'), 'n');
    expect((await git.status()).changes).toEqual([{ path: 'new.txt', xy: '??' }]);
  });
});
