import type { Git } from '../world/git/git.js';
import type { World } from '../world/world.js';
import { publish } from './conclusion.js';
import type { Interrupted, Journal } from './journal.js';
import { workspaceOf, type Ready } from './place.js';
import { readWorkspace } from './preflight.js';

/** Brings the index up to date with a commit that is on the branch already, and writes the report; names what is in the way. */
export async function finishCommit(
  world: World,
  place: Ready,
  { journal, aliveUntil }: Interrupted,
): Promise<string[]> {
  const lock = world.join(place.repository.gitDir, 'index.lock');
  const locked = await world.files.modifiedMs(lock);
  if (locked !== undefined && locked > aliveUntil)
    return [`${lock} is there: another git is at work; when it has ended, run \`relais recover\` again`];
  // The tick's own git was killed with it.
  if (locked !== undefined) await world.files.removeFile(lock);
  const git = await gitOf(world, place);
  const committed = await git.treeOf(journal.commit ?? journal.head.commit);
  await git.stage(await git.treeChanges(journal.tree, committed));
  await writeEnding(world, place, journal);
  return [];
}

/** Writes the ending that the tick had come to, as far as that is not done. */
export async function writeEnding(world: World, place: Ready, { run_id: id, conclusion }: Journal): Promise<void> {
  if (conclusion === undefined) return;
  const { repository, config } = place;
  const workspace = workspaceOf(world, repository, config);
  const { state } = await readWorkspace(world, repository, config);
  // Once the ending is in the state, the operator may have answered its question.
  if (state.last_task_run_id !== id) await world.files.writeJson(world.join(workspace, 'STATE.json'), conclusion.state);
  await publish({ world, config, repository, workspace, git: await gitOf(world, place) }, conclusion);
}

async function gitOf(world: World, { repository }: Ready): Promise<Git> {
  return world.git.createGit(repository, await world.git.readSettings(repository.workTree));
}
