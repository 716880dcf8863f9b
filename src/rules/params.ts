import type { Config, Task } from '../generated/types.js';
import { oneLine } from './text.js';

type Template = Config['verification']['templates'][number];
type Phase = 'fast' | 'slow';

/** One check, ready to be started: nothing in it is expanded again. */
export interface Check {
  readonly template_id: string;
  readonly phase: Phase;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly timeout_ms: number;
  /** Values that must also stay inside the repository once links are resolved. */
  readonly pathParams: readonly string[];
}

/** All checks of a task, or every reason why none may run. */
export type Expanded =
  | { readonly ok: true; readonly checks: readonly Check[] }
  | { readonly ok: false; readonly problems: readonly string[] };

const PLACEHOLDER = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;
// Blanks that `\s` does not know, and everything invisible.
const BLANK = /[\s\u0085\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufeff\uffa0]/;
// oxlint-disable-next-line no-control-regex
const NEVER = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]|\p{Surrogate}/u;

/** Expands every check a task asks for; one bad parameter anywhere and none is returned. */
export function expand(config: Config, task: Task): Expanded {
  const templates = new Map(config.verification.templates.map((template) => [template.id, template]));
  const given = new Map(Object.entries(task.verification.params ?? {}));
  const problems = [...given.keys()]
    .filter((id) => !templates.has(id))
    .map((id) => `parameters for the unknown template "${oneLine(id)}"`);
  const metachars = new RegExp(config.verification.reject_metachars_regex);
  const checks: Check[] = [];
  for (const template of templates.values())
    problems.push(...valueProblems(config, metachars, template, given.get(template.id)));
  for (const phase of ['fast', 'slow'] as const) {
    const seen = new Set<string>();
    for (const id of task.verification[phase]) {
      const template = templates.get(id);
      if (seen.has(id)) problems.push(`template "${oneLine(id)}" is listed twice in ${phase}`);
      else if (template === undefined) problems.push(`${phase}: there is no template "${oneLine(id)}" in the config`);
      else {
        const values = new Map(Object.entries(given.get(id) ?? {}));
        const missing = useProblems(template, values);
        problems.push(...missing);
        if (missing.length === 0) checks.push(checkOf(config, template, phase, values));
      }
      seen.add(id);
    }
  }
  return problems.length === 0 ? { ok: true, checks } : { ok: false, problems: [...new Set(problems)] };
}

function valueProblems(
  config: Config,
  metachars: RegExp,
  template: Template,
  given: Readonly<Record<string, unknown>> | undefined,
): string[] {
  const declared = new Map(Object.entries(template.params ?? {}));
  return Object.entries(given ?? {}).flatMap(([name, value]) => {
    const param = declared.get(name);
    const why =
      param === undefined
        ? 'is not a parameter of the template'
        : valueProblem(config.verification, metachars, value, param.kind);
    return why === undefined ? [] : [`${template.id}: "${oneLine(name)}" ${why}`];
  });
}

function valueProblem(
  rules: Config['verification'],
  metachars: RegExp,
  value: unknown,
  kind: 'string_token' | 'path',
): string | undefined {
  if (typeof value !== 'string') return `is ${value === null ? 'null' : `a ${typeof value}`}, not a string`;
  if (value === '') return 'is empty';
  if (value.length > rules.max_param_len) return `is longer than ${rules.max_param_len} characters`;
  if (NEVER.test(value)) return 'has control characters';
  if (rules.reject_whitespace_in_params && BLANK.test(value)) return 'has white space';
  if (rules.reject_dotdot && value.includes('..')) return 'has ".."';
  if (metachars.test(value)) return 'has a character that verification.reject_metachars_regex refuses';
  return kind === 'path' ? pathProblem(value) : undefined;
}

function pathProblem(value: string): string | undefined {
  if (/^[/~]|^[A-Za-z]:|\\/.test(value)) return 'is not a path relative to the repository';
  return value.split('/').includes('..') ? 'leads out of the repository' : undefined;
}

/** What is wrong between a template and the values it is used with: missing ones, and ones that would be read as an option. */
function useProblems(template: Template, values: ReadonlyMap<string, unknown>): string[] {
  const declared = new Set(Object.keys(template.params ?? {}));
  const missing = [...declared]
    .filter((name) => !values.has(name))
    .map((name) => `${template.id}: "${name}" is missing`);
  const end = template.args.indexOf('--');
  const inArgs = template.args.flatMap((arg, at) =>
    [...arg.matchAll(PLACEHOLDER)].flatMap(([, name = '']) => {
      if (!declared.has(name)) return [`${template.id}: {{${name}}} is used but not declared in the template`];
      const value = values.get(name);
      const isOption = typeof value === 'string' && value.startsWith('-') && (end < 0 || at < end);
      return isOption ? [`${template.id}: "${name}" begins with "-" and does not stand after "--"`] : [];
    }),
  );
  return [...missing, ...inArgs];
}

function checkOf(config: Config, template: Template, phase: Phase, values: ReadonlyMap<string, unknown>): Check {
  const { timeout_fast_seconds, timeout_slow_seconds } = config.verification;
  const paths = Object.entries(template.params ?? {}).filter(([, param]) => param.kind === 'path');
  return {
    template_id: template.id,
    phase,
    cmd: template.cmd,
    args: template.args.map((arg) => arg.replace(PLACEHOLDER, (_, name: string) => String(values.get(name)))),
    timeout_ms: (phase === 'fast' ? timeout_fast_seconds : timeout_slow_seconds) * 1000,
    pathParams: paths.map(([name]) => String(values.get(name))),
  };
}
