import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

let known: string | undefined;

/** The folder of this package, whether it runs from `src/` or from `dist/`: schemas/ and prompts/ lie in it. */
export function packageRoot(): string {
  known ??= find(path.dirname(fileURLToPath(import.meta.url)));
  return known;
}

function find(from: string): string {
  for (let folder = from; ; folder = path.dirname(folder)) {
    if (isPackage(path.join(folder, 'package.json'))) return folder;
    if (folder === path.dirname(folder)) throw new Error(`no package.json of relais above ${from}; reinstall relais`);
  }
}

function isPackage(file: string): boolean {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof content === 'object' && content !== null && 'name' in content && content.name === 'relais';
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw new Error(`cannot read ${file}`, { cause: error });
  }
}
