import { isOutcome, outcome } from './outcome.js';
import { verifyShortfall, withoutAgents, type Refusal } from './rules/salvage.js';
import { lockTick } from './stages/lock.js';
import { isReady, locate } from './stages/place.js';
import { decidePreflight, gatherPreflight, readWorkspace } from './stages/preflight.js';
import { refuse } from './stages/refuse.js';
import { removeRejected } from './stages/rejected.js';
import { planSalvage, salvageWorkers, type Asked } from './stages/salvage.js';
import type { Ended } from './stages/writing.js';
import { play } from './tick.js';
import type { World } from './world/world.js';

/**
 * A tick whose Brain and Hands are the record of an earlier one: the same lock, preflight, Judge, checks, settling
 * and reports. What can't be carried over is refused before anything begins.
 */
export async function salvage(world: World, asked: Asked): Promise<Ended | Refusal> {
  const begun = { id: world.newRunId(), startedAt: world.clock.now(), startedMs: world.clock.monotonicMs() };
  world.log.info('started', { run_id: begun.id, salvages: asked.run });
  const place = await locate(world);
  const lock = await lockTick(world, place, begun);
  try {
    world.say('PREFLIGHT', 'checking that it is safe to start');
    const facts = await gatherPreflight(world, place, lock.fact);
    if (!isReady(place))
      return await refuse(
        world,
        place,
        begun,
        decidePreflight(facts) ?? outcome('BLOCKED_MISSING_CONFIG', ['no config']),
      );
    const { state } = await readWorkspace(world, place.repository, place.config);
    const blocked = decidePreflight(withoutAgents(facts, place.facts.config, verifyShortfall(place.config, state)));
    if (isOutcome(blocked)) return await refuse(world, place, begun, blocked);
    const privateDir = world.privateDir(place.repository.commonDir);
    const scratch = world.join(privateDir, 'runs', begun.id);
    await world.files.ensurePrivateDir(privateDir);
    await world.files.ensurePrivateDir(scratch);
    const git = await place.git();
    const plan = await planSalvage({ world, place, git, scratch }, asked);
    if ('refused' in plan) {
      await world.files.removeTree(scratch);
      return plan;
    }
    const ended = await play(world, place, begun, salvageWorkers(plan));
    // Its work is in the commit now; the builder's own commits, if any, have moved under this run's ref.
    const committed = ended.report !== undefined && ended.report.head_commit !== ended.report.base_commit;
    if (ended.outcome.code === 'SUCCESS' && committed)
      await removeRejected(world, git, { ...plan.from, private_dir: null });
    return ended;
  } finally {
    await lock.release();
  }
}
