import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { inside, trustedPath } from '../programs.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** There is no git on this machine, or none outside the repository. */
export class NoGitError extends Error {
  override readonly name = 'NoGitError';
}

/** The absolute path of git, looked for outside the repository only. */
export function gitProgram(workTree: string, env: Environment): string {
  for (const folder of trustedPath(env['PATH'], workTree).split(path.delimiter)) {
    const file = path.join(folder, 'git');
    if (existsSync(file) && isExecutable(file) && !inside(workTree, realpathSync(file))) return file;
  }
  throw new NoGitError('git was not found on PATH');
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (['EACCES', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** The nearest folder upwards that looks like a work tree, or the folder itself. */
export function enclosing(cwd: string): string {
  for (let folder = path.resolve(cwd); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, '.git'))) return folder;
    if (folder === path.dirname(folder)) return path.resolve(cwd);
  }
}
