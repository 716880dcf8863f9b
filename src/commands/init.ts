import path from 'node:path';
import { EXIT_CODE } from '../outcome.js';
import { readConfig } from '../rules/config.js';
import { detect, MANIFESTS, type Detected } from '../rules/detect.js';
import { GOAL_PLACEHOLDER, starterConfig } from '../rules/starter.js';
import { clean } from '../rules/text.js';
import { readText } from '../world/files.js';
import { openRepository } from '../world/git/git.js';
import { packageRoot } from '../world/packageRoot.js';
import { survey, writeProblem } from '../world/walk/survey.js';
import { originals, planSteps, writeSteps, type Step } from './initFiles.js';
import { printJson, progress, refuse, speaker } from './output.js';

const CONFIG_FILE = 'relais.config.json';
const MAX_MANIFEST = 1024 * 1024;
const MAX_GOAL = 8000;

export interface InitOptions {
  readonly cwd: string;
  readonly yes: boolean;
  readonly json: boolean;
  readonly dryRun: boolean;
}

interface Plan {
  readonly root: string;
  readonly goal: string;
  readonly detected: Detected;
  readonly steps: readonly Step[];
  /** What is wrong with a config that is already there. */
  readonly configErrors: readonly string[];
}

/** Sets up a repository for Relais: shows what it would write, asks, writes what is missing, overwrites nothing. */
export async function initCommand(options: InitOptions): Promise<number> {
  const { json } = options;
  const opened = await openRepository(options.cwd);
  if (opened.found === 'no') {
    const why = `${options.cwd} is not in a git work tree (${opened.why})`;
    const remedy = 'Go to your repository, or make one here with git init; then run `relais init` again.';
    return refuse(json, { why, remedy }, EXIT_CODE.blocked);
  }
  const plan = await makePlan(opened.repository.workTree, GOAL_PLACEHOLDER);
  for (const line of description(plan)) speaker(json)(line);
  const blocked = plan.steps.find((step) => step.action === 'blocked');
  if (blocked !== undefined) {
    const why = `nothing was written: ${blocked.path} can't be written or read (${blocked.why})`;
    return refuse(
      json,
      { why, remedy: 'Move away what is in the way, then run `relais init` again.' },
      EXIT_CODE.blocked,
    );
  }
  if (!plan.steps.some((step) => step.action === 'create') || options.dryRun) return finish(plan, json, false);
  const problem = await writeProblem(plan.root);
  if (problem !== undefined) {
    const remedy = `Give this user write permission for ${plan.root}, then run \`relais init\` again.`;
    return refuse(json, { why: `nothing was written: ${problem}`, remedy }, EXIT_CODE.blocked);
  }
  const agreed = options.yes ? plan : await ask(plan, json);
  if (typeof agreed === 'number') return agreed;
  await writeSteps(agreed.root, agreed.steps);
  return finish(agreed, json, true);
}

async function makePlan(root: string, goal: string): Promise<Plan> {
  const paths = await survey(root);
  const texts = new Map<string, string>();
  for (const name of MANIFESTS) {
    const read = paths.includes(name) ? await readText(path.join(root, name), MAX_MANIFEST) : undefined;
    if (read?.found === 'text') texts.set(name, read.text);
  }
  const detected = detect({ paths, texts });
  const existing = await readText(path.join(root, CONFIG_FILE), MAX_MANIFEST);
  const config = existing.found === 'text' ? readConfig(existing.text) : undefined;
  // The folder an existing config names; the usual one where there is no config to ask.
  const workspace = config?.ok ? config.value.workspace_dir : 'relais';
  const starter = { path: CONFIG_FILE, text: `${JSON.stringify(starterConfig(detected, goal), null, 2)}\n` };
  const steps = await planSteps(root, [starter, ...(await originals(packageRoot(), workspace))]);
  return { root, goal, detected, steps, configErrors: config === undefined || config.ok ? [] : config.errors };
}

function description({ root, detected, steps, configErrors }: Plan): string[] {
  const { languages, packageManager, templates, allowedGlobs, notes } = detected;
  const found = [...languages, ...(packageManager ? [packageManager] : [])].join(', ');
  const words = { create: 'write', same: 'is there', keep: 'left alone', blocked: 'in the way' };
  return [
    `Repository: ${root}`,
    `Found: ${found || 'no language it knows'}`,
    ...templates.map(({ id, cmd, args }) => `  check ${id}: ${[cmd, ...args].join(' ')}`),
    `  the Hands may start from: ${allowedGlobs.join(' ')}`,
    ...notes.map((note) => `  note: ${note}`),
    ...configErrors.map((error) => `  note: ${CONFIG_FILE} is not valid: ${error}`),
    ...steps.map(
      ({ action, path: file, why }) => `  ${words[action].padEnd(10)}  ${file}${why === undefined ? '' : `  (${why})`}`,
    ),
  ];
}

/** The plan the operator agreed to, with the goal they gave; else the exit code. */
async function ask(plan: Plan, json: boolean): Promise<Plan | number> {
  if (json || !process.stdin.isTTY || !process.stdout.isTTY) {
    const why = 'nothing was written: there is no terminal to ask on';
    return refuse(json, { why, remedy: 'Run `relais init --yes` to write without being asked.' }, EXIT_CODE.usage);
  }
  const { confirm, isCancel, text } = await import('@clack/prompts');
  const cancelled = (): number => {
    progress('Nothing was written.');
    return EXIT_CODE.SIGINT;
  };
  const wantsGoal = plan.steps.some((step) => step.path === CONFIG_FILE && step.action === 'create');
  const message = 'What should this project become? (Enter: decide later in relais.config.json)';
  const goal = wantsGoal ? await text({ message, defaultValue: '' }) : '';
  if (isCancel(goal)) return cancelled();
  const agreed = await confirm({ message: 'Write these files?' });
  if (isCancel(agreed)) return cancelled();
  if (!agreed) {
    progress('Nothing was written. Run `relais init` again when you like.');
    return EXIT_CODE.waiting;
  }
  const given = clean(goal).trim().slice(0, MAX_GOAL);
  return given === '' ? plan : makePlan(plan.root, given);
}

function finish({ root, goal, detected, steps, configErrors }: Plan, json: boolean, written: boolean): number {
  const say = speaker(json);
  const named = (action: Step['action']): string[] =>
    steps.filter((step) => step.action === action).map((step) => step.path);
  const [created, kept] = [named('create'), named('keep')];
  if (written) say(`Wrote ${created.length} ${created.length === 1 ? 'file' : 'files'}.`);
  else
    say(created.length === 0 ? 'Nothing to write.' : `Nothing was written (dry run); ${created.length} are missing.`);
  if (kept.length > 0)
    say(`Left alone: ${kept.join(', ')}. To get an original back, move the file away and run \`relais init\` again.`);
  if (written) {
    const goalless = created.includes(CONFIG_FILE) && goal === GOAL_PLACEHOLDER;
    say(`Next: ${goalless ? `write project.goal in ${CONFIG_FILE}, ` : ''}commit what was written, then`);
    say('  relais doctor, relais status --preflight, relais run');
  }
  if (configErrors.length > 0)
    progress(`remedy: correct ${CONFIG_FILE} as noted above, or move it away and run \`relais init\` again.`);
  if (json) {
    const files = steps.map(({ text: _text, ...step }) => step);
    printJson({ ok: configErrors.length === 0, root, written, detected, files, config_errors: configErrors });
  }
  return configErrors.length === 0 ? EXIT_CODE.done : EXIT_CODE.blocked;
}
