import type { Inventory } from '../model.js';
import type { Baseline, Run } from './run.js';

type Entries = NonNullable<Baseline['mainWorkspace']>;

/** The workspace with state and history, where it lies in another work tree than the tick's: nobody may touch it there either. */
export async function recordMainWorkspace(run: Run): Promise<Entries | undefined> {
  if (run.repository.mainTree === run.repository.workTree) return undefined;
  const entries = new Map(await look(run));
  await run.vault.keep('main', run.workspace, [...entries.keys()], entries);
  return entries;
}

/** Puts the workspace in the main work tree back by bytes; names what had been changed, relative to that work tree. */
export async function restoreMainWorkspace(run: Run, baseline: Baseline): Promise<string[]> {
  const { mainWorkspace: wanted } = baseline;
  if (wanted === undefined) return [];
  const { inventory, restore } = run.world;
  const current = await look(run);
  const changes = await inventory.changes(
    wanted,
    current,
    (path) => run.vault.hashOf('main', path),
    (path, entry) =>
      inventory.blobHash(inventory.absolute(run.workspace, path), entry.size, run.repository.objectFormat),
  );
  // A second runner that finds the lock held leaves this note; whoever starts next removes it.
  const paths = changes.map((change) => change.path).filter((path) => path !== 'BLOCKED.json');
  const problems = await restore.restoreTree(run.workspace, wanted, current, paths, (path) =>
    run.vault.bytes('main', path),
  );
  if (problems.length > 0) throw new Error(`${run.workspace} could not be put back: ${problems.join('; ')}`);
  return paths.map((path) => `${run.config.workspace_dir}/${path}`);
}

async function look(run: Run): Promise<Inventory> {
  const { clock, inventory } = run.world;
  const startedMs = clock.now().getTime();
  const seen = await inventory.walk(run.workspace, { skip: () => false, prune: () => false });
  await inventory.markRacy(seen, startedMs, run.workspace, run.repository.objectFormat);
  return seen;
}
