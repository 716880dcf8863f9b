import fc from 'fast-check';
import { ODD_NAMES, RAW_ODD_NAMES } from './ground.js';

/** What one tick is given: the task's terms and the Hands' edits, as shell lines in latin1, one character a byte. */
export interface Play {
  readonly allowNew: boolean;
  readonly maxFiles: number;
  readonly check: 'none' | 'pass' | 'fail';
  readonly edits: readonly string[];
}

const ODD = [...ODD_NAMES, ...RAW_ODD_NAMES];
const INSIDE = [
  'src',
  'src/plain.js',
  'src/empty',
  'src/same.js',
  'src/bytes.bin',
  'src/tool.sh',
  'src/private.key',
  'src/loose.txt',
  'src/win.crlf',
  'src/deep',
  'src/deep/a.js',
  'src/deep/er',
  'src/deep/er/b.js',
  'src/gen',
  'src/gen/.gitignore',
  'src/pair1',
  'src/pair2',
  'src/in.link',
  'src/out.link',
  'src/dangling.link',
  'src/hollow',
  'src/my.log',
  'src/new.js',
  'src/new/deep/file.js',
  'src/gen/x.out',
  'src/.gitignore',
];
const OUTSIDE = [
  'README.md',
  'docs',
  'docs/guide.md',
  'docs/deep/er/page.md',
  'docs/new.md',
  'folder.link',
  '.gitignore',
  'package-lock.json',
  'empty',
  'logs',
  'logs/day.log',
  'build',
  'build/out.bin',
  'build/new.bin',
  'x.log',
  'x.scratch',
  'srcs',
  'SRC/plain.js',
  'new/deep/file.js',
];
const FORBIDDEN = [
  '.env',
  'src/.env.local',
  'src/my-secret.txt',
  'src/API_TOKEN',
  'src/deep/.git',
  'src/new/.git/config',
];
const OWNED = [
  'relais/FACTS.md',
  'relais/prompts/builder.user.txt',
  'relais.config.json',
  'relais/TASK.json',
  'relais/x',
];

const odd = fc.constantFrom(...ODD);
const inside = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...INSIDE) },
  { weight: 2, arbitrary: odd.map((name) => `src/odd/${name}`) },
  { weight: 1, arbitrary: fc.tuple(odd, odd).map(([folder, name]) => `src/${folder}/${name}`) },
);
const anywhere = fc.oneof(
  { weight: 6, arbitrary: inside },
  { weight: 3, arbitrary: fc.constantFrom(...OUTSIDE) },
  { weight: 1, arbitrary: odd },
  { weight: 1, arbitrary: fc.constantFrom(...FORBIDDEN) },
  { weight: 1, arbitrary: fc.constantFrom(...OWNED) },
);

/** One word of a shell line, whatever its bytes; `./` keeps a leading dash from being an option. */
function q(path: string): string {
  return `'./${path.replaceAll("'", "'\\''")}'`;
}

function parent(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.';
}

const TEXTS = ['', 'x', 'bbbb\\n', 'one\\ntwo\\n', 'one\\r\\ntwo\\r\\n', '\\0\\001\\0', '\\377\\376'];
const MODES = ['644', '755', '600', '666', '400', '4755', '000', '1777'];
const TARGETS = ['plain.js', '../docs/guide.md', '../../outside.txt', 'nowhere', '.', '/etc/hostname', '\xff'];

/** Edits of files; each is tried, and one that makes no sense by then fails without harm. */
function fileEdit(path: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const text = fc.constantFrom(...TEXTS);
  const write = fc.tuple(path, text).map(([p, t]) => `mkdir -p ${q(parent(p))}; printf '${t}' > ${q(p)}`);
  return fc.oneof(
    { weight: 5, arbitrary: write },
    { weight: 2, arbitrary: fc.tuple(path, text).map(([p, t]) => `printf 'more${t}' >> ${q(p)}`) },
    { weight: 3, arbitrary: path.map((p) => `rm -rf ${q(p)}`) },
    {
      weight: 3,
      arbitrary: fc.tuple(path, path).map(([a, b]) => `mkdir -p ${q(parent(b))}; mv -f -T ${q(a)} ${q(b)}`),
    },
    { weight: 2, arbitrary: fc.tuple(path, fc.constantFrom(...MODES)).map(([p, m]) => `chmod ${m} ${q(p)}`) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(path, fc.constantFrom(...TARGETS))
        .map(([p, t]) => `mkdir -p ${q(parent(p))}; rm -rf ${q(p)}; ln -s '${t}' ${q(p)}`),
    },
    { weight: 1, arbitrary: fc.tuple(path, path).map(([a, b]) => `ln -f ${q(a)} ${q(b)}`) },
    { weight: 1, arbitrary: path.map((p) => `mkdir -p ${q(p)}`) },
    { weight: 1, arbitrary: path.map((p) => `rm -rf ${q(p)}; mkdir -p ${q(p)}; printf 'in\\n' > ${q(`${p}/inner`)}`) },
    { weight: 1, arbitrary: path.map((p) => `rm -rf ${q(p)}; mkdir -p ${q(parent(p))}; printf 'flat\\n' > ${q(p)}`) },
    // The same size, and the old time put back.
    {
      weight: 1,
      arbitrary: fc.constant(
        `touch -r src/same.js "$STAND_IN/when"; printf 'bbbb\\n' > src/same.js; touch -r "$STAND_IN/when" src/same.js`,
      ),
    },
    // A change that is taken back is none.
    {
      weight: 1,
      arbitrary: path.map((p) => `cp -a ${q(p)} "$STAND_IN/kept"; rm -rf ${q(p)}; cp -a -T "$STAND_IN/kept" ${q(p)}`),
    },
    { weight: 1, arbitrary: path.map((p) => `rm -f ${q(p)}; mkfifo ${q(p)}`) },
  );
}

/** Git commands that honest work may run: the index, the own branch, a detached HEAD. */
function honestGit(path: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      'git add -A',
      'git add -A; git commit -q -m hands',
      'git commit -q -a -m hands',
      'git commit -q --allow-empty -m empty',
      'git checkout -q --detach',
      'git reset -q --soft HEAD~1',
      'git reset -q --hard HEAD~1',
      'git rm -q -r --cached src',
      'git checkout -q -- .',
      'git clean -q -f -d',
      'rm -f .git/index',
      'printf garbage > .git/index',
      ': > .git/index.lock',
      ': > .git/HEAD.lock',
      'git update-ref refs/heads/main HEAD~1',
      'git update-index --split-index',
    ),
    path.map((p) => `git --literal-pathspecs add -f ${q(p)}`),
    path.map((p) => `git --literal-pathspecs rm -q -r --cached ${q(p)}`),
    path.map((p) => `git update-index --assume-unchanged ${q(p)}; printf more >> ${q(p)}`),
    path.map((p) => `git update-index --skip-worktree ${q(p)}; printf more >> ${q(p)}`),
    fc.tuple(path, path).map(([a, b]) => `git --literal-pathspecs mv -f ${q(a)} ${q(b)}`),
  );
}

/** Git commands that move what the Hands may not move: other refs, configuration, hooks. */
const rogueGit = fc.constantFrom(
  'git checkout -q -b mine',
  'git branch mine',
  'git branch -q -D other',
  'git branch -f other main',
  'git checkout -q other',
  'git checkout -q -b mine; git branch -q -D main',
  'git branch -q -m main renamed',
  'git tag mine',
  'git tag -d v1',
  'git stash -q',
  'git stash -q -u',
  'git stash -q -u; git stash pop -q',
  'git pack-refs --all',
  'git gc -q --prune=now',
  'git config core.fileMode false',
  'git config core.fsmonitor "$STAND_IN/ran"',
  'git config core.worktree /nowhere',
  'printf "[core" >> .git/config',
  'rm -f .git/hooks/post-commit',
  'chmod 777 .git/hooks/post-commit',
  'printf "#!/bin/sh\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
  'printf "*\\n" >> .git/info/exclude',
  'printf "* -diff\\n" > .git/info/attributes',
  'git replace HEAD HEAD~1',
  'git sparse-checkout set src/deep',
  'git worktree add -q "$STAND_IN/second" other',
  'git update-ref -d refs/heads/main',
  'git symbolic-ref HEAD refs/heads/other',
  'git merge -q other; git rev-parse HEAD > .git/MERGE_HEAD',
);

/** A pipe holds up whoever opens it, the script itself too: pipes are made last. */
function pipesLast(edits: fc.Arbitrary<string[]>): fc.Arbitrary<string[]> {
  const makesPipe = (edit: string): boolean => edit.includes('mkfifo ');
  return edits.map((all) => [...all.filter((edit) => !makesPipe(edit)), ...all.filter(makesPipe)]);
}

const terms = {
  allowNew: fc.boolean(),
  maxFiles: fc.constantFrom(1, 3, 500),
  check: fc.constantFrom('none' as const, 'pass' as const, 'fail' as const),
};

/** Anything the Hands can think of, anywhere in the repository. */
export const anyPlay: fc.Arbitrary<Play> = fc.record({
  ...terms,
  edits: pipesLast(
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: fileEdit(anywhere) },
        { weight: 3, arbitrary: honestGit(anywhere) },
        { weight: 1, arbitrary: rogueGit },
      ),
      { minLength: 1, maxLength: 6 },
    ),
  ),
});

/** Git commands of every sort with a few edits between them. */
export const gitPlay: fc.Arbitrary<Play> = fc.record({
  ...terms,
  edits: pipesLast(
    fc.array(
      fc.oneof(
        { weight: 2, arbitrary: fileEdit(anywhere) },
        { weight: 3, arbitrary: honestGit(anywhere) },
        { weight: 2, arbitrary: rogueGit },
      ),
      { minLength: 1, maxLength: 6 },
    ),
  ),
});

/** Edits of files in scope only, and honest git commands: work that may stand. */
export const insidePlay: fc.Arbitrary<Play> = fc.record({
  allowNew: fc.constant(true),
  maxFiles: fc.constant(500),
  check: fc.constantFrom('none' as const, 'pass' as const),
  edits: pipesLast(
    fc.array(fc.oneof({ weight: 6, arbitrary: fileEdit(inside) }, { weight: 1, arbitrary: honestGit(inside) }), {
      minLength: 1,
      maxLength: 6,
    }),
  ),
});
