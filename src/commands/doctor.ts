import { EXIT_CODE } from '../outcome.js';
import { oneLine } from '../rules/text.js';
import { locate } from '../stages/place.js';
import { createWorld, type World } from '../world/world.js';
import { agentLines } from './doctorAgents.js';
import { line, type Line } from './doctorLine.js';
import { configLines } from './doctorConfig.js';
import { journalLines, lockLines } from './doctorLock.js';
import { hostLines, repositoryLines, toolLines } from './doctorMachine.js';
import { workspaceLines } from './doctorWorkspace.js';
import { printJson, type CommandOptions } from './output.js';

/** Looks at everything a tick needs, spends nothing, changes nothing; 0, or 3 when something failed. */
export async function doctorCommand(options: CommandOptions): Promise<number> {
  const world = await createWorld(options);
  const lines = [...(await look('tools', () => toolLines(world))), ...(await placeLines(world))];
  const failed = lines.filter(({ status }) => status === 'failed').length;
  if (options.json) printJson({ ok: failed === 0, checks: lines });
  else process.stdout.write(render(lines, failed));
  return failed === 0 ? EXIT_CODE.done : EXIT_CODE.blocked;
}

async function placeLines(world: World): Promise<Line[]> {
  const place = await locate(world).catch((error: unknown) => error as Error);
  if (place instanceof Error)
    return [line('repository', 'failed', place.message, 'Clear up the reason given, then run relais doctor again.')];
  const parts: [string, () => Promise<readonly Line[]>][] = [
    ['repository', () => repositoryLines(world, place)],
    ['config', () => configLines(world, place)],
    ['workspace', () => workspaceLines(world, place)],
    ['agents', () => agentLines(world, place)],
    ['host', () => hostLines(world, place)],
    ['lock', () => lockLines(world, place)],
    ['journal', () => journalLines(world, place)],
  ];
  const lines: Line[] = [];
  for (const [check, gather] of parts) lines.push(...(await look(check, gather)));
  return lines;
}

/** What could not be observed is said to be unknown, with the reason, and never counts as fine. */
async function look(check: string, gather: () => Promise<readonly Line[]>): Promise<readonly Line[]> {
  try {
    return await gather();
  } catch (error) {
    const why = `could not be looked at: ${(error as Error).message}`;
    return [line(check, 'unknown', why, 'Clear up the reason given, then run relais doctor again.')];
  }
}

function render(lines: readonly Line[], failed: number): string {
  const width = Math.max(...lines.map(({ check }) => check.length));
  const rows = lines.map(({ check, status, text, remedy }) => {
    const head = `${status.padEnd(7)}  ${check.padEnd(width)}  ${oneLine(text)}\n`;
    return remedy === undefined ? head : `${head}${' '.repeat(9)}${' '.repeat(width)}  remedy: ${oneLine(remedy)}\n`;
  });
  const counts = (['ok', 'warning', 'failed', 'unknown'] as const).map(
    (status) => `${lines.filter((one) => one.status === status).length} ${status}`,
  );
  return `${rows.join('')}${counts.join(', ')}${failed === 0 ? ': ready; relais status --preflight says whether a tick could start now' : ': not ready for relais run'}\n`;
}
