import type { Config } from '../generated/types.js';
import { GOAL_PLACEHOLDER } from '../rules/starter.js';
import type { Place } from '../stages/place.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';

/** The config, and the choices in it that an operator should know about. */
export async function configLines(world: World, place: Place): Promise<Line[]> {
  const { config } = place;
  const { config: fact } = place.facts;
  if (fact.state !== 'ok' || config === undefined) {
    const remedy =
      fact.state === 'missing'
        ? 'Run relais init.'
        : 'Correct relais.config.json as the message says; relais/schemas/config.schema.json describes every key.';
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
  if (!modes.includes('bypassPermissions')) {
    if (modes[0] === 'acceptEdits') return fine(check, 'the Hands work in the permission mode acceptEdits');
    const why = `in the permission mode ${modes[0]} the Hands can't edit files`;
    return line(check, 'warning', why, 'Set builder.claude_code.permission_mode to acceptEdits.');
  }
  const remedy = 'Set permission_mode to acceptEdits, or run Relais in a container that holds nothing you would miss.';
  if (process.getuid?.() === 0 && process.env['IS_SANDBOX'] !== '1')
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
