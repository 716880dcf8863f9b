import type { State } from '../generated/types.js';
import { emptyState } from '../rules/budget.js';
import { rebuildState } from '../rules/rebuild.js';
import { checkMeta, checkReport, parseJson, type Checked } from '../schemas.js';
import type { World } from '../world/world.js';
import { workspaceOf, type Ready } from './place.js';
import { readWorkspace } from './preflight.js';

const MAX_HISTORY_FILE = 64 * 1024 * 1024;

/**
 * Makes the runner's own files valid again: broken ones are set aside, never deleted, and the
 * counters are rebuilt from history. Notices count as seen. Says what there was to do.
 */
export async function repairWorkspace(world: World, place: Ready, dryRun: boolean): Promise<string[]> {
  const { repository, config } = place;
  const { invalid, state } = await readWorkspace(world, repository, config);
  const folder = workspaceOf(world, repository, config);
  const steps: string[] = [];
  for (const line of invalid) {
    const name = line.slice(config.workspace_dir.length + 1, line.indexOf(':'));
    const rebuilt = name === 'STATE.json' ? ' and rebuild it from history' : '';
    steps.push(`set ${config.workspace_dir}/${name} aside as ${name}.broken${rebuilt}`);
    if (!dryRun) await setAside(world, place, folder, name);
  }
  steps.push(...state.notices.map((notice) => `note as seen: ${notice.text}`));
  if (!dryRun && state.notices.length > 0)
    await world.files.writeJson(world.join(folder, 'STATE.json'), { ...state, notices: [] });
  return steps;
}

async function setAside(world: World, place: Ready, folder: string, name: string): Promise<void> {
  const file = world.join(folder, name);
  if (await world.files.exists(file)) await world.files.move(file, `${file}.broken`);
  if (name !== 'STATE.json') return;
  await world.files.writeJson(world.join(folder, 'STATE.json'), await stateFromHistory(world, place));
}

/** Counters as the last complete history entry of each milestone has them; what came after is unknown. */
async function stateFromHistory(world: World, place: Ready): Promise<State> {
  const history = world.join(place.repository.mainTree, place.config.history.dir);
  const entries = [];
  for (const name of await world.files.list(history)) {
    const report = await readChecked(world, world.join(history, name, 'report.json'), checkReport);
    const meta = await readChecked(world, world.join(history, name, 'meta.json'), checkMeta);
    if (report !== undefined && meta !== undefined) entries.push({ report, meta });
  }
  return rebuildState(emptyState(), entries);
}

async function readChecked<T>(
  world: World,
  file: string,
  check: (value: unknown) => Checked<T>,
): Promise<T | undefined> {
  const read = await world.files.readText(file, MAX_HISTORY_FILE);
  if (read.found !== 'text') return undefined;
  const parsed = parseJson(read.text);
  const checked = parsed.ok ? check(parsed.value) : parsed;
  return checked.ok ? checked.value : undefined;
}
