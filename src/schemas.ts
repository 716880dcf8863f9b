import type { ErrorObject } from 'ajv';
import type { Blocked, BuilderResult, Config, Lock, Meta, Report, State, Task } from './generated/types.js';
import * as validators from './generated/validators.js';
import { jsonError } from './jsonError.js';

/** A value that was checked: either it has the type, or every reason why not. */
export type Checked<T> = { ok: true; value: T } | { ok: false; errors: string[] };

const MAX_CHARS = 8 * 1024 * 1024;
const MAX_DEPTH = 64;
const MAX_ERRORS = 50;

/** Is it a task as the Brain must answer it? */
export const checkTask = (value: unknown): Checked<Task> => check(validators.task, value);

/** Is it what the Hands must answer? */
export const checkBuilderResult = (value: unknown): Checked<BuilderResult> => check(validators.builder_result, value);

/** Is it a REPORT.json? */
export const checkReport = (value: unknown): Checked<Report> => check(validators.report, value);

/** Is it a config by its schema? The answer is a copy with the defaults filled in; rules/config.ts checks the rest. */
export const checkConfig = (value: unknown): Checked<Config> => check(validators.config, structuredClone(value));

/** Is it a STATE.json? */
export const checkState = (value: unknown): Checked<State> => check(validators.state, value);

/** Is it a BLOCKED.json? */
export const checkBlocked = (value: unknown): Checked<Blocked> => check(validators.blocked, value);

/** Is it a lock file's content? */
export const checkLock = (value: unknown): Checked<Lock> => check(validators.lock, value);

/** Is it a history's meta.json? */
export const checkMeta = (value: unknown): Checked<Meta> => check(validators.meta, value);

/** Reads JSON that somebody else wrote: bounded in size and depth, and without `__proto__` as a key. */
export function parseJson(text: string): Checked<unknown> {
  if (text.length > MAX_CHARS) return refused(`longer than ${MAX_CHARS} characters`);
  const parsed = parse(text);
  if (!parsed.ok) return parsed;
  const problem = structureProblem(parsed.value, '', 1);
  return problem === undefined ? parsed : refused(problem);
}

/** Checks against a schema that is only known at run time, such as the workspace's own copy. */
export async function checkAgainst(schemaText: string, value: unknown): Promise<Checked<unknown>> {
  const compiled = await compile(schemaText);
  if (compiled.ok) return check(compiled.value, value);
  return refused(`the schema itself is not usable: ${compiled.errors.join('; ')}`);
}

/** Why a schema can't be used; undefined if it can. */
export async function schemaProblem(schemaText: string): Promise<string | undefined> {
  const compiled = await compile(schemaText);
  return compiled.ok ? undefined : compiled.errors.join('; ');
}

async function compile(schemaText: string): Promise<Checked<Validator>> {
  const schema = parseJson(schemaText);
  if (!schema.ok) return schema;
  if (typeof schema.value !== 'object' || schema.value === null || Array.isArray(schema.value))
    return refused('it is not a JSON object');
  // Loaded only here: the package's own schemas are compiled ahead.
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({ allErrors: true, strict: false, logger: false });
  formats.default.default(ajv);
  try {
    return { ok: true, value: ajv.compile(schema.value) };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
}

interface Validator {
  (value: unknown): unknown;
  errors?: ErrorObject[] | null;
}

function check<T>(validate: Validator, value: unknown): Checked<T> {
  if (validate(value) === true) return { ok: true, value: value as T };
  const all = [...new Set((validate.errors ?? []).filter((error) => error.keyword !== 'if').map(describe))];
  const errors = all.slice(0, MAX_ERRORS);
  if (all.length > errors.length) errors.push(`and ${all.length - errors.length} more`);
  return { ok: false, errors: errors.length > 0 ? errors : ['does not match the schema'] };
}

function describe(error: ErrorObject): string {
  const place = placeOf(error.instancePath);
  const params: Record<string, unknown> = error.params;
  if (error.keyword === 'additionalProperties')
    return `unknown key "${join(place, String(params['additionalProperty']))}"`;
  if (error.keyword === 'required') return `missing key "${join(place, String(params['missingProperty']))}"`;
  const at = place === '' ? 'the whole value' : place;
  if (error.keyword === 'enum' && Array.isArray(params['allowedValues'])) {
    return `${at} must be one of ${params['allowedValues'].map((allowed) => JSON.stringify(allowed)).join(', ')}`;
  }
  if (error.keyword === 'const') return `${at} must be ${JSON.stringify(params['allowedValue'])}`;
  return `${at} ${error.message ?? 'is not valid'}`;
}

// "/verification/templates/0/id" → "verification.templates[0].id"
function placeOf(pointer: string): string {
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')).reduce(join, '');
}

function join(place: string, key: string): string {
  if (/^\d+$/.test(key)) return `${place}[${key}]`;
  return place === '' ? key : `${place}.${key}`;
}

function parse(text: string): Checked<unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return { ok: true, value };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return refused(`not JSON at ${jsonError(text)}`);
  }
}

function structureProblem(value: unknown, place: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH) return `nested deeper than ${MAX_DEPTH} levels`;
  for (const [key, child] of Object.entries(value)) {
    const at = join(place, key);
    if (key === '__proto__') return `the key "${at}" is not allowed`;
    const problem = structureProblem(child, at, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function refused(error: string): { ok: false; errors: string[] } {
  return { ok: false, errors: [error] };
}
