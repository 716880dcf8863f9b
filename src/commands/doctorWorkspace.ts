import type { Config } from '../generated/types.js';
import type { Place } from '../stages/place.js';
import { readWorkspace } from '../stages/preflight.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';
import { originals } from './initFiles.js';

const MAX_FILE = 4 * 1024 * 1024;
const REMEDY = 'Run relais init: it writes what is missing and overwrites nothing.';

/** Whether the workspace is complete, its schemas are those of this package, and the runner's own files are sound. */
export async function workspaceLines(world: World, place: Place): Promise<Line[]> {
  const { config, root, repository } = place;
  if (config === undefined)
    return [line('workspace', 'unknown', 'its place is read from the config', 'Make the config valid first.')];
  const { missing, schemas, prompts } = await compare(world, root, config);
  const needed = await absent(world, root, config);
  const drift = `different from this version's: ${schemas.join(', ')}`;
  return [
    needed.length > 0
      ? line('workspace', 'failed', `a tick needs ${needed.join(', ')}`, REMEDY)
      : missing.length > 0
        ? line('workspace', 'warning', `missing: ${missing.join(', ')}`, REMEDY)
        : fine('workspace', `${config.workspace_dir}/ is complete`),
    schemas.length > 0
      ? line('schemas', 'warning', drift, 'Unless you changed them on purpose: delete them and run relais init.')
      : fine('schemas', 'the same as the package’s, where they are there'),
    fine('prompts', prompts.length === 0 ? 'as shipped' : `edited: ${prompts.join(', ')}`),
    ...(repository === undefined ? [] : damaged((await readWorkspace(world, repository, config)).invalid)),
  ];
}

/** The workspace's files against the package's. Prompts are the operator's to edit, schemas are not. */
async function compare(
  world: World,
  root: string,
  config: Config,
): Promise<Record<'missing' | 'schemas' | 'prompts', string[]>> {
  const found = { missing: [] as string[], schemas: [] as string[], prompts: [] as string[] };
  for (const { path, text } of await originals(world.packageRoot, config.workspace_dir)) {
    const read = await world.files.readText(world.join(root, path), MAX_FILE);
    if (read.found !== 'text') found.missing.push(path);
    else if (read.text !== text && path.endsWith('.schema.json')) found.schemas.push(path);
    else if (read.text !== text && path.includes('/prompts/')) found.prompts.push(path);
  }
  return found;
}

/** The files a tick reads before it calls anybody, as far as they can't be read. */
async function absent(world: World, root: string, { orchestrator, builder }: Config): Promise<string[]> {
  const { claude_code: hands } = builder;
  const needed = [
    orchestrator.system_prompt_file,
    orchestrator.user_prompt_file,
    orchestrator.task_schema_file,
    hands.system_prompt_file,
    hands.user_prompt_file,
    hands.builder_result_schema_file,
  ];
  const read = await Promise.all(needed.map((name) => world.files.readText(world.join(root, name), MAX_FILE)));
  return needed.filter((_, index) => read[index]?.found !== 'text');
}

function damaged(invalid: readonly string[]): Line[] {
  if (invalid.length === 0) return [fine('state files', 'none is damaged')];
  return [line('state files', 'failed', invalid.join('; '), 'Run relais recover.')];
}
