import { existsSync } from 'node:fs';

/** The flags of a command line the real program would accept. */
export interface Flags {
  readonly outputFormat: 'text' | 'json' | 'stream-json';
  readonly schema: boolean;
  readonly sessionId: string | undefined;
  readonly model: string;
}

/** Accepted, or the one line the real program would print on stderr. */
export type CheckedArgv = { readonly ok: true; readonly flags: Flags } | { readonly ok: false; readonly line: string };

type Arity = 'none' | 'one' | 'many';
type Values = ReadonlyMap<string, string>;

const ARITY: ReadonlyMap<string, Arity> = new Map<string, Arity>([
  ['--print', 'none'],
  ['--verbose', 'none'],
  ['--strict-mcp-config', 'none'],
  ['--no-session-persistence', 'none'],
  ['--output-format', 'one'],
  ['--permission-mode', 'one'],
  ['--json-schema', 'one'],
  ['--max-turns', 'one'],
  ['--max-budget-usd', 'one'],
  ['--system-prompt', 'one'],
  ['--system-prompt-file', 'one'],
  ['--append-system-prompt', 'one'],
  ['--append-system-prompt-file', 'one'],
  ['--setting-sources', 'one'],
  ['--session-id', 'one'],
  ['--model', 'one'],
  ['--fallback-model', 'one'],
  ['--tools', 'many'],
  ['--allowedTools', 'many'],
  ['--disallowedTools', 'many'],
]);

const FORMATS = ['text', 'json', 'stream-json'] as const;
const MODES = ['acceptEdits', 'auto', 'bypassPermissions', 'default', 'dontAsk', 'plan'];
const SOURCES = ['user', 'project', 'local'];
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The names of all flags, for --help. */
export const FLAG_NAMES: readonly string[] = [...ARITY.keys()];

/** Checks a command line as strictly as the real program does. */
export function checkArgv(
  args: readonly string[],
  root: { readonly isRoot: boolean; readonly sandbox: boolean },
): CheckedArgv {
  const parsed = parseArgv(args);
  if (typeof parsed === 'string') return { ok: false, line: parsed };
  const line = problem(parsed, root);
  if (line !== undefined) return { ok: false, line };
  const outputFormat = FORMATS.find((format) => format === parsed.get('--output-format')) ?? 'text';
  const model = parsed.get('--model') ?? 'default';
  return {
    ok: true,
    flags: { outputFormat, schema: parsed.has('--json-schema'), sessionId: parsed.get('--session-id'), model },
  };
}

/** The values by flag, or the line of the first thing that can't be parsed. */
function parseArgv(args: readonly string[]): Map<string, string> | string {
  const values = new Map<string, string>();
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const name = word === '-p' ? '--print' : word;
    const arity = ARITY.get(name);
    if (arity === undefined) {
      return word.startsWith('-')
        ? `error: unknown option '${word}'`
        : `error: unexpected argument '${word}' (the prompt goes to stdin)`;
    }
    if (arity === 'none') {
      values.set(name, '');
      continue;
    }
    const value = args[at + 1];
    if (value === undefined || value.startsWith('--')) return `error: option '${name} <value>' argument missing`;
    values.set(name, value);
    at += 1;
    // A variadic flag eats every word up to the next flag.
    while (arity === 'many' && args[at + 1] !== undefined && !args[at + 1]!.startsWith('-')) at += 1;
  }
  return values;
}

type ProblemRow = readonly [flag: string, find: (value: string, all: Values) => string | undefined];

const PROBLEM_ROWS: readonly ProblemRow[] = [
  ['--output-format', (value) => oneOf(value, FORMATS, '--output-format')],
  [
    '--output-format',
    (value, all) =>
      value === 'stream-json' && !all.has('--verbose')
        ? 'Error: When using --print, --output-format=stream-json requires --verbose'
        : undefined,
  ],
  ['--permission-mode', (value) => oneOf(value, MODES, '--permission-mode')],
  ['--session-id', (value) => (UUID.test(value) ? undefined : 'Error: Invalid session ID. Must be a valid UUID.')],
  [
    '--max-turns',
    (value) => (/^\d+$/.test(value) ? undefined : `error: option '--max-turns <turns>' argument '${value}' is invalid`),
  ],
  [
    '--max-budget-usd',
    (value) =>
      Number(value) > 0 ? undefined : `error: option '--max-budget-usd <amount>' argument '${value}' is invalid`,
  ],
  [
    '--json-schema',
    (value) => (isJsonObject(value) ? undefined : 'Error: --json-schema is not valid JSON with an object at the top'),
  ],
  [
    '--json-schema',
    (value) =>
      value.includes('json-schema.org/draft/2020-12')
        ? 'Error: --json-schema is not a valid JSON Schema: no schema with key or ref "https://json-schema.org/draft/2020-12/schema"'
        : undefined,
  ],
  ['--setting-sources', (value) => badSource(value)],
  ['--system-prompt-file', (value) => missingFile(value)],
  ['--append-system-prompt-file', (value) => missingFile(value)],
  [
    '--fallback-model',
    (value, all) =>
      value === all.get('--model') ? 'Error: Fallback model cannot be the same as the main model' : undefined,
  ],
];

function problem(values: Values, root: { readonly isRoot: boolean; readonly sandbox: boolean }): string | undefined {
  if (!values.has('--print')) return 'Error: without -p this program would wait for a terminal';
  for (const [flag, find] of PROBLEM_ROWS) {
    const value = values.get(flag);
    const line = value === undefined ? undefined : find(value, values);
    if (line !== undefined) return line;
  }
  if (values.get('--permission-mode') === 'bypassPermissions' && root.isRoot && !root.sandbox) {
    return '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons';
  }
  return undefined;
}

function oneOf(value: string, allowed: readonly string[], flag: string): string | undefined {
  return allowed.includes(value)
    ? undefined
    : `error: option '${flag}' argument '${value}' is invalid. Allowed choices are ${allowed.join(', ')}.`;
}

function badSource(value: string): string | undefined {
  const bad = value.split(',').find((source) => source !== '' && !SOURCES.includes(source));
  return bad === undefined
    ? undefined
    : `Error: Invalid setting source: ${bad}. Valid options are: ${SOURCES.join(', ')}`;
}

function missingFile(path: string): string | undefined {
  return existsSync(path) ? undefined : `Error: System prompt file not found: ${path}`;
}

function isJsonObject(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
