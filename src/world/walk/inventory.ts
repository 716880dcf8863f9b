import type { Entry, Inventory, Repository } from '../../model.js';
import { blobHash, hashIfReadable } from './blobHash.js';
import { absolute, pathBytes } from '../paths.js';
import { filesSince } from './columns.js';
import { look as lookAtOne, RACY_MS } from './look.js';

export { blobHash } from './blobHash.js';
export { changes, emptyFolders } from './compare.js';
export { openDependencies } from '../keep/dependencies.js';
export { absolute } from '../paths.js';
export { deserialize, serialize } from './format.js';
export { copyOf, filesMarked, filesOutside, mayDiffer, remarkable, resumedFrom } from './columns.js';
export { forgetRecord, settleRecord } from './keptRecord.js';
export { entryOf } from './look.js';
export { walk } from './plain.js';
export { look } from './walk.js';

/** Reading more than this takes longer than the moment it is about. */
const LARGE_BYTES = 64 * 1024 * 1024;

/** One path as it is now, or undefined where nothing is there. */
export async function entryAt(root: string, path: string): Promise<Entry | undefined> {
  const entry = lookAtOne(root, path);
  if (entry === 'unreachable') throw new Error(`${path} cannot be examined`);
  return entry;
}

/** The bytes of a link's target. */
export function targetBytes(entry: Entry): Buffer {
  if (entry.target === undefined) throw new Error(`a ${entry.kind} has no target`);
  return pathBytes(entry.target);
}

/** Fills `hash` for files changed so shortly before the walk that a later change could leave the same times. */
export async function markRacy(
  inventory: Inventory,
  startedMs: number,
  root: string,
  format: Repository['objectFormat'],
): Promise<void> {
  const entries = inventory as Map<string, Entry>;
  for (const path of filesSince(inventory, startedMs - RACY_MS)) {
    const entry = entries.get(path);
    if (entry === undefined || entry.size > LARGE_BYTES) continue;
    const hash = await hashIfReadable(() => blobHash(absolute(root, path), entry.size, format));
    if (hash !== undefined) entries.set(path, { ...entry, hash });
  }
}
