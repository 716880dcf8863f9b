import type { Readable } from 'node:stream';
import type { Change, Entry } from '../model.js';
import type { Outcome } from '../outcome.js';
import { effectiveScope } from '../rules/scope.js';
import { restoreEmptyFolders } from './emptyFolders.js';
import { keepApart } from './keepApart.js';
import { dependenciesOf } from './dependencies.js';
import { baseHash, differences, measure, sortOut } from './measure.js';
import type { Baseline, Measured, Run } from './run.js';
import { HUGE_BYTES } from './tree.js';
import { walkTree } from './walk.js';

const ROUNDS = 3;

/**
 * Puts everything back as the baseline has it, after the rejected work was saved under its ref.
 * Returns what could not be put back; empty means proved equal. Spared paths stay as they are.
 */
export async function rollBack(
  run: Run,
  baseline: Baseline,
  verdict: Outcome,
  spared: ReadonlySet<string> = new Set(),
): Promise<string[]> {
  const forbidden = forbiddenGlobs(run);
  const open = async (current: ReadonlyMap<string, Entry>): Promise<Change[]> =>
    (await remaining(run, baseline, current, forbidden)).filter(({ path }) => !spared.has(path));
  let current = await keepRefused(run, baseline, forbidden, verdict);
  let left = await open(current);
  for (let round = 0; round === 0 || (round < ROUNDS && left.length > 0); round += 1) {
    await putBack(run, baseline, current, left);
    // Whatever was put back, a walk of its own has to prove it.
    current = await walkTree(run, baseline.index, baseline.inventory);
    left = await open(current);
  }
  left = await withoutLinkCounts(run, baseline, left);
  if (left.length === 0) await restoreEmptyFolders(run, baseline, current);
  return left.map(
    (change) => `${change.path} (${change.before === undefined ? 'was created' : 'could not be restored'})`,
  );
}

/** Keeps the refused work as a commit or, where git can't, as files; returns the work tree as it was found. */
async function keepRefused(
  run: Run,
  baseline: Baseline,
  forbidden: readonly string[],
  verdict: Outcome,
): Promise<ReadonlyMap<string, Entry>> {
  const { world, repository } = run;
  try {
    const measured = await measureForRollback(run, baseline, forbidden);
    // What the agents made is what was judged; what a check made of it since is kept beside it.
    const judged = run.record.measured ?? measured;
    await saveRejected(run, baseline, { ...judged, ...moved(measured) }, verdict);
    await keepApart(run, measured, judged);
    return measured.inventory;
  } catch (error) {
    world.log.error('the refused work could not be committed', { error });
    await world.gitdir.restoreMetadata(repository, baseline.metadata, run.vault, baseline);
    const current = await walkTree(run, baseline.index, baseline.inventory);
    const paths = (await remaining(run, baseline, current, forbidden))
      .filter(({ after }) => after?.kind === 'file')
      .map(({ path }) => path);
    const folder = world.join(run.privateDir, 'rejected', run.id);
    run.record.keptApart = folder;
    await world.restore.freeze(repository.workTree, paths, folder);
    run.record.warnings.push(
      `git could not keep the refused work (${error instanceof Error ? error.message : String(error)}); its files are in ${folder}`,
    );
    return current;
  }
}

function moved({ headMovedTo }: Measured): Pick<Measured, 'headMovedTo'> {
  return headMovedTo === undefined ? {} : { headMovedTo };
}

/** A file that is back by its bytes may have more or fewer names than before: an ignored one, say, which is nobody's to remove. */
async function withoutLinkCounts(run: Run, baseline: Baseline, changes: readonly Change[]): Promise<Change[]> {
  const { inventory } = run.world;
  const left: Change[] = [];
  for (const change of changes) {
    const { path, before, after } = change;
    const wanted = before?.hash ?? baseHash(run, baseline, path);
    const alike = before?.kind === 'file' && after?.kind === 'file' && before.mode === after.mode;
    if (!alike || before.nlink === after.nlink || wanted === undefined) left.push(change);
    else {
      const at = inventory.absolute(run.repository.workTree, path);
      if ((await inventory.blobHash(at, after.size, run.repository.objectFormat)) !== wanted) left.push(change);
      else run.record.warnings.push(`${path} is back, but has ${after.nlink} names instead of ${before.nlink}`);
    }
  }
  return left;
}

/** What must be back: installed packages, too, even if the task might have changed them. */
function forbiddenGlobs(run: Run): readonly string[] {
  const { task } = run.record;
  const always = run.config.scope.default_forbidden_globs;
  return task === undefined ? always : [...new Set([...always, ...effectiveScope(run.config, task).forbidden])];
}

/** Once judged, only what came after needs another look; before that, everything is measured now. */
async function measureForRollback(run: Run, baseline: Baseline, forbidden: readonly string[]): Promise<Measured> {
  if (run.record.measured !== undefined && run.record.verifyRuns.length === 0) return run.record.measured;
  const earlier = run.record.measured;
  const measured = await measure(run, baseline, forbidden);
  const merged: Measured =
    earlier?.headMovedTo === undefined ? measured : { ...measured, headMovedTo: earlier.headMovedTo };
  if (earlier === undefined) run.record.measured = merged;
  return merged;
}

async function remaining(
  run: Run,
  baseline: Baseline,
  current: ReadonlyMap<string, Entry>,
  forbidden: readonly string[],
): Promise<Change[]> {
  const all = await differences(run, baseline, current);
  return (await sortOut(run, baseline, all, forbidden)).judged;
}

async function putBack(
  run: Run,
  baseline: Baseline,
  current: ReadonlyMap<string, Entry>,
  changes: readonly Change[],
): Promise<void> {
  if (changes.length === 0) return;
  const blobs = run.git.openBlobs();
  const content = async (path: string, entry: Entry): Promise<Readable | Buffer> => {
    if (run.vault.has('tree', path)) return run.vault.bytes('tree', path);
    const indexed = baseline.index.get(path);
    if (indexed === undefined && dependenciesOf(run).has(path)) return dependenciesOf(run).read(path);
    if (indexed === undefined || baseline.unfaithful.has(path))
      throw new Error(`no copy of ${path} (${entry.size} bytes) was kept`);
    return entry.size > HUGE_BYTES ? run.git.blobTo(indexed.oid) : blobs.read(indexed.oid);
  };
  try {
    const paths = changes.map((change) => change.path);
    await run.world.restore.restoreTree(run.repository.workTree, baseline.inventory, current, paths, content);
  } finally {
    await blobs.close();
  }
}

/** Keeps what the agents made: as a commit under refs/relais/rejected, with their own commits as a parent. */
async function saveRejected(run: Run, baseline: Baseline, measured: Measured, verdict: Outcome): Promise<void> {
  const moved = measured.headMovedTo;
  if (measured.tree === baseline.tree && moved === undefined) return;
  const parents = moved === undefined ? [baseline.head.commit] : [baseline.head.commit, moved];
  const message = `relais: rejected work of ${run.id}\n\n${verdict.code}\n`;
  const commit = await run.git.commitTree({ tree: measured.tree, parents, message, date: run.world.clock.now() });
  const ref = `refs/relais/rejected/${run.id}`;
  await run.git.updateRef(ref, commit, undefined, `relais: ${verdict.code}`);
  run.record.rejectedRef = ref;
}
