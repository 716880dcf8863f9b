import { EXIT_CODE } from '../outcome.js';
import { lockTick } from '../stages/lock.js';
import { isReady, locate } from '../stages/place.js';
import { recover, type Recovery } from '../stages/recover.js';
import { createWorld } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions } from './output.js';

/** `relais recover`: finishes or undoes an interrupted tick and says what it did; with `dryRun` it only says. */
export async function recoverCommand(
  options: CommandOptions & { readonly dryRun: boolean; readonly keep: boolean },
): Promise<number> {
  const { json, dryRun } = options;
  const world = await createWorld(options);
  const place = await locate(world);
  if (!isReady(place)) {
    const why = 'there is nothing to recover here: this is no repository with a valid relais.config.json';
    return refuse(json, { why, remedy: '`relais status --preflight` says what is missing.' }, EXIT_CODE.blocked);
  }
  const lock = dryRun
    ? undefined
    : await lockTick(world, place, { id: world.newRunId(), startedAt: world.clock.now() });
  if (lock !== undefined && lock.fact.state !== 'mine') {
    const why = `another relais is at work, or left its lock: ${lock.fact.why}`;
    const remedy =
      'Wait for it to end. If you are sure that none is running, `relais unlock` says how to remove the lock.';
    return refuse(json, { why, remedy }, EXIT_CODE.blocked);
  }
  try {
    const found = await recover(world, place, options);
    for (const line of lines(found, dryRun)) speaker(json)(line);
    const ok = found.left.length === 0;
    if (json) printJson({ ok, dry_run: dryRun, ...found });
    return ok ? EXIT_CODE.done : EXIT_CODE.stop;
  } finally {
    await lock?.release();
  }
}

function lines({ steps, notes, left }: Recovery, dryRun: boolean): string[] {
  if (steps.length === 0) return ['Nothing was interrupted; nothing to do.'];
  return [
    dryRun ? 'relais recover would:' : left.length === 0 ? 'Recovered:' : 'Not finished:',
    ...steps.map((step) => `  - ${step}`),
    ...notes.map((line) => `  note: ${line}`),
    ...left.map((line) => `  ! still open: ${line}`),
    ...(left.length > 0
      ? [
          'remedy: put in order what is still open and run `relais recover` again, or close the tick as it is: `relais recover --keep`.',
        ]
      : []),
  ];
}
