import { EXIT_CODE } from '../outcome.js';
import { wideningProblem, type Widening } from '../rules/salvage.js';
import { salvage } from '../salvage.js';
import { createWorld } from '../world/world.js';
import { progress, refuse, type CommandOptions } from './output.js';
import { concluded, printEnd } from './run.js';

export interface SalvageOptions extends CommandOptions {
  readonly signal: AbortSignal;
  readonly quiet: boolean;
  readonly run: string;
  readonly widening: Widening;
}

/** `relais salvage <run_id>`: refused work is judged again, maybe by a wider task; no agent is called. */
export async function salvageCommand(options: SalvageOptions): Promise<number> {
  const { json, widening, run } = options;
  const wrong = wideningProblem(widening);
  if (wrong !== undefined) return refuse(json, { why: wrong.refused, remedy: wrong.remedy }, EXIT_CODE.usage);
  const world = await createWorld({
    cwd: options.cwd,
    env: options.env,
    signal: options.signal,
    onProgress: ({ phase, text }) => {
      if (!options.quiet) progress(`${phase.padEnd(12)} ${text}`);
    },
  });
  const ended = await salvage(world, { run, widening });
  if ('refused' in ended)
    return refuse(
      json,
      { why: ended.refused, remedy: ended.remedy },
      ended.usage === true ? EXIT_CODE.usage : EXIT_CODE.blocked,
    );
  return printEnd(concluded(world, ended), json);
}
