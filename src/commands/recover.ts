import type { Config } from '../generated/types.js';
import type { Repository } from '../model.js';
import { clean } from '../rules/text.js';
import { lockTick } from '../stages/lock.js';
import { locate, type Place } from '../stages/place.js';
import { recover } from '../stages/recover.js';
import { createWorld } from '../world/world.js';

/** `relais recover`: says what it will do, does it, says what is left. */
export async function recoverCommand(options: {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  dryRun: boolean;
  json: boolean;
}): Promise<number> {
  const world = await createWorld(options);
  const say = (line: string): void => void process.stderr.write(`${clean(line)}\n`);
  const place = await locate(world);
  if (!isReady(place)) {
    say(
      'There is nothing to recover here: this is no repository with a valid relais.config.json. Try `relais status --preflight`.',
    );
    return 3;
  }
  const lock = options.dryRun
    ? undefined
    : await lockTick(world, place, { id: world.newRunId(), startedAt: world.clock.now() });
  if (lock !== undefined && lock.fact.state !== 'mine') {
    say(`Another relais is at work: ${lock.fact.why}`);
    return 3;
  }
  try {
    const found = await recover(world, place, options.dryRun);
    if (options.json)
      process.stdout.write(`${JSON.stringify({ dry_run: options.dryRun, steps: found.steps, left: found.left })}\n`);
    say(
      found.steps.length === 0
        ? 'Nothing was interrupted; nothing to do.'
        : options.dryRun
          ? 'relais recover would:'
          : 'Recovered:',
    );
    for (const step of found.steps) say(`  - ${step}`);
    for (const line of found.left) say(`  ! still open: ${line}`);
    return found.left.length === 0 ? 0 : 2;
  } finally {
    await lock?.release();
  }
}

function isReady(place: Place): place is Place & { repository: Repository; config: Config } {
  return place.repository !== undefined && place.config !== undefined;
}
