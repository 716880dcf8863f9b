import type { Config } from '../generated/types.js';
import { GOAL_PLACEHOLDER } from '../rules/starter.js';
import type { Place } from '../stages/place.js';
import { originals } from './initFiles.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';

const MAX_FILE = 4 * 1024 * 1024;

/** The config, and the choices in it that an operator should know about. */
export async function configLines(world: World, place: Place): Promise<Line[]> {
  const { config } = place;
  const { config: fact } = place.facts;
  if (fact.state !== 'ok' || config === undefined) {
    const remedy =
      fact.state === 'missing'
        ? 'Run relais init.'
        : 'Correct relais.config.json as the message says; docs/config.md explains every key.';
    const why = fact.state === 'ok' ? [] : fact.why;
    return [line('config', 'failed', `${fact.state}: ${why.join('; ')}`, remedy)];
  }
  const lines = [
    fine('config', `relais.config.json is valid, milestone ${config.project.milestone_id}`),
    permissionLine(config),
  ];
  if (config.project.goal.trim() === '' || config.project.goal === GOAL_PLACEHOLDER) {
    lines.push(
      line(
        'goal',
        'warning',
        'the Brain is not told what the project is for',
        'Write project.goal in relais.config.json.',
      ),
    );
  }
  return [...lines, ...(await checkLines(world, place.root, config))];
}

function permissionLine(config: Config): Line {
  const check = 'permissions';
  const modes = [config.builder.claude_code.permission_mode, config.orchestrator.permission_mode];
  if (!modes.includes('bypassPermissions')) return fine(check, `the Hands work in the permission mode ${modes[0]}`);
  const remedy = 'Set permission_mode to acceptEdits, or run Relais in a container that holds nothing you would miss.';
  if (process.getuid?.() === 0)
    return line(check, 'failed', 'bypassPermissions is dangerous, and claude refuses it for root', remedy);
  return line(
    check,
    'warning',
    'bypassPermissions is dangerous: nothing asks before a command runs, and the Judge sees only this repository',
    remedy,
  );
}

/** Whether the programs of the verification templates can be found where a tick would look. */
async function checkLines(world: World, root: string, config: Config): Promise<Line[]> {
  const { templates } = config.verification;
  if (templates.length === 0) {
    return [
      line(
        'checks',
        'warning',
        'there is no verification template: only scope is judged',
        'Add your test command to verification.templates.',
      ),
    ];
  }
  const search = world.programs.trustedPath(world.env['PATH'], root);
  const missing = new Set<string>();
  for (const { cmd } of templates)
    if ((await world.programs.resolveProgram(cmd, root, search)) === undefined) missing.add(cmd);
  if (missing.size === 0)
    return [fine('checks', `${templates.map(({ id }) => id).join(', ')}: every program was found`)];
  return [
    line(
      'checks',
      'failed',
      `not found on PATH outside the repository: ${[...missing].join(', ')}`,
      'Install it, or correct cmd in verification.templates.',
    ),
  ];
}

/** Whether the workspace is there and its schemas are those of this package. Prompts are the operator's to edit. */
export async function workspaceLines(world: World, { root, config }: Place): Promise<Line[]> {
  if (config === undefined)
    return [line('workspace', 'unknown', 'its place is read from the config', 'Make the config valid first.')];
  const missing: string[] = [];
  const drifted: string[] = [];
  const edited: string[] = [];
  for (const original of await originals(world.packageRoot, config.workspace_dir)) {
    const isSchema = original.path.endsWith('.schema.json');
    const isPrompt = original.path.includes('/prompts/');
    const read = await world.files.readText(world.join(root, original.path), MAX_FILE);
    if (read.found !== 'text') missing.push(original.path);
    else if (read.text !== original.text && isSchema) drifted.push(original.path);
    else if (read.text !== original.text && isPrompt) edited.push(original.path);
  }
  const { orchestrator, builder } = config;
  const { claude_code: hands } = builder;
  const needed = [
    orchestrator.system_prompt_file,
    orchestrator.user_prompt_file,
    orchestrator.task_schema_file,
    hands.system_prompt_file,
    hands.user_prompt_file,
    hands.builder_result_schema_file,
  ];
  const absent: string[] = [];
  for (const name of needed)
    if ((await world.files.readText(world.join(root, name), MAX_FILE)).found !== 'text') absent.push(name);
  return [
    absent.length > 0
      ? line(
          'workspace',
          'failed',
          `a tick needs ${absent.join(', ')}`,
          'Run relais init: it writes what is missing and overwrites nothing.',
        )
      : missing.length > 0
        ? line(
            'workspace',
            'warning',
            `missing: ${missing.join(', ')}`,
            'Run relais init: it writes what is missing and overwrites nothing.',
          )
        : fine('workspace', `${config.workspace_dir}/ is complete`),
    drifted.length > 0
      ? line(
          'schemas',
          'warning',
          `different from this version's: ${drifted.join(', ')}`,
          'Unless you changed them on purpose: delete them and run relais init.',
        )
      : fine('schemas', 'the same as the package’s, where they are there'),
    fine('prompts', edited.length === 0 ? 'as shipped' : `edited: ${edited.join(', ')}`),
  ];
}
