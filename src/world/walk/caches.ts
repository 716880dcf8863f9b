/** Which folders are recorded but not entered. */
export interface Rules {
  /** Names of cache folders directly inside a `node_modules`. */
  readonly caches: readonly string[];
  /** Those of them that hold tracked files, and so are entered. */
  readonly entered: readonly string[];
}

/** Whether a folder is a cache of installed tools, which anybody may write to at any time. */
export function isCache(path: string, { caches, entered }: Rules): boolean {
  const at = path.lastIndexOf('/node_modules/') + 1;
  if (!path.startsWith('node_modules/', at)) return false;
  return caches.includes(path.slice(at + 'node_modules/'.length)) && !entered.includes(path);
}
