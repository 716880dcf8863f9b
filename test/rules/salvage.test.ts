import { describe, expect, it } from 'vitest';
import type { Task } from '../../src/generated/types.js';
import { detect } from '../../src/rules/detect.js';
import { olderThan, pickRun, readRejectedMessage, startOf, undoneRuns } from '../../src/rules/rejected.js';
import { canMerge, nameProblem, widenedTask, wideningProblem, type Widening } from '../../src/rules/salvage.js';
import { starterConfig } from '../../src/rules/starter.js';
import { checkTask } from '../../src/schemas.js';

const NONE: Widening = { allow: [], allowNewFiles: false, allowLockfile: false };
const TASK: Task = {
  task_id: 'T1',
  milestone_id: 'an older one',
  task_kind: 'question',
  intent: 'Ask.',
  question: { prompt: 'Which?' },
  scope: {
    allowed_globs: ['src/**'],
    forbidden_globs: ['docs/**', 'lib/**'],
    allow_new_files: false,
    allow_lockfile_changes: false,
  },
  diff_limits: { max_files_touched: 5, max_lines_changed: 50 },
  verification: { fast: [], slow: [] },
  builder: { mode: 'claude_code', max_turns: 1, instructions: 'Look.' },
};

describe('the task of a salvage', () => {
  const config = starterConfig(detect({ paths: [], texts: new Map() }), '');

  it('is the recorded one, in the milestone of the config', () => {
    expect(widenedTask(TASK, config, 'R1', NONE)).toEqual({ ...TASK, milestone_id: config.project.milestone_id });
  });

  it('is widened by exactly what is given, and is still a valid task', () => {
    const widening = { allow: ['docs/**', 'x'], maxLines: 9, maxFiles: 90, allowNewFiles: true, allowLockfile: true };
    const task = widenedTask(TASK, config, 'R1', widening);
    expect(checkTask(task).ok).toBe(true);
    expect(task).toMatchObject({
      task_kind: 'execute',
      scope: {
        allowed_globs: ['src/**', 'docs/**', 'x'],
        forbidden_globs: ['lib/**'],
        allow_new_files: true,
        allow_lockfile_changes: true,
      },
      diff_limits: { max_files_touched: 90, max_lines_changed: 9 },
    });
    expect(task).not.toHaveProperty('question');
  });

  it('is made up only where --allow says what may be touched', () => {
    expect(widenedTask(undefined, config, 'R1', NONE)).toMatchObject({ refused: expect.stringContaining('no task') });
    const task = widenedTask(undefined, config, '20261118T083915Z-3fa9c1d2', { ...NONE, allow: ['src/**'] });
    expect(checkTask(task).ok).toBe(true);
    expect(task).toMatchObject({ scope: { allowed_globs: ['src/**'] } });
  });

  it('refuses globs that never widen and numbers beyond the schema', () => {
    expect(wideningProblem(NONE)).toBeUndefined();
    for (const allow of ['', '../x', '!src/**', '/etc/**', 'x'.repeat(201)])
      expect(wideningProblem({ ...NONE, allow: [allow] }), allow).toMatchObject({ usage: true });
    expect(wideningProblem({ ...NONE, maxLines: 20_001 })).toMatchObject({ usage: true });
    expect(wideningProblem({ ...NONE, maxFiles: 0 })).toMatchObject({ usage: true });
  });
});

describe('small questions about refused work', () => {
  it('tells which git can merge trees', () => {
    expect(['2.37.9', '2.38.0', '2.39.5.windows.1', '3.0', '1.99', 'odd'].map(canMerge)).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it.each(['../x', 'a/../b', 'a//b', './a', '.git/x', 'a/.GIT/x', 'git~1/x'])('never writes to %s', (path) => {
    expect(nameProblem(path)).toBeDefined();
  });

  it('lets odd but honest names pass', () => {
    for (const path of ['a', '..a', 'a..', '-x', '.gitignore', 'a b/\n']) expect(nameProblem(path)).toBeUndefined();
  });

  it('reads the code from the message of a rollback, and no other message', () => {
    expect(readRejectedMessage('relais: rejected work of R\n\nSTOP_DIFF_TOO_LARGE\n')).toEqual({
      code: 'STOP_DIFF_TOO_LARGE',
    });
    expect(readRejectedMessage('relais: rejected work of R\n\nodd\n')).toEqual({});
    expect(readRejectedMessage('fix: a thing')).toBeUndefined();
  });

  it('knows when a run began, and how old something is', () => {
    expect(startOf('20261118T083915Z-3fa9c1d2')?.toISOString()).toBe('2026-11-18T08:39:15.000Z');
    expect(startOf('20269999T083915Z-3fa9c1d2')).toBeUndefined();
    expect(startOf('abc')).toBeUndefined();
    const now = new Date('2026-01-31T00:00:00Z');
    expect(olderThan('2026-01-01T00:00:00Z', 30, now)).toBe(false);
    expect(olderThan('2025-12-31T23:59:59Z', 30, now)).toBe(true);
    expect([olderThan(null, 1, now), olderThan(null, 0, now)]).toEqual([false, true]);
  });

  it('takes an id before a prefix, and a prefix only if it is unique', () => {
    const runs = ['ab', 'abc', 'x'].map((run_id) => ({ run_id }));
    expect(pickRun(runs, 'ab', 'list')).toEqual({ run_id: 'ab' });
    expect(pickRun(runs, 'abc', 'list')).toEqual({ run_id: 'abc' });
    for (const asked of ['a', 'y', '']) expect(pickRun(runs, asked, 'list')).toMatchObject({ usage: true });
  });

  it('counts an undo that was taken back for nothing', () => {
    const [tick, undo, redo] = [{ runId: 't' }, { runId: 'u', undoes: 't' }, { runId: 'r', undoes: 'u' }];
    expect([...undoneRuns([undo, tick])]).toEqual([['t', 'u']]);
    expect([...undoneRuns([redo, undo, tick])]).toEqual([['u', 'r']]);
    expect(undoneRuns([{ runId: 'u2', undoes: 't' }, redo, undo, tick]).get('t')).toBe('u2');
  });
});
