import { readJournal } from '../stages/journal.js';
import { lockPath, type Place } from '../stages/place.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';

/** The lock: free, left behind, held, or unreadable. */
export async function lockLines(world: World, { repository, config }: Place): Promise<Line[]> {
  if (repository === undefined || config === undefined)
    return [line('lock', 'unknown', 'its place is read from the config', 'Make the config valid first.')];
  const found = await world.lock.inspectLock(lockPath(world, repository, config), world.host);
  const file = config.runner.lockfile;
  if (found.state === 'free') return [fine('lock', 'free')];
  if (found.state === 'stale')
    return [line('lock', 'warning', `left behind: ${found.why}`, 'Nothing to do: the next relais run takes it over.')];
  if (found.state === 'corrupt')
    return [line('lock', 'failed', `unreadable: ${found.why}`, `Make sure no tick is running, then delete ${file}.`)];
  const remedy = `Wait for that tick to end. If it ran on another machine and is gone for certain, delete ${file}.`;
  return [line('lock', 'warning', `held: ${found.why}`, remedy)];
}

/** A tick that never ended; while the lock is held it is simply the one at work. */
export async function journalLines(world: World, { repository, config }: Place): Promise<Line[]> {
  if (repository === undefined || config === undefined) return [];
  const { journal, damaged } = await readJournal(world, world.privateDir(repository.commonDir));
  if (damaged !== undefined) return [line('journal', 'failed', `unreadable: ${damaged}`, 'Run relais recover.')];
  if (journal === undefined) return [fine('journal', 'no tick was interrupted')];
  const { run_id, phase, hands_started } = journal;
  const lock = await world.lock.inspectLock(lockPath(world, repository, config), world.host);
  if (lock.state === 'held') return [fine('journal', `tick ${run_id} is in its phase ${phase}`)];
  if (hands_started)
    return [line('journal', 'failed', `tick ${run_id} was interrupted in its phase ${phase}`, 'Run relais recover.')];
  const why = `tick ${run_id} was interrupted before the Hands started`;
  return [line('journal', 'warning', why, 'Nothing to do: the next relais run settles it.')];
}
