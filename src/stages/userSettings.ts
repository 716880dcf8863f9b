import { agentNamed } from '../agents/registry.js';
import { parseJson } from '../schemas.js';
import type { Run } from './run.js';

const MAX_SETTINGS = 8 * 1024 * 1024;

/** What the user's own settings of the builder's program hold, to be compared after the Hands worked. */
export async function userSettings(run: Run): Promise<ReadonlyMap<string, string>> {
  const { world, config } = run;
  const found = new Map<string, string>();
  for (const { path, key } of agentNamed(config.builder.agent).settings?.(world.env) ?? []) {
    const read = await world.files.readText(path, MAX_SETTINGS);
    const text = read.found === 'text' ? read.text : read.found;
    found.set(path, world.sha256(key === undefined ? text : partOf(text, key)));
  }
  return found;
}

function partOf(text: string, key: string): string {
  const parsed = parseJson(text);
  const value = parsed.ok ? (parsed.value as Record<string, unknown> | null) : null;
  return JSON.stringify(value?.[key] ?? null);
}

/** Warns of every settings file that is not as it was: it lies outside the repository and can't be judged or put back. */
export async function compareSettings(run: Run, before: ReadonlyMap<string, string>): Promise<void> {
  const after = await userSettings(run);
  const changed = [...before].filter(([path, hash]) => after.get(path) !== hash).map(([path]) => path);
  for (const path of changed)
    run.record.warnings.push(`${path} was changed while the Hands worked; check it, the next call obeys it`);
}
