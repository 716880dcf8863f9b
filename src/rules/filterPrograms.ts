/** What a filter's folder may hold at most; a larger one is not a folder of tools. */
const MAX_FILES = 2000;

/**
 * The tracked files that content filters need: those their commands name, and what lies in the same
 * folders, because a script may load its neighbours.
 */
export function filterPrograms(commands: readonly string[], tracked: ReadonlyMap<string, unknown>): string[] {
  const words = commands.flatMap((command) => command.split(/[\s'"]+/)).map((word) => word.replace(/^(?:\.\/)+/, ''));
  const named = [...new Set(words)].filter((word) => tracked.has(word));
  const folders = new Set(named.map((path) => path.slice(0, path.lastIndexOf('/') + 1)).filter((folder) => folder));
  if (folders.size === 0) return named;
  const beside = [...tracked.keys()].filter((path) => [...folders].some((folder) => path.startsWith(folder)));
  return [...new Set([...named, ...beside.slice(0, MAX_FILES)])];
}
