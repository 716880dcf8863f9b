import os from 'node:os';
import type { AgentProbe } from '../agents/agent.js';
import { agentNamed, type AgentName } from '../agents/registry.js';
import { scriptedProgram } from '../agents/scripted.js';
import type { ChildEnd } from '../model.js';
import type { Place } from '../stages/place.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';

const PROBE_MS = 20_000;
const MAX_OUTPUT = 1024 * 1024;

type Ask = (args: readonly string[]) => Promise<ChildEnd>;

/** For each agent program in use: is it there, which version, has it the needed flags, is it logged in. No model is called. */
export async function agentLines(world: World, place: Place): Promise<Line[]> {
  const { config, root } = place;
  const names: readonly AgentName[] = config
    ? [...new Set([config.orchestrator.agent, config.builder.agent])]
    : ['claude'];
  const lines: Line[] = [];
  for (const name of names) {
    const found = await programOf(world, name, root, config?.claude_code_cli.command ?? 'claude');
    if ('check' in found) lines.push(found);
    else lines.push(...(await probeLines(name, found.shown, agentNamed(name).probe, found.ask)));
  }
  return lines;
}

async function programOf(
  world: World,
  name: AgentName,
  root: string,
  command: string,
): Promise<Line | { shown: string; ask: Ask }> {
  const check = `agent ${name}`;
  if (name === 'scripted') {
    const script = scriptedProgram();
    if (!(await world.files.exists(script)))
      return line(
        check,
        'failed',
        `${script} is missing`,
        'Install the package again, or run npm run build in its source.',
      );
    return { shown: script, ask: asker(world, process.execPath, [script]) };
  }
  const program = await world.programs.resolveProgram(
    command,
    root,
    world.programs.trustedPath(world.env['PATH'], root),
  );
  if (program === undefined) {
    return line(
      check,
      'failed',
      `${command} was not found on PATH outside the repository`,
      'Install Claude Code, or name the program in claude_code_cli.command.',
    );
  }
  return { shown: program, ask: asker(world, program, []) };
}

function asker(world: World, program: string, before: readonly string[]): Ask {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(world.env)) if (value !== undefined) env[name] = value;
  Object.assign(env, {
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  });
  // Not in the repository: its own agent settings could run programs.
  return (args) =>
    world.spawn.run({
      program,
      args: [...before, ...args],
      cwd: os.tmpdir(),
      env,
      timeoutMs: PROBE_MS,
      maxOutputBytes: MAX_OUTPUT,
    });
}

async function probeLines(name: AgentName, shown: string, probe: AgentProbe | undefined, ask: Ask): Promise<Line[]> {
  const check = `agent ${name}`;
  if (probe === undefined)
    return [line(check, 'unknown', `${shown} is there; it cannot be asked about itself`, 'Try it by hand.')];
  const version = await ask(probe.version);
  if (version.how !== 'exited' || version.exitCode !== 0) {
    return [
      line(
        check,
        'failed',
        `${shown} ${probe.version.join(' ')} ended with ${version.how} ${version.exitCode}`,
        'Install the program again.',
      ),
    ];
  }
  const number = /\d+\.\d+\.\d+/.exec(version.stdout.toString('utf8'))?.[0];
  const help = await ask(probe.help);
  const text = `${help.stdout.toString('utf8')}\n${help.stderr.toString('utf8')}`;
  const absent = probe.neededFlags.filter((flag) => !text.includes(flag));
  return [
    number === undefined
      ? line(check, 'unknown', `${shown} does not tell its version`, 'Update the program.')
      : fine(check, `${shown} ${number}`),
    help.exitCode !== 0
      ? line(
          `${check} flags`,
          'unknown',
          `${probe.help.join(' ')} ended with ${help.how} ${help.exitCode}`,
          'Update the program.',
        )
      : absent.length > 0
        ? line(`${check} flags`, 'failed', `this version lacks ${absent.join(', ')}`, 'Update the program.')
        : fine(`${check} flags`, `${probe.neededFlags.length} needed flags are there`),
    loginLine(check, await ask(probe.login)),
  ];
}

function loginLine(agent: string, end: ChildEnd): Line {
  const check = `${agent} login`;
  const said = /"loggedIn"\s*:\s*(true|false)/.exec(end.stdout.toString('utf8'))?.[1];
  if (end.how === 'exited' && end.exitCode === 0 && said === 'true')
    return fine(check, 'the program says it is logged in; only a call proves that the key is valid');
  const remedy = 'Start claude once and log in, or set ANTHROPIC_API_KEY.';
  if (end.how === 'exited' && end.exitCode === 1 && said === 'false')
    return line(check, 'failed', 'not logged in', remedy);
  return line(check, 'unknown', `could not be told without a call (${end.how} ${end.exitCode})`, remedy);
}
