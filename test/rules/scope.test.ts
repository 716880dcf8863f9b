import { describe, expect, test } from 'vitest';
import { effectiveScope, isLockfile, isRunnerOwned, taskProblems } from '../../src/rules/scope.js';
import { sampleConfig, sampleTask } from './samples.js';

const wide = sampleTask({
  scope: {
    allowed_globs: ['**'],
    forbidden_globs: ['docs/**', '.git/**'],
    allow_new_files: true,
    allow_lockfile_changes: true,
  },
  diff_limits: { max_files_touched: 500, max_lines_changed: 20_000 },
});

describe('the scope of a task', () => {
  test('forbidden is what either of config and task forbids, each once', () => {
    const config = sampleConfig((raw) => (raw['scope'].default_forbidden_globs = ['.git/**', 'x/**']));
    expect(effectiveScope(config, wide).forbidden).toEqual(['.git/**', 'x/**', 'docs/**']);
  });

  test('allowed is the task’s; the config’s defaults neither widen nor narrow it', () => {
    expect(effectiveScope(sampleConfig(), sampleTask()).allowed).toEqual(['src/**']);
    expect(effectiveScope(sampleConfig(), wide).allowed).toEqual(['**']);
  });

  test('a fence is there only where the operator set one', () => {
    expect(effectiveScope(sampleConfig(), wide)).not.toHaveProperty('fence');
    const config = sampleConfig((raw) => (raw['scope'].fence_globs = ['src/**']));
    expect(effectiveScope(config, wide).fence).toEqual(['src/**']);
  });

  test('switches and limits are the task’s, whatever the config’s defaults say', () => {
    const config = sampleConfig((raw) => {
      raw['scope'].default_allow_new_files = false;
      raw['diff_limits'].default_max_files_touched = 1;
    });
    expect(effectiveScope(config, wide)).toMatchObject({
      allowNewFiles: true,
      allowLockfileChanges: true,
      maxFiles: 500,
      maxLines: 20_000,
    });
    expect(effectiveScope(config, sampleTask())).toMatchObject({ allowNewFiles: false, maxFiles: 5, maxLines: 50 });
  });

  test('ceilings cut them and never widen', () => {
    const config = sampleConfig((raw) => {
      raw['scope'].ceilings = {
        allow_new_files: false,
        allow_lockfile_changes: false,
        max_files_touched: 20,
        max_lines_changed: 30,
      };
    });
    const cut = { allowNewFiles: false, allowLockfileChanges: false, maxFiles: 20, maxLines: 30 };
    expect(effectiveScope(config, wide)).toMatchObject(cut);
    const open = sampleConfig((raw) => (raw['scope'].ceilings = { allow_new_files: true, max_files_touched: 400 }));
    expect(effectiveScope(open, sampleTask())).toMatchObject({ allowNewFiles: false, maxFiles: 5 });
  });

  test('who may change a lockfile may install, and only then', () => {
    expect(effectiveScope(sampleConfig(), sampleTask()).forbidden).toContain('**/node_modules/**');
    expect(effectiveScope(sampleConfig(), wide).forbidden).not.toContain('**/node_modules/**');
    const config = sampleConfig((raw) => (raw['scope'].ceilings = { allow_lockfile_changes: false }));
    expect(effectiveScope(config, wide).forbidden).toContain('**/node_modules/**');
  });
});

describe('what belongs to the runner', () => {
  const owned = isRunnerOwned(sampleConfig((raw) => raw['runner'].runner_owned_globs.push('ops/*.key')));

  test.each([
    'relais',
    'relais/STATE.json',
    'relais/anything/at/all',
    'relais.config.json',
    'ops/a.key',
    'RELAIS/STATE.json',
    'Relais.Config.JSON',
    'relais./STATE.json',
    're\u200dlais/x',
    'OPS/A.KEY',
  ])('%j', (path) => {
    expect(owned(path)).toBe(true);
  });

  test.each(['src/relais/x', 'relaisx', 'relais.config.json.bak', 'a/relais.config.json', 'ops/sub/a.key'])(
    'not %j',
    (path) => {
      expect(owned(path)).toBe(false);
    },
  );

  test('the workspace is wherever the config puts it', () => {
    const moved = sampleConfig((raw) => {
      const text = JSON.stringify(raw)
        .replaceAll('"relais/', '"Work/')
        .replace('"workspace_dir":"relais"', '"workspace_dir":"Work"');
      Object.assign(raw, JSON.parse(text));
    });
    expect(isRunnerOwned(moved)('work/STATE.json')).toBe(true);
    expect(isRunnerOwned(moved)('relais/STATE.json')).toBe(false);
  });
});

describe('a lockfile', () => {
  const lockfile = isLockfile(sampleConfig());

  test.each(['yarn.lock', 'packages/a/yarn.lock', 'Package-Lock.json', 'a/PNPM-LOCK.YAML'])('%j', (path) => {
    expect(lockfile(path)).toBe(true);
  });

  test.each(['my-yarn.lock', 'yarn.lock/x', 'yarn.lock.bak'])('not %j', (path) => {
    expect(lockfile(path)).toBe(false);
  });
});

describe('a task that fits the schema', () => {
  const patch = { mode: 'patch', max_turns: 1, instructions: 'x', patch: 'diff' } as const;

  test('is accepted when nothing is wrong', () => {
    expect(taskProblems(sampleTask(), sampleConfig(), { patchAttemptsLeft: 0 })).toEqual([]);
    expect(taskProblems(sampleTask({ builder: patch }), sampleConfig(), { patchAttemptsLeft: 1 })).toEqual([]);
  });

  test('is refused for another milestone', () => {
    expect(taskProblems(sampleTask({ milestone_id: 'M\n2' }), sampleConfig(), { patchAttemptsLeft: 1 })).toEqual([
      'milestone_id is "M 2", but this tick belongs to "M1"',
    ]);
  });

  test.each(['allowed_globs', 'forbidden_globs'] as const)('is refused for a bad glob in %s', (key) => {
    const task = sampleTask({ scope: { ...sampleTask().scope, [key]: ['ok/**', '!src/**', '../x'] } });
    const problems = taskProblems(task, sampleConfig(), { patchAttemptsLeft: 1 });
    expect(problems).toHaveLength(2);
    expect(problems[0]).toContain(`scope.${key}: glob "!src/**"`);
  });

  test('is refused as a patch where the config forbids it, no attempt is left, or nothing may change', () => {
    const task = sampleTask({ builder: patch });
    const off = sampleConfig((raw) => (raw['builder'].allow_patch_mode = false));
    expect(taskProblems(task, off, { patchAttemptsLeft: 5 })[0]).toContain('not allowed by the config');
    expect(taskProblems(task, sampleConfig(), { patchAttemptsLeft: 0 })[0]).toContain('no patch attempts are left');
    const question = sampleTask({ builder: patch, task_kind: 'verify_only' });
    expect(taskProblems(question, sampleConfig(), { patchAttemptsLeft: 1 })).toEqual([
      'builder.mode "patch" makes no sense for task_kind "verify_only"',
    ]);
  });
});
