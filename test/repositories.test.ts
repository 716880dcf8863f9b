import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { afterEach, describe, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import type { JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, writeFiles, type Scratch } from '../src/rehearse/scratch.js';
import { isRuntime } from '../src/rehearse/snapshot.js';

/** One file the Hands write: its bytes in the work tree, and the bytes the commit must hold. */
interface Written {
  readonly name: string;
  readonly bytes: string;
  readonly blob: string;
}

/** A repository that is not quite like others, and honest work in it. */
interface Kind {
  readonly title: string;
  /** Makes it out of a plain scratch repository and gives the work tree to tick in. */
  arrange(scratch: Scratch): Promise<string>;
  readonly work: readonly Written[];
  /** What honest Hands do besides writing the files. */
  readonly besides?: readonly JsonObject[];
  /** What must hold besides in this kind of repository, before and after any tick. */
  holds?(tree: string, scratch: Scratch): Promise<void>;
}

const scratches: Scratch[] = [];

afterEach(async () => {
  for (const scratch of scratches.splice(0)) await scratch.dispose();
});

const PLAIN = 'export const greet = (name) => `Hello, ${name}!`;\n';
const CRLF = PLAIN.replaceAll('\n', '\r\n');
const SAME: readonly Written[] = [{ name: 'src/greet.js', bytes: PLAIN, blob: PLAIN }];
const DAMAGE: readonly JsonObject[] = [
  { append: 'package.json', text: '\n' },
  { sh: 'chmod 755 README.md; rm -f docs/guide.md; mkdir -p src/new && echo x > src/new/file' },
];

async function git(cwd: string, { env }: Scratch, ...args: string[]): Promise<string> {
  return (await execa('git', args, { cwd, env, extendEnv: false })).stdout;
}

async function sh(cwd: string, { env }: Scratch, script: string): Promise<void> {
  await execa('/bin/sh', ['-ec', script], { cwd, env, extendEnv: false });
}

/** Commits everything and writes all files anew, as a checkout with the settings in force would. */
async function checkOutAnew(scratch: Scratch): Promise<string> {
  await sh(
    scratch.repo,
    scratch,
    'git add -A && git commit -qm Rules --allow-empty && git ls-files -z ":!tools" | xargs -0 rm -f && git checkout -q -- .',
  );
  return scratch.repo;
}

/** A content filter that keeps the bytes elsewhere and commits a pointer; `place` is where scripts and bytes lie. */
const FILTER = `
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const [, , how, store] = process.argv;
export const convert = (way, bytes) => {
  if (way === 'smudge') return readFileSync(store + '/' + bytes.toString().trim().split(' ')[1]);
  const oid = createHash('sha256').update(bytes).digest('hex');
  mkdirSync(store, { recursive: true });
  writeFileSync(store + '/' + oid, bytes);
  return Buffer.from('pointer ' + oid + '\\n');
};
const packet = (text) => {
  const bytes = Buffer.from(text);
  process.stdout.write(Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]));
};
const flush = () => process.stdout.write('0000');
const lists = async function* () {
  let rest = Buffer.alloc(0);
  let list = [];
  for await (const chunk of process.stdin) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4) {
      const size = parseInt(rest.subarray(0, 4).toString(), 16);
      if (size === 0) {
        yield list;
        list = [];
        rest = rest.subarray(4);
      } else if (rest.length < size) break;
      else {
        list.push(rest.subarray(4, size));
        rest = rest.subarray(size);
      }
    }
  }
};
if (how !== 'process') process.stdout.write(convert(how, readFileSync(0)));
else {
  const next = lists();
  await next.next();
  packet('git-filter-server\\n'); packet('version=2\\n'); flush();
  await next.next();
  packet('capability=clean\\n'); packet('capability=smudge\\n'); flush();
  for (let head = await next.next(); !head.done; head = await next.next()) {
    const way = head.value[0].toString().trim().replace('command=', '');
    const bytes = Buffer.concat((await next.next()).value);
    const out = convert(way, bytes);
    packet('status=success\\n'); flush();
    packet(out); flush(); flush();
  }
}
`;

const BIG = 'a large thing, kept elsewhere\n';
const POINTER = `pointer ${createHash('sha256').update(BIG).digest('hex')}\n`;
const FILTERED: readonly Written[] = [...SAME, { name: 'src/art.bin', bytes: BIG, blob: POINTER }];

/** A repository whose *.bin files go through a required filter; the command is given as git would be told it. */
function filtered(
  title: string,
  how: 'clean and smudge' | 'process',
  where: (scratch: Scratch) => { script: string; command: string; store: string },
  besides?: readonly JsonObject[],
): Kind {
  return {
    title,
    work: FILTERED,
    ...(besides && { besides }),
    arrange: async (scratch) => {
      const { script, command, store } = where(scratch);
      await mkdir(path.dirname(script), { recursive: true });
      await writeFile(script, FILTER);
      const ways = how === 'process' ? ['process'] : ['clean', 'smudge'];
      for (const way of ways)
        await git(scratch.repo, scratch, 'config', `filter.store.${way}`, `${command} ${way} '${store}'`);
      await git(scratch.repo, scratch, 'config', 'filter.store.required', 'true');
      await writeFiles(scratch.repo, { '.gitattributes': '*.bin filter=store -text\n', 'src/art.bin': 'old\n' });
      await writeFiles(scratch.repo, { 'assets/other.bin': 'also kept elsewhere\n' });
      return checkOutAnew(scratch);
    },
    holds: async (tree, scratch) => {
      expect(await readFile(path.join(tree, 'assets/other.bin'), 'utf8')).toBe('also kept elsewhere\n');
      expect(await git(tree, scratch, 'cat-file', 'blob', 'HEAD:assets/other.bin')).toMatch(/^pointer [0-9a-f]{64}$/);
    },
  };
}

const outside = ({ root }: Scratch): { script: string; command: string; store: string } => ({
  script: path.join(root, 'driver/filter.mjs'),
  command: `node '${path.join(root, 'driver/filter.mjs')}'`,
  store: path.join(root, 'driver/store'),
});

function sparse(title: string, ...pattern: string[]): Kind {
  return {
    title,
    work: SAME,
    arrange: async (scratch) => {
      await git(scratch.repo, scratch, 'sparse-checkout', 'set', ...pattern);
      return scratch.repo;
    },
    holds: async (tree, scratch) => {
      await expect(lstat(path.join(tree, 'docs'))).rejects.toThrow('ENOENT');
      expect(await git(tree, scratch, 'ls-tree', '--name-only', 'HEAD', 'docs/')).toBe('docs/guide.md');
      expect(await git(tree, scratch, 'ls-files', '-t', 'docs')).toBe('S docs/guide.md');
    },
  };
}

async function clone(scratch: Scratch, source: string, ...options: string[]): Promise<string> {
  const tree = path.join(scratch.root, 'a clone');
  await git(scratch.root, scratch, 'clone', '-q', ...options, source, tree);
  return tree;
}

const KINDS: readonly Kind[] = [
  {
    title: 'core.autocrlf=true, work done in CRLF',
    work: [{ name: 'src/greet.js', bytes: CRLF, blob: PLAIN }],
    arrange: async (scratch) => {
      await git(scratch.repo, scratch, 'config', 'core.autocrlf', 'true');
      return checkOutAnew(scratch);
    },
    holds: async (tree) => expect(await readFile(path.join(tree, 'src/sum.js'), 'utf8')).toContain('{\r\n'),
  },
  {
    title: 'core.autocrlf=true, work done in LF',
    work: SAME,
    arrange: async (scratch) => {
      await git(scratch.repo, scratch, 'config', 'core.autocrlf', 'true');
      return checkOutAnew(scratch);
    },
  },
  {
    title: 'eol=crlf by .gitattributes, next to files that are committed with CRLF',
    work: [
      { name: 'src/greet.js', bytes: CRLF, blob: PLAIN },
      { name: 'src/table.bat', bytes: 'two\r\nthree\r\n', blob: 'two\r\nthree\r\n' },
    ],
    arrange: async (scratch) => {
      await writeFiles(scratch.repo, {
        '.gitattributes': '*.js text eol=crlf\n*.bat -text\n',
        'src/table.bat': 'one\r\ntwo\r\n',
      });
      return checkOutAnew(scratch);
    },
    holds: async (tree) => expect(await readFile(path.join(tree, 'src/sum.js'), 'utf8')).toContain('{\r\n'),
  },
  filtered('a required clean and smudge filter outside the repository', 'clean and smudge', outside),
  filtered('a required process filter outside the repository', 'process', outside),
  filtered('a filter that keeps its bytes in the git folder, as git-lfs does', 'process', (scratch) => ({
    ...outside(scratch),
    store: path.join(scratch.repo, '.git/lfs/objects'),
  })),
  filtered(
    'a filter that keeps its bytes in the git folder, and Hands that stage their work',
    'process',
    (scratch) => ({ ...outside(scratch), store: path.join(scratch.repo, '.git/lfs/objects') }),
    [{ sh: 'git add -A' }],
  ),
  filtered('a required filter whose script is tracked, named by its full path', 'clean and smudge', (scratch) => ({
    ...outside(scratch),
    script: path.join(scratch.repo, 'tools/filter.mjs'),
    command: `node '${path.join(scratch.repo, 'tools/filter.mjs')}'`,
  })),
  filtered('a required filter whose script is tracked, named relative to the work tree', 'process', (scratch) => ({
    ...outside(scratch),
    script: path.join(scratch.repo, 'tools/filter.mjs'),
    command: 'node tools/filter.mjs',
  })),
  {
    title: 'sha256 object names',
    work: SAME,
    arrange: async (scratch) => {
      await rm(path.join(scratch.repo, '.git'), { recursive: true });
      await git(scratch.repo, scratch, 'init', '-q', '-b', 'main', '--object-format=sha256');
      await sh(scratch.repo, scratch, 'git config user.name Ada && git config user.email ada@example.com');
      return checkOutAnew(scratch);
    },
    holds: async (tree, scratch) => expect(await git(tree, scratch, 'rev-parse', 'HEAD')).toMatch(/^[0-9a-f]{64}$/),
  },
  {
    title: 'a linked work tree',
    work: SAME,
    arrange: async (scratch) => {
      const tree = path.join(scratch.root, 'second');
      await git(scratch.repo, scratch, 'worktree', 'add', '-q', '-b', 'second', tree);
      return tree;
    },
    holds: async (tree, scratch) => {
      expect(await git(scratch.repo, scratch, 'status', '--porcelain')).toBe('');
      expect(await git(scratch.repo, scratch, 'rev-list', '--count', 'main')).toBe('1');
      expect(await git(tree, scratch, 'symbolic-ref', 'HEAD')).toBe('refs/heads/second');
    },
  },
  {
    title: 'a submodule',
    work: SAME,
    arrange: async (scratch) => {
      const other = path.join(scratch.root, 'other');
      await sh(
        scratch.root,
        scratch,
        `git init -q '${other}' && cd '${other}' && echo one > a && git add a && git -c user.name=x -c user.email=x@x.example commit -qm one`,
      );
      await sh(
        scratch.repo,
        scratch,
        `git -c protocol.file.allow=always submodule --quiet add ../other sub && git commit -qm sub`,
      );
      return scratch.repo;
    },
    holds: async (tree, scratch) => {
      expect(await git(tree, scratch, 'ls-tree', 'HEAD', 'sub')).toMatch(/^160000 commit/);
      expect(await git(tree, scratch, 'submodule', 'status')).toMatch(/^ [0-9a-f]{40} sub \(/);
      expect(await readFile(path.join(tree, 'sub/a'), 'utf8')).toBe('one\n');
    },
  },
  sparse('a sparse checkout in cone mode', '--cone', 'src', 'checks', 'relais', 'tests'),
  sparse('a sparse checkout with a sparse index', '--cone', '--sparse-index', 'src', 'checks', 'relais', 'tests'),
  sparse('a sparse checkout by patterns', '--no-cone', '/*', '!/docs/'),
  {
    title: 'a shallow clone',
    work: SAME,
    arrange: async (scratch) => {
      await sh(scratch.repo, scratch, 'git commit -q --allow-empty -m Second');
      return clone(scratch, `file://${scratch.repo}`, '--depth=1');
    },
    holds: async (tree, scratch) =>
      expect(await git(tree, scratch, 'rev-parse', '--is-shallow-repository')).toBe('true'),
  },
  {
    title: 'a work tree of a bare repository',
    work: SAME,
    arrange: async (scratch) => {
      const bare = path.join(scratch.root, 'bare.git');
      const tree = path.join(scratch.root, 'tree');
      await git(scratch.root, scratch, 'clone', '-q', '--bare', scratch.repo, bare);
      await git(bare, scratch, 'worktree', 'add', '-q', '-b', 'work', tree);
      return tree;
    },
    holds: async (tree, scratch) => {
      expect(await git(tree, scratch, 'symbolic-ref', 'HEAD')).toBe('refs/heads/work');
      expect(await git(path.join(scratch.root, 'bare.git'), scratch, 'rev-list', '--count', 'main')).toBe('1');
    },
  },
  {
    title: 'a git folder elsewhere',
    work: SAME,
    arrange: async (scratch) => {
      await git(scratch.repo, scratch, 'init', '-q', `--separate-git-dir=${path.join(scratch.root, 'elsewhere.git')}`);
      return scratch.repo;
    },
    holds: async (tree) => expect(await readFile(path.join(tree, '.git'), 'utf8')).toMatch(/^gitdir: .*elsewhere\.git/),
  },
  {
    title: 'a partial clone that lacks the blobs outside its sparse checkout',
    work: SAME,
    arrange: async (scratch) => {
      await git(scratch.repo, scratch, 'config', 'uploadpack.allowFilter', 'true');
      await git(scratch.repo, scratch, 'config', 'uploadpack.allowAnySHA1InWant', 'true');
      return clone(scratch, `file://${scratch.repo}`, '--filter=blob:none', '--sparse').then(async (tree) => {
        await git(tree, scratch, 'sparse-checkout', 'set', 'src', 'checks', 'relais', 'tests');
        // From here on nothing can be fetched any more.
        await git(tree, scratch, 'remote', 'set-url', 'origin', `file://${scratch.root}/gone`);
        return tree;
      });
    },
    holds: async (tree, scratch) => {
      const missing = await git(tree, scratch, 'rev-list', '--objects', '--all', '--missing=print');
      expect(missing).toMatch(/^\?[0-9a-f]{40}$/m);
      await expect(lstat(path.join(tree, 'docs'))).rejects.toThrow('ENOENT');
    },
  },
];

/** A repository of this kind in which the Hands do this, and its work tree. */
async function arranged(kind: Kind, steps: readonly JsonObject[]): Promise<{ scratch: Scratch; tree: string }> {
  const scenario = await fullScenario({ orchestrator: [{ task: {} }], builder: [{ do: steps, result: {} }] });
  const scratch = await makeScratch({ config: await readBase('config.json'), scenario });
  scratches.push(scratch);
  const tree = await kind.arrange(scratch);
  await sh(tree, scratch, 'git config user.name Ada && git config user.email ada@example.com');
  expect(await git(tree, scratch, 'status', '--porcelain')).toBe('');
  await kind.holds?.(tree, scratch);
  return { scratch, tree };
}

function honest(kind: Kind): JsonObject[] {
  return [...kind.work.map(({ name, bytes }) => ({ write: name, text: bytes })), ...(kind.besides ?? [])];
}

/** Kind, mode and content of everything under a folder, and with `times` what else would tell of a rewrite. */
async function look(root: string, skip: RegExp, times = false): Promise<Map<string, string>> {
  const seen = new Map<string, string>();
  const enter = async (name: string): Promise<void> => {
    const file = path.join(root, name);
    const stat = await lstat(file, { bigint: true });
    const about = times && !stat.isDirectory() ? `${stat.ino} ${stat.mtimeNs}` : '';
    const content = stat.isSymbolicLink()
      ? await readlink(file)
      : stat.isFile()
        ? createHash('sha256')
            .update(await readFile(file))
            .digest('hex')
        : '';
    if (name !== '') seen.set(name, `${stat.mode.toString(8)} ${content} ${about}`);
    if (!stat.isDirectory()) return;
    for (const child of await readdir(file)) {
      const at = path.join(name, child);
      if (!skip.test(at) && !isRuntime(at)) await enter(at);
    }
  };
  await enter('');
  return seen;
}

/** The work tree, the git folders without what every tick adds, the index with its flags, and the branches. */
async function state(tree: string, scratch: Scratch): Promise<unknown> {
  const [own = '', common = ''] = (
    await git(tree, scratch, 'rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir')
  ).split('\n');
  // Objects, logs and the rejected work are added; the index is compared by what it says.
  const added = /^(?:objects|logs|index|refs(?:\/relais)?|lfs|worktrees\/[^/]+\/(?:index|logs|refs))$/;
  return {
    files: await look(tree, /^\.git$/),
    dotGit: (await lstat(path.join(tree, '.git'))).isFile() && (await readFile(path.join(tree, '.git'), 'utf8')),
    own: await look(own, added),
    common: await look(common, added),
    index: await git(tree, scratch, 'ls-files', '-s', '-v', '--sparse'),
    refs: await git(tree, scratch, 'for-each-ref', '--exclude=refs/relais').catch(() => branches(tree, scratch)),
    head: await git(tree, scratch, 'rev-parse', 'HEAD'),
  };
}

/** For a git that does not know --exclude yet. */
async function branches(tree: string, scratch: Scratch): Promise<string> {
  return git(tree, scratch, 'for-each-ref', 'refs/heads', 'refs/tags', 'refs/remotes', 'refs/stash');
}

describe.each(KINDS.map((kind) => [kind.title, kind] as const))('in a repository with %s', (_title, kind) => {
  it('an honest tick commits the right bytes and touches nothing else', async () => {
    const { scratch, tree } = await arranged(kind, honest(kind));
    const before = await look(tree, /^\.git$/, true);
    const end = await runTick({ cwd: tree, env: scratch.env });
    expect(end.outcome).toMatchObject({ code: 'SUCCESS', evidence: [] });
    expect(end.report?.budgets.warnings).toEqual([]);
    const names = kind.work.map(({ name }) => name).toSorted();
    expect((await git(tree, scratch, 'diff', '--name-only', 'HEAD~1', 'HEAD')).split('\n')).toEqual(names);
    for (const { name, bytes, blob } of kind.work) {
      const args = ['cat-file', 'blob', `HEAD:${name}`];
      const stored = await execa('git', args, {
        cwd: tree,
        env: scratch.env,
        extendEnv: false,
        stripFinalNewline: false,
      });
      expect(stored.stdout).toBe(blob);
      expect(await readFile(path.join(tree, name), 'utf8')).toBe(bytes);
    }
    expect(await git(tree, scratch, 'status', '--porcelain')).toBe('');
    const after = await look(tree, /^\.git$/, true);
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name),
    );
    expect(changed.toSorted()).toEqual(names);
    await kind.holds?.(tree, scratch);
  });

  it('a stopped tick leaves the state before it, byte for byte', async () => {
    const { scratch, tree } = await arranged(kind, [...honest(kind), ...DAMAGE]);
    const before = await state(tree, scratch);
    const end = await runTick({ cwd: tree, env: scratch.env });
    expect(end.outcome.code).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    expect(await state(tree, scratch)).toEqual(before);
    expect(await git(tree, scratch, 'status', '--porcelain')).toBe('');
    await kind.holds?.(tree, scratch);
  });
});

describe('a bare repository with its work tree given from outside', () => {
  it('is refused with the reason, and nothing is called', async () => {
    const { scratch, tree } = await arranged(
      { title: '', work: SAME, arrange: async ({ repo }) => repo },
      honest({ title: '', work: SAME, arrange: async ({ repo }) => repo }),
    );
    const gitDir = path.join(scratch.root, 'bare.git');
    await sh(tree, scratch, `mv .git '${gitDir}' && git --git-dir='${gitDir}' config core.bare true`);
    const env = { ...scratch.env, GIT_DIR: gitDir, GIT_WORK_TREE: tree };
    const before = await look(tree, /^$/);
    const end = await runTick({ cwd: tree, env });
    expect(end.outcome.verdict).toBe('blocked');
    expect(end.outcome.evidence.join('\n')).toContain('not a git repository');
    expect(await look(tree, /^$/)).toEqual(before);
    await expect(lstat(`${scratch.scenario}.calls.ndjson`)).rejects.toThrow('ENOENT');
  });
});
