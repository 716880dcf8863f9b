import type { Change } from '../model.js';
import { filterPrograms } from '../rules/filterPrograms.js';
import type { Baseline, Run } from './run.js';
import { ruleFiles } from './walk.js';

const RULES = /(^|\/)\.gitattributes$/;

/**
 * Stores frozen files as git would add them, converted as before the Hands: attributes files and
 * the programs of filters are the old ones meanwhile, even where they are among the touched.
 */
export async function storeFrozen(
  run: Run,
  baseline: Baseline,
  root: string,
  changes: readonly Change[],
): Promise<Map<string, string>> {
  const programs = filterPrograms(run.git.filterCommands('.'), baseline.index);
  const deciding = new Set(programs);
  const touched = new Map<string, Buffer>();
  for (const { path } of changes) {
    if (!deciding.has(path) && !RULES.test(path)) continue;
    const at = run.world.inventory.absolute(root, path);
    touched.set(path, await run.world.files.readBytes(at));
    await run.world.files.removeFile(at);
  }
  for (const path of ruleFiles(run, baseline.inventory))
    if (RULES.test(path)) await run.vault.copyTo('tree', path, run.world.join(root, path));
  await placePrograms(run, baseline, root, programs);
  const plain = changes.map(({ path }) => path).filter((path) => !touched.has(path));
  const oids = new Map(await run.git.storeFiles(root, plain));
  for (const [path, bytes] of touched)
    oids.set(path, RULES.test(path) ? await run.git.storeBytes(bytes) : await run.git.storeAs(root, path, bytes));
  // What is frozen is compared once more after the checks.
  for (const [path, bytes] of touched) if (!RULES.test(path)) await write(run, root, path, bytes, 0o600);
  return oids;
}

/** Puts the filters' programs, as they stood before the Hands, where their commands look for them. */
async function placePrograms(run: Run, baseline: Baseline, root: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0) return;
  const blobs = run.git.openBlobs();
  try {
    for (const path of paths) {
      const indexed = baseline.index.get(path);
      if (RULES.test(path) || baseline.inventory.get(path)?.kind !== 'file' || indexed === undefined) continue;
      const bytes = run.vault.has('tree', path)
        ? await run.vault.bytes('tree', path)
        : baseline.unfaithful.has(path)
          ? undefined
          : await blobs.read(indexed.oid);
      if (bytes !== undefined) await write(run, root, path, bytes, indexed.mode === '100755' ? 0o700 : 0o600);
    }
  } finally {
    await blobs.close();
  }
}

async function write(run: Run, root: string, path: string, bytes: Buffer, mode: number): Promise<void> {
  const at = run.world.join(root, path);
  await run.world.files.ensureDir(run.world.join(at, '..'));
  await run.world.files.writeAtomic(at, bytes, mode);
}
