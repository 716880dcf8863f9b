import type { Config, Task } from '../generated/types.js';
import { fold, globProblem, matcher } from './globs.js';
import { oneLine } from './text.js';

/** What a task may do, after the config has had its say. */
export interface Scope {
  readonly allowed: readonly string[];
  readonly forbidden: readonly string[];
  /** Where the operator set one, every path must match it as well. */
  readonly fence?: readonly string[];
  readonly allowNewFiles: boolean;
  readonly allowLockfileChanges: boolean;
  readonly maxFiles: number;
  readonly maxLines: number;
}

/** Nothing may be touched: what the Brain is judged against. */
export const NO_SCOPE: Scope = {
  allowed: [],
  forbidden: [],
  allowNewFiles: false,
  allowLockfileChanges: false,
  maxFiles: 0,
  maxLines: 0,
};

const CONFIG_FILE = 'relais.config.json';
const INSTALLED = /^(\*\*\/)?node_modules(\/\*\*)?$/;

/** The task's scope, cut to the config's fence and ceilings; forbidden globs of both are joined. */
export function effectiveScope(config: Config, task: Task): Scope {
  const { fence_globs: fence, ceilings = {} } = config.scope;
  const allowLockfileChanges = task.scope.allow_lockfile_changes && ceilings.allow_lockfile_changes !== false;
  const forbidden = [...new Set([...config.scope.default_forbidden_globs, ...task.scope.forbidden_globs])];
  return {
    allowed: task.scope.allowed_globs,
    // Whoever may change a lockfile has to install; what git ignores there is then listed, not judged.
    forbidden: allowLockfileChanges ? forbidden.filter((glob) => !INSTALLED.test(glob)) : forbidden,
    ...(fence !== undefined && { fence }),
    allowNewFiles: task.scope.allow_new_files && ceilings.allow_new_files !== false,
    allowLockfileChanges,
    maxFiles: Math.min(task.diff_limits.max_files_touched, ceilings.max_files_touched ?? Infinity),
    maxLines: Math.min(task.diff_limits.max_lines_changed, ceilings.max_lines_changed ?? Infinity),
  };
}

const ownedMatchers = new WeakMap<Config, (path: string) => boolean>();

/** Whether a path belongs to the runner: the workspace, the config file and whatever the config adds. */
export function isRunnerOwned(config: Config): (path: string) => boolean {
  const known = ownedMatchers.get(config);
  if (known !== undefined) return known;
  const folder = fold(config.workspace_dir);
  const own = new Set([folder, CONFIG_FILE, fold(config.runner.lockfile)]);
  const inFolder = `${folder}/`;
  const added = matcher(
    config.runner.runner_owned_globs.filter((glob) => !fold(glob).startsWith(inFolder)),
    { twins: true },
  );
  const owned = (path: string): boolean => {
    const twin = fold(path);
    return twin.startsWith(inFolder) || own.has(twin) || added(path) !== undefined;
  };
  ownedMatchers.set(config, owned);
  return owned;
}

/** Whether any part of a path is a git folder, by whatever spelling a file system may accept. */
export function isGitPath(path: string): boolean {
  const twin = fold(path);
  return twin.includes('git') && twin.split('/').some((name) => /^(\.git|git~\d+)(::?\$.*)?$/.test(name));
}

/** Whether a path is a lockfile; the configured names count in every folder. */
export function isLockfile(config: Config): (path: string) => boolean {
  const names = config.scope.lockfiles.map(fold);
  return (path) => {
    const twin = `/${fold(path)}`;
    return names.some((name) => twin.endsWith(`/${name}`));
  };
}

/** Why a schema-valid task can't be accepted; empty if it can. */
export function taskProblems(task: Task, config: Config, limits: { readonly patchAttemptsLeft: number }): string[] {
  const problems: string[] = [];
  for (const key of ['allowed_globs', 'forbidden_globs'] as const) {
    for (const glob of task.scope[key]) {
      const problem = globProblem(glob);
      if (problem !== undefined) problems.push(`scope.${key}: ${oneLine(problem)}`);
    }
  }
  const { milestone_id } = config.project;
  if (task.milestone_id !== milestone_id) {
    problems.push(
      `milestone_id is ${JSON.stringify(oneLine(task.milestone_id))}, but this tick belongs to ${JSON.stringify(milestone_id)}`,
    );
  }
  if (task.builder.mode === 'patch') problems.push(...patchProblems(task, config, limits.patchAttemptsLeft));
  return problems;
}

function patchProblems(task: Task, config: Config, left: number): string[] {
  const problems: string[] = [];
  if (!config.builder.allow_patch_mode)
    problems.push('builder.mode "patch" is not allowed by the config; use "claude_code"');
  else if (left <= 0)
    problems.push('builder.mode "patch": no patch attempts are left for this milestone; use "claude_code"');
  if (task.task_kind !== 'execute')
    problems.push(`builder.mode "patch" makes no sense for task_kind "${task.task_kind}"`);
  return problems;
}
