import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import path from 'node:path';

const NOT_ENTERED = new Set(['.git', 'node_modules', '.venv', 'venv', 'target', 'dist']);
const MAX_NAMES = 20_000;

/** Names down to the second level below a folder, folders with a final `/`, links not followed, sorted. */
export async function survey(root: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(root, { withFileTypes: true })) {
    names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    if (!entry.isDirectory() || NOT_ENTERED.has(entry.name)) continue;
    for (const child of await listed(path.join(root, entry.name))) {
      if (names.length < MAX_NAMES) names.push(`${entry.name}/${child.name}${child.isDirectory() ? '/' : ''}`);
    }
  }
  return names.toSorted();
}

/** Why a folder cannot be written by this process, or undefined; the nearest existing parent answers for a missing one. */
export async function writeProblem(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const parent = path.dirname(folder);
    if (code === 'ENOENT' && parent !== folder) return writeProblem(parent);
    return message;
  }
}

async function listed(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    // A folder that may not be listed has nothing to tell here; the tick's own walk reports it.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw error;
  }
}
