import { CONFIG_KEYS } from '../generated/configKeys.js';
import type { Config } from '../generated/types.js';
import { checkConfig, parseJson, type Checked } from '../schemas.js';
import { globProblem, matcher } from './globs.js';
import { suggest } from './suggest.js';

const RUNNER_FILES = ['STATE.json', 'TASK.json', 'REPORT.json', 'REPORT.md', 'BLOCKED.json', 'FACTS.md'];

/** Reads relais.config.json: valid by its schema and by the rules a schema can't state, defaults filled in, frozen. */
export function readConfig(text: string): Checked<Config> {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed;
  const checked = checkConfig(parsed.value);
  if (!checked.ok) return { ok: false, errors: checked.errors.map(withSuggestion) };
  const errors = [
    ...workspaceProblems(checked.value),
    ...pathProblems(checked.value),
    ...globProblems(checked.value),
    ...verificationProblems(checked.value),
    ...runnerProblems(checked.value),
  ];
  return errors.length > 0 ? { ok: false, errors } : { ok: true, value: freeze(checked.value) };
}

function withSuggestion(error: string): string {
  const [, place] = /^unknown key "(.*)"$/s.exec(error) ?? [];
  if (place === undefined) return error;
  const dot = place.lastIndexOf('.');
  const object = place.slice(0, Math.max(dot, 0)).replaceAll(/\[\d+\]/g, '[]');
  const meant = suggest(place.slice(dot + 1), CONFIG_KEYS.get(object) ?? []);
  return meant === undefined ? error : `${error}, did you mean "${meant}"?`;
}

function runnerProblems(config: Config): string[] {
  const problems: string[] = [];
  if (config.orchestrator.allowed_tools.trim() !== '')
    problems.push(
      'orchestrator.allowed_tools must be empty: the Brain only thinks, and a tool would let it act unjudged',
    );
  if (!config.runner.require_git) {
    problems.push(
      'runner.require_git must be true: the Judge reads what happened from git, so there is none without it',
    );
  }
  const { command } = config.claude_code_cli;
  if (!/^[^/\\]+$/.test(command) && !command.startsWith('/')) {
    problems.push(
      'claude_code_cli.command must be a bare name or an absolute path: a relative one could be replaced by the Hands',
    );
  }
  return problems;
}

function workspaceProblems(config: Config): string[] {
  const dir = config.workspace_dir;
  const problem = relativeProblem(dir) ?? (dir.includes('/') ? 'must be one folder, without "/"' : undefined);
  if (problem !== undefined) return [`workspace_dir ${problem}`];
  return /^\.git$/i.test(dir) ? ['workspace_dir must not be git’s own folder'] : [];
}

function pathProblems(config: Config): string[] {
  const workspace = config.workspace_dir;
  const { orchestrator, runner, history } = config;
  const hands = config.builder.claude_code;
  const places: [key: string, path: string][] = [
    ['runner.lockfile', runner.lockfile],
    ['history.dir', history.dir],
    ['orchestrator.system_prompt_file', orchestrator.system_prompt_file],
    ['orchestrator.user_prompt_file', orchestrator.user_prompt_file],
    ['orchestrator.task_schema_file', orchestrator.task_schema_file],
    ['builder.claude_code.system_prompt_file', hands.system_prompt_file],
    ['builder.claude_code.user_prompt_file', hands.user_prompt_file],
    ['builder.claude_code.builder_result_schema_file', hands.builder_result_schema_file],
  ];
  const problems = places.flatMap(([key, path]) => {
    const problem =
      relativeProblem(path) ?? (path.startsWith(`${workspace}/`) ? undefined : `must be inside "${workspace}/"`);
    return problem === undefined ? [] : [`${key} ${problem}`];
  });
  const taken = RUNNER_FILES.map((name) => `${workspace}/${name}`);
  for (const [key, path] of places.slice(0, 2)) {
    if (taken.includes(path)) problems.push(`${key} must not be "${path}", which the runner uses for something else`);
  }
  return [...problems, ...temporaryProblems(config)];
}

/** Whatever this glob matches is removed at every start, so it may reach nothing that has to stay. */
function temporaryProblems({ workspace_dir: workspace, runner }: Config): string[] {
  const key = 'runner.crash_cleanup.delete_tmp_glob';
  const glob = runner.crash_cleanup.delete_tmp_glob;
  if (!glob.startsWith(`${workspace}/`) || glob.slice(workspace.length + 1).includes('/'))
    return [`${key} must name files directly inside "${workspace}/"`];
  if (globProblem(glob) !== undefined) return [];
  const kept = [...RUNNER_FILES, '.gitignore'].map((name) => `${workspace}/${name}`);
  const temporary = matcher([glob], { twins: false });
  const hit = [...kept, runner.lockfile].find((path) => temporary(path) !== undefined);
  return hit === undefined ? [] : [`${key} must not match "${hit}": what it matches is removed at every start`];
}

function relativeProblem(path: string): string | undefined {
  if (/^(?:\/|[A-Za-z]:)/.test(path)) return 'must be relative to the repository';
  if (/[\\\u0000-\u001f\u007f]/.test(path)) return 'must not contain backslashes or control characters';
  const parts = path.split('/');
  if (parts.includes('..')) return 'must not contain ".."';
  return parts.includes('') || parts.includes('.')
    ? 'must be written plainly, without "./", "//" or a "/" at the end'
    : undefined;
}

function globProblems(config: Config): string[] {
  const lists: [key: string, globs: readonly string[]][] = [
    ['runner.runner_owned_globs', config.runner.runner_owned_globs],
    ['runner.crash_cleanup.delete_tmp_glob', [config.runner.crash_cleanup.delete_tmp_glob]],
    ['scope.default_allowed_globs', config.scope.default_allowed_globs],
    ['scope.default_forbidden_globs', config.scope.default_forbidden_globs],
    ['scope.fence_globs', config.scope.fence_globs ?? []],
  ];
  const problems = lists.flatMap(([key, globs]) =>
    globs.flatMap((glob) => {
      const problem = globProblem(glob);
      return problem === undefined ? [] : [`${key}: the glob ${JSON.stringify(glob)} is not usable: ${problem}`];
    }),
  );
  const nested = config.scope.lockfiles.filter((name) => /[/\\]/.test(name));
  return [
    ...problems,
    ...nested.map((name) => `scope.lockfiles: "${name}" must be a file name without a folder; it counts in any folder`),
  ];
}

function verificationProblems(config: Config): string[] {
  const { reject_metachars_regex: pattern, templates } = config.verification;
  const problems: string[] = [];
  const patternProblem = characterClassProblem(pattern);
  if (patternProblem !== undefined) problems.push(`verification.reject_metachars_regex ${patternProblem}`);
  const seen = new Set<string>();
  for (const { id, args, params = {} } of templates) {
    if (seen.has(id)) problems.push(`verification.templates: the id "${id}" is given twice`);
    seen.add(id);
    const used = new Set(args.flatMap((arg) => [...arg.matchAll(/\{\{(.*?)\}\}/g)].map(([, name = '']) => name)));
    for (const name of used) {
      if (!Object.hasOwn(params, name))
        problems.push(`verification.templates: "${id}" uses {{${name}}}, but its params do not describe it`);
    }
    for (const name of Object.keys(params)) {
      if (!used.has(name))
        problems.push(`verification.templates: "${id}" describes the parameter "${name}", but its args do not use it`);
    }
  }
  return problems;
}

// One class matches one character, so it can neither backtrack nor depend on where a value begins or ends.
function characterClassProblem(pattern: string): string | undefined {
  if (!/^\[(?:[^\\\]]|\\.)*\]$/s.test(pattern)) return 'must be exactly one character class, such as [;&|]';
  if (pattern === '[]' || pattern === '[^]') return 'must name at least one character';
  try {
    new RegExp(pattern);
    return undefined;
  } catch (error) {
    return `does not compile: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) freeze(child);
    Object.freeze(value);
  }
  return value;
}
