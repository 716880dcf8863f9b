import type { Config } from '../generated/types.js';
import { schemaProblem } from '../schemas.js';
import type { World } from '../world/world.js';

const MAX_NAMED_FILE = 1024 * 1024;

/** The prompts and schemas the config names, read once, before any agent runs. */
export interface Named {
  /** By the path the config gives. */
  readonly texts: ReadonlyMap<string, string>;
  /** Schemas the user changed: they are asked besides the package's own and can only refuse more. */
  readonly changedSchemas: ReadonlySet<string>;
  /** Where the agent program was found, outside the repository; undefined where it was not. */
  readonly agentProgram?: string;
}

/** Reads every file the config names; says which of them can't be used, and what to do about it. */
export async function readNamed(
  world: World,
  root: string,
  { orchestrator, builder, claude_code_cli: cli }: Config,
): Promise<Named & { problems: string[] }> {
  const { claude_code: settings } = builder;
  const schemas: [path: string, original: string][] = [
    [orchestrator.task_schema_file, 'task.schema.json'],
    [settings.builder_result_schema_file, 'builder_result.schema.json'],
  ];
  const prompts = [
    orchestrator.system_prompt_file,
    orchestrator.user_prompt_file,
    settings.system_prompt_file,
    settings.user_prompt_file,
  ];
  const texts = new Map<string, string>();
  const problems: string[] = [];
  for (const path of [...prompts, ...schemas.map(([file]) => file)]) {
    const read = await world.files.readText(world.join(root, path), MAX_NAMED_FILE);
    if (read.found === 'text') texts.set(path, read.text);
    else if (read.found === 'missing') problems.push(`${path} is missing; \`relais init\` writes it`);
    else problems.push(`${path} can't be read: ${read.why}`);
  }
  const caps: [path: string, most: number][] = [
    [orchestrator.system_prompt_file, orchestrator.max_prompt_chars],
    [settings.system_prompt_file, settings.max_prompt_chars],
  ];
  for (const [path, most] of caps) {
    const { length } = texts.get(path) ?? '';
    if (length > most) problems.push(`${path} has ${length} characters, more than max_prompt_chars (${most})`);
  }
  const changedSchemas = new Set<string>();
  for (const [path, original] of schemas) {
    const text = texts.get(path);
    const ours = await world.files.readText(world.join(world.packageRoot, 'schemas', original), MAX_NAMED_FILE);
    if (text === undefined || (ours.found === 'text' && ours.text === text)) continue;
    changedSchemas.add(text);
    const problem = await schemaProblem(text);
    if (problem !== undefined) problems.push(`${path} is no usable JSON Schema: ${problem}`);
  }
  const { programs, env } = world;
  const agentProgram = await programs.resolveProgram(cli.command, root, programs.trustedPath(env.PATH, root));
  return { texts, changedSchemas, problems, ...(agentProgram !== undefined && { agentProgram }) };
}
