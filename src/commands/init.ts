import path from 'node:path';
import { readConfig } from '../rules/config.js';
import { detect, MANIFESTS, type Detected } from '../rules/detect.js';
import { GOAL_PLACEHOLDER, starterConfig } from '../rules/starter.js';
import { clean } from '../rules/text.js';
import { readText } from '../world/files.js';
import { openRepository } from '../world/git.js';
import { packageRoot } from '../world/packageRoot.js';
import { survey } from '../world/survey.js';
import { originals, planSteps, writeSteps, type Step } from './initFiles.js';

const CONFIG_FILE = 'relais.config.json';
const MAX_MANIFEST = 1024 * 1024;

export interface InitOptions {
  readonly cwd: string;
  readonly yes: boolean;
  readonly json: boolean;
  readonly dryRun?: boolean;
}

interface Plan {
  readonly root: string;
  readonly detected: Detected;
  readonly steps: readonly Step[];
}

/** Sets up a repository for Relais: shows what it would write, asks, writes what is missing, overwrites nothing. */
export async function initCommand(options: InitOptions): Promise<number> {
  const say = (text: string): void => void (options.json ? process.stderr : process.stdout).write(`${text}\n`);
  const opened = await openRepository(options.cwd);
  if (opened.found === 'no')
    return refuse(options.json, `${clean(options.cwd)} is not a git work tree: ${clean(opened.why)}`, 'git init', 3);
  let plan = await makePlan(opened.repository.workTree, GOAL_PLACEHOLDER);
  describe(plan, say);
  const toWrite = plan.steps.filter((step) => step.action === 'create');
  if (toWrite.length === 0 || options.dryRun === true) return finish(options, plan, say, false);
  if (!options.yes) {
    if (options.json || !process.stdin.isTTY || !process.stdout.isTTY) {
      return refuse(options.json, 'nothing was written: there is no terminal to ask on', 'relais init --yes', 64);
    }
    const answer = await ask(toWrite.some((step) => step.path === CONFIG_FILE));
    if (typeof answer === 'number') return answer;
    if (answer.goal !== '') plan = await makePlan(plan.root, answer.goal);
  }
  await writeSteps(plan.root, plan.steps);
  return finish(options, plan, say, true);
}

async function makePlan(root: string, goal: string): Promise<Plan> {
  const paths = await survey(root);
  const texts = new Map<string, string>();
  for (const name of MANIFESTS) {
    const read = paths.includes(name) ? await readText(path.join(root, name), MAX_MANIFEST) : undefined;
    if (read?.found === 'text') texts.set(name, read.text);
  }
  const detected = detect({ paths, texts });
  const config = { path: CONFIG_FILE, text: `${JSON.stringify(starterConfig(detected, goal), null, 2)}\n` };
  const files = [config, ...(await originals(packageRoot(), await workspaceName(root)))];
  return { root, detected, steps: await planSteps(root, files) };
}

/** The folder an existing config names; the usual one where there is no config to ask. */
async function workspaceName(root: string): Promise<string> {
  const read = await readText(path.join(root, CONFIG_FILE), MAX_MANIFEST);
  const config = read.found === 'text' ? readConfig(read.text) : undefined;
  return config?.ok ? config.value.workspace_dir : 'relais';
}

function describe({ root, detected, steps }: Plan, say: (text: string) => void): void {
  say(`Repository: ${clean(root)}`);
  say(
    `Found: ${[...detected.languages, ...(detected.packageManager ? [detected.packageManager] : [])].join(', ') || 'no language it knows'}`,
  );
  for (const { id, cmd, args } of detected.templates) say(`  check ${id}: ${[cmd, ...args].map(clean).join(' ')}`);
  say(`  the Hands may start from: ${detected.allowedGlobs.map(clean).join(' ')}`);
  for (const note of detected.notes) say(`  note: ${clean(note)}`);
  const words = { create: 'write', same: 'is there', keep: 'left alone' };
  for (const { action, path: file, why } of steps)
    say(`  ${words[action].padEnd(10)}  ${file}${why === undefined ? '' : `  (${clean(why)})`}`);
}

async function ask(wantsGoal: boolean): Promise<{ goal: string } | number> {
  const { confirm, isCancel, text } = await import('@clack/prompts');
  const goal = wantsGoal
    ? await text({
        message: 'What should this project become? (Enter: decide later in relais.config.json)',
        defaultValue: '',
      })
    : '';
  if (isCancel(goal)) return 130;
  const agreed = await confirm({ message: 'Write these files?' });
  if (isCancel(agreed)) return 130;
  if (!agreed) process.stdout.write('Nothing was written.\n');
  return agreed ? { goal: clean(goal).trim().slice(0, 8000) } : 1;
}

function finish(
  options: InitOptions,
  { root, detected, steps }: Plan,
  say: (text: string) => void,
  written: boolean,
): number {
  const kept = steps.filter((step) => step.action === 'keep');
  const missing = steps.filter((step) => step.action === 'create').length;
  if (written) say(`Wrote ${missing} files. Next: relais doctor, then relais status --preflight, then relais run.`);
  else say(missing === 0 ? 'Nothing to write.' : `Nothing was written (dry run): ${missing} files are missing.`);
  if (kept.length > 0)
    say(
      `Left alone: ${kept.map((step) => step.path).join(', ')}. To get the original back, move the file away and run relais init again.`,
    );
  if (options.json) {
    const files = steps.map(({ path: file, action, why }) => ({
      path: file,
      action,
      ...(why !== undefined && { why }),
    }));
    process.stdout.write(`${JSON.stringify({ ok: true, root, written, detected, files })}\n`);
  }
  return 0;
}

function refuse(json: boolean, why: string, remedy: string, code: number): number {
  process.stderr.write(`${why}\nremedy: ${remedy}\n`);
  if (json) process.stdout.write(`${JSON.stringify({ ok: false, why, remedy })}\n`);
  return code;
}
