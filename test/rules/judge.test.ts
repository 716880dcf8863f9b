import { describe, expect, test } from 'vitest';
import { blastLine, blastRadius, JUDGE_ROWS, type JudgeFacts } from '../../src/rules/judge.js';
import { NO_SCOPE } from '../../src/rules/scope.js';
import { decide } from '../../src/rules/table.js';
import { testRows } from './rows.js';
import { SRC_SCOPE, touch } from './samples.js';

const QUIET: JudgeFacts = {
  task_kind: 'execute',
  scope: SRC_SCOPE,
  touched: [],
  metadataChanged: [],
  refsMoved: [],
  headMovedExternally: [],
  isLockfile: (path) => path.endsWith('yarn.lock'),
  totals: blastRadius([]),
};

function facts(change: Partial<JudgeFacts>): JudgeFacts {
  const touched = change.touched ?? [];
  return { ...QUIET, totals: blastRadius(touched), ...change };
}

function join(left: JudgeFacts, right: JudgeFacts): JudgeFacts {
  return {
    ...left,
    task_kind: left.task_kind === 'execute' ? right.task_kind : left.task_kind,
    touched: [...left.touched, ...right.touched],
    metadataChanged: [...left.metadataChanged, ...right.metadataChanged],
    refsMoved: [...left.refsMoved, ...right.refsMoved],
    totals: {
      files_touched: left.totals.files_touched + right.totals.files_touched,
      lines_added: left.totals.lines_added + right.totals.lines_added,
      lines_deleted: left.totals.lines_deleted + right.totals.lines_deleted,
      new_files: left.totals.new_files + right.totals.new_files,
    },
  };
}

describe('A4', () => {
  testRows({
    rows: JUDGE_ROWS,
    quiet: facts({ touched: [touch('src/a.ts')] }),
    join,
    exclusive: [['question_side_effects', 'verify_only_side_effects']],
    firing: {
      runner_owned: {
        facts: facts({ touched: [touch('src/owned', { ownedByRunner: true })] }),
        evidence: ['modified src/owned: belongs to the runner'],
      },
      forbidden: {
        facts: facts({ touched: [touch('src/.env')] }),
        evidence: ['modified src/.env: matches the forbidden glob "**/.env*"'],
      },
      outside_allowed: {
        facts: facts({ touched: [touch('package.json', { change: 'deleted' })] }),
        evidence: ['deleted package.json: matches no allowed glob'],
      },
      new_file: {
        facts: facts({ touched: [touch('src/new.ts', { change: 'added' })] }),
        evidence: ['added src/new.ts: new files are not allowed'],
      },
      lockfile: {
        facts: facts({ touched: [touch('src/yarn.lock')] }),
        evidence: ['modified src/yarn.lock: lockfile changes are not allowed'],
      },
      diff_too_large: {
        facts: facts({ touched: [touch('src/a.ts', { linesAdded: 30, linesDeleted: 21 })] }),
        evidence: ['51 lines changed, at most 50 allowed'],
      },
      question_side_effects: {
        facts: facts({ task_kind: 'question', touched: [touch('src/a.ts')] }),
        evidence: ['modified src/a.ts: a question task may change nothing'],
      },
      verify_only_side_effects: {
        facts: facts({ task_kind: 'verify_only', touched: [touch('src/a.ts')] }),
        evidence: ['modified src/a.ts: a verify_only task may change nothing'],
      },
      head_moved: {
        facts: facts({ refsMoved: [{ ref: 'refs/heads/other', after: 'abc' }] }),
        evidence: ['refs/heads/other moved from (absent) to abc'],
      },
    },
  });

  test('all violations of the row that fires are reported, those of later rows are not', () => {
    const fired = decide(
      JUDGE_ROWS,
      facts({ touched: [touch('.env'), touch('x.ts'), touch('src/.env.local'), touch('src/n', { change: 'added' })] }),
    );
    expect(fired?.outcome.evidence).toEqual([
      'modified .env: matches the forbidden glob "**/.env*"',
      'modified src/.env.local: matches the forbidden glob "**/.env*"',
    ]);
  });
});

describe('what is forbidden besides the globs', () => {
  const open = { ...SRC_SCOPE, allowed: ['**'], forbidden: [], allowNewFiles: true };

  test.each(['.git/config', 'src/.git', 'vendor/.GIT/hooks/x', 'a/git~1/config', '.g\u200cit/config', '.git. /x'])(
    'the path %j belongs to git',
    (path) => {
      const fired = decide(JUDGE_ROWS, facts({ scope: open, touched: [touch(path)] }));
      expect(fired?.id).toBe('forbidden');
      expect(fired?.outcome.evidence[0]).toMatch(/is one of git's own files$/);
    },
  );

  test.each(['.gitignore', 'src/git', 'digit/x', '.github/x', 'src/my.git'])('the path %j does not', (path) => {
    expect(decide(JUDGE_ROWS, facts({ scope: open, touched: [touch(path)] }))).toBeUndefined();
  });

  test('git’s metadata is named the same way for a linked work tree’s own folder and the shared one', () => {
    const fired = decide(
      JUDGE_ROWS,
      facts({ metadataChanged: ['git/config.worktree', 'common/hooks/pre\u001bcommit'] }),
    );
    expect(fired?.outcome.evidence).toEqual([
      "changed .git/config.worktree: is one of git's own files",
      "changed .git/hooks/pre\\x1bcommit: is one of git's own files",
    ]);
  });

  test('a path inside a submodule', () => {
    const fired = decide(JUDGE_ROWS, facts({ scope: open, touched: [touch('lib/x', { insideSubmodule: true })] }));
    expect(fired?.outcome.evidence).toEqual(['modified lib/x: is inside a submodule']);
  });

  test.each(['fifo', 'socket', 'block', 'char'] as const)('a %s that is there, but not one that went away', (kind) => {
    const made = touch('src/x', { change: 'added', kind });
    expect(decide(JUDGE_ROWS, facts({ scope: open, touched: [made] }))?.outcome.evidence).toEqual([
      `added src/x: is a ${kind}, which no commit can hold`,
    ]);
    expect(
      decide(JUDGE_ROWS, facts({ scope: open, touched: [touch('src/x', { change: 'deleted', kind })] })),
    ).toBeUndefined();
  });

  test('a twin of a forbidden name, though not of an allowed one', () => {
    const forbidden = decide(JUDGE_ROWS, facts({ touched: [touch('src/.ENV')] }));
    expect(forbidden?.id).toBe('forbidden');
    expect(decide(JUDGE_ROWS, facts({ touched: [touch('SRC/a.ts')] }))?.id).toBe('outside_allowed');
  });
});

describe('limits', () => {
  test('exactly the limit is allowed, one more is not', () => {
    const files = (count: number) => Array.from({ length: count }, (_, at) => touch(`src/${at}`, { linesDeleted: 0 }));
    expect(decide(JUDGE_ROWS, facts({ touched: files(5) }))).toBeUndefined();
    expect(decide(JUDGE_ROWS, facts({ touched: files(6) }))?.outcome.evidence).toEqual([
      '6 files touched, at most 5 allowed',
    ]);
    const lines = (added: number) => [touch('src/a', { linesAdded: added, linesDeleted: 20 })];
    expect(decide(JUDGE_ROWS, facts({ touched: lines(30) }))).toBeUndefined();
    expect(decide(JUDGE_ROWS, facts({ touched: lines(31) }))?.id).toBe('diff_too_large');
  });

  test('both limits are named when both are passed', () => {
    const touched = Array.from({ length: 6 }, (_, at) => touch(`src/${at}`, { linesAdded: 50 }));
    expect(decide(JUDGE_ROWS, facts({ touched }))?.outcome.evidence).toHaveLength(2);
  });

  test('a switch that is on lets its row be quiet', () => {
    const touched = [touch('src/yarn.lock', { change: 'added' })];
    expect(decide(JUDGE_ROWS, facts({ touched }))?.id).toBe('new_file');
    expect(decide(JUDGE_ROWS, facts({ touched, scope: { ...SRC_SCOPE, allowNewFiles: true } }))?.id).toBe('lockfile');
    const both = { ...SRC_SCOPE, allowNewFiles: true, allowLockfileChanges: true };
    expect(decide(JUDGE_ROWS, facts({ touched, scope: both }))).toBeUndefined();
  });

  test('a new folder alone is no new file, a new link is', () => {
    expect(decide(JUDGE_ROWS, facts({ touched: [touch('src/d', { change: 'added', kind: 'dir' })] }))).toBeUndefined();
    expect(decide(JUDGE_ROWS, facts({ touched: [touch('src/l', { change: 'added', kind: 'link' })] }))?.id).toBe(
      'new_file',
    );
  });

  test('a fence narrows what the task allows', () => {
    const scope = { ...SRC_SCOPE, fence: ['src/app/**', 'docs/**'] };
    expect(decide(JUDGE_ROWS, facts({ scope, touched: [touch('src/app/x')] }))).toBeUndefined();
    expect(decide(JUDGE_ROWS, facts({ scope, touched: [touch('src/x')] }))?.outcome.evidence).toEqual([
      "modified src/x: is outside the config's scope.fence_globs",
    ]);
    expect(decide(JUDGE_ROWS, facts({ scope, touched: [touch('docs/x')] }))?.outcome.evidence).toEqual([
      'modified docs/x: matches no allowed glob',
    ]);
  });

  test('no scope at all lets nothing pass', () => {
    expect(decide(JUDGE_ROWS, facts({ scope: NO_SCOPE, touched: [touch('src/a')] }))?.id).toBe('outside_allowed');
  });
});

describe('references', () => {
  test('a reference that was deleted, and a HEAD somebody else moved, are named', () => {
    const fired = decide(
      JUDGE_ROWS,
      facts({ headMovedExternally: ['HEAD moved'], refsMoved: [{ ref: 'refs/tags/v1', before: 'abc' }] }),
    );
    expect(fired?.outcome.evidence).toEqual(['HEAD moved', 'refs/tags/v1 moved from abc to (deleted)']);
  });
});

describe('the blast radius', () => {
  test('is the sum over the touched set, and folders are no new files', () => {
    const radius = blastRadius([
      touch('a', { linesAdded: 3, linesDeleted: 4 }),
      touch('b', { change: 'added', linesAdded: 10, linesDeleted: 0 }),
      touch('c', { change: 'added', kind: 'dir', linesAdded: 0, linesDeleted: 0 }),
    ]);
    expect(radius).toEqual({ files_touched: 3, lines_added: 13, lines_deleted: 4, new_files: 1 });
    expect(blastLine(radius)).toBe('3 files, +13/-4, 1 new');
  });
});
