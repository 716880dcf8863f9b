import { mkdirSync, renameSync } from 'node:fs';
import { absolute, parentOf } from '../paths.js';
import { lstatOf, openUp, reachable } from './replace.js';
import { freeze } from './restore.js';

/** Copying more than this takes time and space; a larger file is moved, which takes neither. */
const COPIED_BYTES = 64 * 1024 * 1024;

/**
 * Keeps files that are about to be removed or replaced: small ones as copies, large ones by moving
 * them, so that they are gone from their place. Names those that could not be kept, and why.
 */
export async function setAside(
  root: string,
  paths: readonly string[],
  destRoot: string,
): Promise<ReadonlyMap<string, string>> {
  const refused = new Map<string, string>();
  for (const path of paths) {
    const stats = reachable(root, path) ? lstatOf(root, path) : undefined;
    if (stats === undefined || !stats.isFile()) refused.set(path, 'it is no longer a regular file');
    else if (stats.size > COPIED_BYTES) move(root, path, destRoot, refused);
    else for (const [name, why] of await freeze(root, [path], destRoot)) refused.set(name, why);
  }
  return refused;
}

function move(root: string, path: string, destRoot: string, refused: Map<string, string>): void {
  const folder = parentOf(path);
  const stats = folder === '' ? undefined : lstatOf(root, folder);
  if (stats !== undefined) openUp(root, folder, stats);
  mkdirSync(absolute(destRoot, folder), { recursive: true, mode: 0o700 });
  try {
    renameSync(absolute(root, path), absolute(destRoot, path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !['EXDEV', 'EACCES', 'EPERM', 'ENOENT', 'ENAMETOOLONG'].includes(code)) throw error;
    refused.set(path, code === 'EXDEV' ? 'it is too large to be copied to another disk' : code);
  }
}
