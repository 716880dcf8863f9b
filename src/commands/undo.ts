import { EXIT_CODE } from '../outcome.js';
import { undo } from '../stages/undo.js';
import { createWorld } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions } from './output.js';

const SHOWN = 10;

/** `relais undo [run_id]`: takes an accepted tick back as a new commit. */
export async function undoCommand(
  options: CommandOptions & { readonly run?: string; readonly signal: AbortSignal },
): Promise<number> {
  const { json } = options;
  const done = await undo(await createWorld(options), options.run);
  if ('refused' in done)
    return refuse(
      json,
      { why: done.refused, remedy: done.remedy },
      done.usage === true ? EXIT_CODE.usage : EXIT_CODE.blocked,
    );
  if ('stopped' in done) {
    const remedy =
      done.left.length === 0
        ? 'Everything is as it was before. Try again.'
        : `Run \`relais recover\`: ${done.left.join('; ')}`;
    return refuse(json, { why: `the undo was stopped: ${done.stopped}`, remedy }, EXIT_CODE.stop);
  }
  const say = speaker(json);
  say(`Undone: ${done.undoes}, "${done.subject}"`);
  for (const path of done.paths.slice(0, SHOWN)) say(`  ${path}`);
  if (done.paths.length > SHOWN) say(`  … ${done.paths.length - SHOWN} more`);
  say(`  commit: ${done.commit}`);
  say(`next: No check was run. \`relais undo ${done.run_id}\` brings it back.`);
  if (json) printJson({ ok: true, ...done });
  return EXIT_CODE.done;
}
