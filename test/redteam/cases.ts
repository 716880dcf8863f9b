import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { CODES, type Code } from '../../src/generated/codes.js';
import { fixturesDir, readBase, type Fixture } from '../../src/rehearse/fixture.js';
import { isObject, overlay, type Json, type JsonObject } from '../../src/rehearse/overlay.js';

/** One attack, as fixtures/redteam/README.md describes it. */
export interface Attack {
  readonly family: string;
  readonly name: string;
  readonly attack: string;
  readonly setup?: string;
  readonly actor?: 'builder' | 'brain' | 'check';
  readonly sh?: string;
  readonly do?: readonly JsonObject[];
  readonly step?: JsonObject;
  readonly honest?: boolean;
  readonly task?: JsonObject;
  readonly config?: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
  readonly unprivileged?: boolean;
  readonly needs_root?: boolean;
  readonly needs_namespace?: boolean;
  readonly code: Code;
  readonly evidence?: readonly string[];
  readonly found: string;
  readonly undone: string;
  readonly left?: readonly string[];
  readonly copy?: boolean;
  readonly blocked?: Code;
}

const DIR = path.join(fixturesDir(), 'redteam');
const NEEDED = ['name', 'attack', 'code', 'found', 'undone'];
const KNOWN = new Set([
  ...NEEDED,
  'setup',
  'actor',
  'sh',
  'do',
  'step',
  'honest',
  'task',
  'config',
  'env',
  'unprivileged',
  'needs_root',
  'needs_namespace',
  'evidence',
  'left',
  'copy',
  'blocked',
]);

const GREET = 'export function greet(name) {\n  return `Hello, ${name}!`;\n}\n';

/** Taken aside for the comparison; the folder around the repository is the scratch's own. */
const COPY_BEFORE = 'mkdir ../before && cp -a . ../before/repo && cp -a ../victim ../home ../before/';
const COPY_MADE = 'cp -a . ../made 2>../made.log';

/** Every attack of every family. */
export function listAttacks(): Attack[] {
  const files = readdirSync(DIR).filter((name) => name.endsWith('.json'));
  return files.toSorted().flatMap((file) => {
    const cases = JSON.parse(readFileSync(path.join(DIR, file), 'utf8')) as Omit<Attack, 'family'>[];
    return cases.map((one) => ({ ...one, family: path.basename(file, '.json') }));
  });
}

/** What is wrong with how an attack is written down. */
export function formProblems(attack: Attack): string[] {
  const { family: _, ...written } = attack;
  const found = Object.keys(written).filter((key) => !KNOWN.has(key));
  const missing = NEEDED.filter((key) => !Object.hasOwn(written, key));
  return [
    ...found.map((key) => `${attack.name}: unknown key "${key}"`),
    ...missing.map((key) => `${attack.name}: no "${key}"`),
    ...(/^[a-z0-9]+(-[a-z0-9]+)*$/.test(attack.name) ? [] : [`${attack.name}: not kebab-case`]),
    ...(/^[A-Z].*\.$/.test(attack.attack) ? [] : [`${attack.name}: the attack is not one sentence`]),
    ...(CODES.includes(attack.code) ? [] : [`${attack.name}: there is no code ${attack.code}`]),
  ];
}

/** The attack as a fixture: the player of the fixtures plays it. */
export async function asFixture(attack: Attack): Promise<Fixture> {
  const base = await readFile(path.join(DIR, 'base.sh'), 'utf8');
  const actor = attack.actor ?? 'builder';
  const isCheck = actor === 'check';
  const own: Json[] = [...(attack.do ?? []), ...(attack.sh === undefined ? [] : [{ sh: attack.sh }])];
  const copy: Json[] = attack.copy === false ? [] : [{ sh: COPY_MADE }];
  const honest: Json[] = attack.honest === false ? [] : [{ write: 'src/greet.js', text: GREET }];
  const task = overlay(isCheck ? { verification: { fast: ['attack'], slow: [] } } : {}, attack.task);
  const hands: JsonObject = { do: [...honest, ...(actor === 'builder' ? own : []), ...copy], result: {} };
  const brain: JsonObject = { ...(actor === 'brain' && { do: [...own, ...copy] }), task };
  const config = overlay(isCheck ? await withCheck(attack.sh ?? '') : {}, attack.config);
  return {
    title: attack.attack,
    config,
    setup: [base, ...(attack.setup === undefined ? [] : [attack.setup]), COPY_BEFORE],
    ...(attack.env !== undefined && { env: attack.env }),
    scenario: {
      orchestrator: [actor === 'brain' ? { ...brain, ...attack.step } : brain],
      builder: [actor === 'builder' ? withStep(hands, attack.step) : hands],
    },
    // The suite has expectations of its own.
    expect: {
      verdict: 'stop',
      code: attack.code,
      exit_code: 2,
      calls: { orchestrator: 1, builder: 1 },
      verify_runs: 0,
      clean: true,
    },
  };
}

/** What a step says instead of a result leaves no result. */
function withStep(hands: JsonObject, step: JsonObject = {}): JsonObject {
  const { result, ...rest } = hands;
  const speaks = ['answer', 'text', 'raw_stdout', 'result'].some((key) => Object.hasOwn(step, key));
  return { ...rest, ...(!speaks && { result: result ?? {} }), ...step };
}

async function withCheck(sh: string): Promise<JsonObject> {
  const { verification } = await readBase('config.json');
  const templates = isObject(verification) && Array.isArray(verification['templates']) ? verification['templates'] : [];
  return { verification: { templates: [...templates, { id: 'attack', cmd: 'sh', args: ['-c', sh] }] } };
}
