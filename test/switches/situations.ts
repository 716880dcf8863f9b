import { readFile } from 'node:fs/promises';
import { originals } from '../../src/commands/initFiles.js';
import { emptyState } from '../../src/rules/budget.js';
import { readBase } from '../../src/rehearse/fixture.js';
import type { Json, JsonObject } from '../../src/rehearse/overlay.js';
import { packageRoot } from '../../src/world/packageRoot.js';
import type { Situation } from './play.js';

const EDIT = { write: 'src/greet.js', text: 'export function greet(name) {\n  return `Hello, ${name}!`;\n}\n' };

/** A tick with a task laid over the base task, and Hands that do these things. */
function script(task: JsonObject, ...actions: Json[]): JsonObject {
  return { orchestrator: [{ task }], builder: [{ do: actions, result: {} }] };
}

/** A request for the Brain whose end, which the scripted agent writes down, has all that switches change. */
function request(name: string): string {
  const parts = [
    'TASK_SCHEMA',
    'PROJECT_GOAL',
    'VERIFY_TEMPLATE_IDS',
    'BUDGETS_SUMMARY',
    'FACTS_MD',
    'LAST_REPORT_MD',
    'SCOPE_DEFAULTS',
  ];
  return ['# Request', ...parts.map((part) => `${part}: {{${part}}}`), `Template: ${name}`, ''].join('\n');
}

/** The same schema, told apart by its last word. */
async function renamed(schema: string, title: string): Promise<string> {
  const { title: _title, ...rest } = JSON.parse(await readFile(`schemas/${schema}`, 'utf8')) as JsonObject;
  return JSON.stringify({ ...rest, title });
}

const REQUEST = { 'relais/prompts/orchestrator.user.txt': request('the usual one') };

/** A tick that goes well, with every file a switch could point to; the Hands note what they can see. */
export const plain: Situation = {
  files: {
    ...REQUEST,
    'relais/prompts/orchestrator.system.txt': 'The usual orders for the Brain.\n',
    'relais/prompts/builder.system.txt': 'The usual orders for the Hands.\n',
    'relais/prompts/builder.user.txt': '# Do it\n\n{{TASK_JSON}}\n\nTemplate: the usual one\n',
    'relais/other/brain.user.txt': request('the other one'),
    'relais/other/brain.system.txt': 'Other orders for the Brain.\n',
    'relais/other/hands.system.txt': 'Other orders for the Hands.\n',
    'relais/other/hands.user.txt': '# Do it\n\n{{TASK_JSON}}\n\nTemplate: the other one\n',
    'relais/other/task.json': await renamed('task.schema.json', 'The other task'),
    'relais/other/result.json': await renamed('builder_result.schema.json', 'The other result'),
  },
  untracked: { 'relais/half.tmp': 'left by a crash\n', 'relais/half.part': 'left by a crash\n' },
  scenario: script(
    {},
    EDIT,
    { sh: 'ls -A relais > ../during.txt' },
    { sh: 'find "$RELAIS_STATE_DIR" -name "*.system.txt" -exec cat {} + > ../orders.txt' },
  ),
  asksStatus: true,
};

/** A tick that goes well, with everything as it is shipped. */
export const shipped: Situation = { scenario: script({}, EDIT) };

/** Each role has orders of so many characters and the request that is shipped; the task needs many words. */
export function ordersOf(chars: number): Situation {
  const orders = `${'Obey. '.repeat(chars / 6)}\n`;
  return {
    files: { 'relais/prompts/orchestrator.system.txt': orders, 'relais/prompts/builder.system.txt': orders },
    scenario: script({ builder: { instructions: 'Say more. '.repeat(300) } }, EDIT),
  };
}

/** A task that may do much, and Hands that do: four files, of which one is new and one a lockfile. */
export const wide: Situation = {
  files: { 'src/yarn.lock': 'one\n' },
  scenario: script(
    { scope: { allowed_globs: ['src/**', 'docs/**'], allow_new_files: true, allow_lockfile_changes: true } },
    EDIT,
    { write: 'src/new.js', text: 'export const one = 1;\n' },
    { append: 'src/yarn.lock', text: 'two\n' },
    { append: 'docs/guide.md', text: 'One more line.\n' },
  ),
};

/** The builder's answer stands in a code fence. */
export const inFence: Situation = {
  scenario: {
    orchestrator: [{ task: {} }],
    builder: [{ do: [EDIT], text: `\`\`\`json\n${JSON.stringify(await readBase('result.json'))}\n\`\`\`` }],
  },
};

/** The last tick's TASK.json was left broken. */
export const brokenTask: Situation = { untracked: { 'relais/TASK.json': '{' }, scenario: script({}, EDIT) };

/** Three kilobytes of history are there. */
export const withHistory: Situation = {
  untracked: {
    'relais/history/old/diff.patch': '.'.repeat(3000),
    'relais/STATE.json': JSON.stringify(emptyState()),
  },
  scenario: script({}, EDIT),
};

const EARLIER = '20260101T120000Z-00000000';

/** The record of an earlier tick, in a folder that is not the usual one. */
export const elsewhere: Situation = {
  files: REQUEST,
  untracked: {
    [`relais/past/${EARLIER}/report.md`]: `Told from the past.\n${'.'.repeat(3000)}\n`,
    'relais/STATE.json': JSON.stringify({ ...emptyState(), last_task_run_id: EARLIER }),
  },
  scenario: script({}, EDIT),
};

/** Nothing may be spent. */
export const refused: Situation = {
  config: { budgets: { per_milestone: { max_ticks: 0, max_orchestrator_calls: 0, max_builder_calls: 0 } } },
  scenario: script({}, EDIT),
};

/** A fixture's expected report, with an id, times and commits as a real one has. */
async function earlierReport(): Promise<string> {
  const text = await readFile('fixtures/F009_diff_too_large/expect.report.json', 'utf8');
  return text
    .replaceAll('<run_id>', EARLIER)
    .replaceAll('<time>', '2026-01-01T12:00:00.000Z')
    .replaceAll(/<(base|head)>/g, 'a'.repeat(40));
}

/** Of the earlier tick only REPORT.json is left. */
export const onlyReport: Situation = {
  files: REQUEST,
  untracked: { 'relais/REPORT.json': await earlierReport() },
  scenario: script({}, EDIT),
};

/** A record in that folder, while the runner's own state is lost. */
export const forgotten: Situation = {
  untracked: { [`relais/past/${EARLIER}/report.md`]: 'Told from the past.\n' },
  scenario: script({}, EDIT),
};

/** An ignored file that the Brain, or the Hands, write to. */
export function ignoredBy(role: 'orchestrator' | 'builder'): Situation {
  const write = { write: 'build/out.txt', text: 'theirs\n' };
  return {
    untracked: { 'build/out.txt': 'mine\n' },
    scenario: {
      orchestrator: [{ do: role === 'orchestrator' ? [write] : [], task: {} }],
      builder: [{ do: role === 'builder' ? [EDIT, write] : [EDIT], result: {} }],
    },
  };
}

/** The Brain's task belongs to the milestone M2. */
export const secondMilestone: Situation = { scenario: script({ milestone_id: 'M2' }, EDIT) };

/** One check with one value for its parameter. */
export function withParam(template: 'test_filter' | 'test_file', value: string): Situation {
  const name = template === 'test_filter' ? 'pkg' : 'file';
  const verification = { fast: [template], slow: [], params: { [template]: { [name]: value } } };
  return { scenario: script({ verification }, EDIT) };
}

/** A check that passes where the variable SWITCH is "on". */
export const asksEnvironment: Situation = {
  config: {
    verification: {
      templates: [{ id: 'asks', cmd: 'node', args: ['-e', 'process.exit(process.env.SWITCH === "on" ? 0 : 1)'] }],
    },
  },
  scenario: script({ verification: { fast: ['asks'], slow: [] } }, EDIT),
};

/** A fast and a slow check that take longer than a second. */
export const naps: Situation = {
  config: { verification: { templates: [{ id: 'nap', cmd: 'node', args: ['-e', 'setTimeout(() => {}, 1300)'] }] } },
  scenario: script({ verification: { fast: ['nap'], slow: ['nap'] } }, EDIT),
};

/** Both roles go through claude's adapter, whose program can't be found. */
export const noProgram: Situation = {
  config: {
    orchestrator: { agent: 'claude' },
    builder: { agent: 'claude' },
    claude_code_cli: { command: 'relais-has-no-such-program' },
  },
  scenario: script({}, EDIT),
};

/** There is a second workspace folder, `bench`, and the Hands may write into it. */
async function secondWorkspace(...actions: Json[]): Promise<Situation> {
  const all = await originals(packageRoot(), 'bench');
  return {
    files: {
      ...REQUEST,
      ...Object.fromEntries(all.map((file) => [file.path, file.text])),
      'bench/prompts/orchestrator.user.txt': request('the one of the bench'),
      'bench/FACTS.md': 'The bench is of oak.\n',
    },
    untracked: { 'bench/half.tmp': 'left by a crash\n' },
    scenario: script({ scope: { allowed_globs: ['src/**', 'bench/**'], allow_new_files: true } }, ...actions),
  };
}

export const bench: Situation = await secondWorkspace(EDIT);
export const benchWritten: Situation = await secondWorkspace({ write: 'bench/notes.md', text: 'mine\n' });
