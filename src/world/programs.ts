import { constants, realpathSync } from 'node:fs';
import { access, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/** True when `candidate` is `folder` or lies inside it; both absolute. */
export function inside(folder: string, candidate: string): boolean {
  const relative = path.relative(folder, candidate);
  return relative === '' || (!relative.startsWith('..') && !path.isAbsolute(relative));
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** PATH without relative folders and without folders inside the repository. */
export function trustedPath(pathValue: string | undefined, workTree: string): string {
  return (pathValue ?? '/usr/local/bin:/usr/bin:/bin')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder) && !inside(workTree, folder) && !inside(workTree, resolved(folder)))
    .join(path.delimiter);
}

function resolved(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')) return folder;
    throw error;
  }
}

/**
 * The absolute path of a program, or undefined when there is none. A bare name is looked for on the
 * trusted PATH only; a name with a slash was configured on purpose and may lie in the repository.
 */
export async function resolveProgram(cmd: string, workTree: string, searchPath: string): Promise<string | undefined> {
  if (cmd.includes('/')) {
    const file = path.resolve(workTree, cmd);
    return (await isProgram(file)) ? file : undefined;
  }
  for (const folder of searchPath.split(path.delimiter)) {
    const file = path.join(folder, cmd);
    if (folder !== '' && (await isProgram(file)) && !inside(workTree, await realpath(file))) return file;
  }
  return undefined;
}

/** True when the value, links resolved as far as it exists, stays inside the work tree. */
export async function staysInside(workTree: string, value: string): Promise<boolean> {
  const root = await realpath(workTree);
  let candidate = path.resolve(workTree, value);
  for (;;) {
    try {
      return inside(root, await realpath(candidate));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false;
      const parent = path.dirname(candidate);
      if (parent === candidate) return false;
      candidate = parent;
    }
  }
}
