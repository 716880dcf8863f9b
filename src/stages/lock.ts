import { matcher } from '../rules/globs.js';
import type { PreflightFacts } from '../rules/preflight.js';
import type { LockState } from '../model.js';
import type { World } from '../world/world.js';
import { attempt, removeDrafts } from './conclusion.js';
import { lockPath, workspaceOf, type Place } from './place.js';

export interface TickLock {
  readonly fact: PreflightFacts['lock'];
  release(): Promise<void>;
}

const nothing = async (): Promise<void> => undefined;

/** Takes the workspace's lock, or says who has it. Without a config there is no place for a lock. */
export async function lockTick(world: World, place: Place, begun: { id: string; startedAt: Date }): Promise<TickLock> {
  const { repository, config } = place;
  if (repository === undefined || config === undefined) return { fact: { state: 'free', why: '' }, release: nothing };
  world.say('LOCK', 'taking the lock');
  await world.files.ensureDir(workspaceOf(world, repository, config));
  const taken = await world.lock.takeLock(
    lockPath(world, repository, config),
    world.host,
    begun.id,
    begun.startedAt.toISOString(),
  );
  if (!taken.taken) return { fact: lockFact(taken.found), release: nothing };
  try {
    const removed = await clean(world, { repository, config });
    if (removed.length > 0) world.say('LOCK', `removed what an interrupted write had left: ${removed.join(', ')}`);
  } catch (error) {
    await taken.release();
    throw error;
  }
  return { fact: { state: 'mine', why: '' }, release: () => attempt(world, 'release the lock', () => taken.release()) };
}

/** Removes what interrupted writes of dead commands have left; names what lay in the workspace. */
async function clean(
  world: World,
  { repository, config }: Required<Pick<Place, 'repository' | 'config'>>,
): Promise<string[]> {
  const temporary = matcher([config.runner.crash_cleanup.delete_tmp_glob], { twins: false });
  const removed = await world.files.cleanTemps(
    workspaceOf(world, repository, config),
    (name) => temporary(`${config.workspace_dir}/${name}`) !== undefined,
  );
  await removeDrafts({ world, config, repository });
  const privateDir = world.privateDir(repository.commonDir);
  for (const folder of [privateDir, world.join(privateDir, 'vault'), world.join(privateDir, 'vault', 'objects')])
    await world.files.cleanTemps(folder, (name) => name.endsWith('.tmp'));
  return removed;
}

/** The lock as preflight sees it. */
export function lockFact(found: LockState): PreflightFacts['lock'] {
  if (found.state === 'free') return { state: 'free', why: '' };
  if (found.state === 'corrupt') return { state: 'corrupt', why: `${found.why}: ${found.content.slice(0, 120)}` };
  return {
    state: found.state,
    why: `${found.why} (run ${found.lock.run_id}, pid ${found.lock.pid} on ${found.lock.host}, since ${found.lock.started_at})`,
  };
}
