import { locate } from '../stages/place.js';
import { oneLine } from '../rules/text.js';
import { createWorld } from '../world/world.js';
import { agentLines } from './doctorAgents.js';
import { line, type Line } from './doctorLine.js';
import { configLines, workspaceLines } from './doctorConfig.js';
import { hostLines, lockLines, repositoryLines, toolLines } from './doctorMachine.js';

/** Looks at everything a tick needs, spends nothing, changes nothing; 0, or 3 when something failed. */
export async function doctorCommand(options: {
  readonly cwd: string;
  readonly json: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<number> {
  const lines: Line[] = [];
  const world = await createWorld({ cwd: options.cwd, env: options.env });
  /** What could not be observed is said to be unknown, with the reason, and never counts as fine. */
  const look = async (check: string, gather: () => Promise<readonly Line[]>): Promise<void> => {
    try {
      lines.push(...(await gather()));
    } catch (error) {
      lines.push(
        line(
          check,
          'unknown',
          `could not be looked at: ${(error as Error).message}`,
          'Clear up the reason given, then run relais doctor again.',
        ),
      );
    }
  };
  await look('tools', () => toolLines(world));
  const place = await locate(world).catch((error: unknown) => error as Error);
  if (place instanceof Error) {
    lines.push(line('repository', 'failed', place.message, 'Run relais doctor inside a git repository you may read.'));
  } else {
    await look('repository', () => repositoryLines(world, place));
    await look('config', async () => configLines(world, place));
    await look('workspace', () => workspaceLines(world, place));
    await look('agents', () => agentLines(world, place));
    await look('host', () => hostLines(world, place));
    await look('lock', () => lockLines(world, place));
  }
  const failed = lines.filter(({ status }) => status === 'failed').length;
  if (options.json) process.stdout.write(`${JSON.stringify({ ok: failed === 0, checks: lines })}\n`);
  else process.stdout.write(render(lines, failed));
  return failed === 0 ? 0 : 3;
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
  return `${rows.join('')}${counts.join(', ')}${failed === 0 ? '' : ': relais run will not start'}\n`;
}
