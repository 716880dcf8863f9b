import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { originals, planSteps, writeSteps } from '../commands/initFiles.js';
import { packageRoot } from '../world/packageRoot.js';
import type { JsonObject } from './overlay.js';

/** Writes relais.config.json and the workspace of a scratch repository, with the files init would write. */
export async function writeWorkspace(root: string, options: { readonly config: JsonObject }): Promise<void> {
  await writeSteps(root, await planSteps(root, await originals(packageRoot(), 'relais')));
  await writeFile(path.join(root, 'relais.config.json'), `${JSON.stringify(options.config, null, 2)}\n`);
}
