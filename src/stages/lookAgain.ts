import type { Change } from '../model.js';
import { baseHash, sortOut } from './measure.js';
import { restoreMainWorkspace } from './mainWorkspace.js';
import type { Baseline, Measured, Run } from './run.js';
import { frozenRoot, HUGE_BYTES } from './tree.js';
import { walkTree } from './walk.js';
import { effectiveScope } from '../rules/scope.js';

export interface SecondLook {
  /** Tracked, judged or protected files that the checks changed. */
  readonly changed: readonly string[];
  /** New untracked files; they were removed. */
  readonly created: readonly string[];
  readonly headMoved: readonly string[];
}

/**
 * Compares the repository after verification with what was judged. New untracked files are removed
 * with a warning; ignored files are left; everything else is taint.
 */
export async function lookAgain(run: Run, baseline: Baseline): Promise<SecondLook> {
  const { measured, task } = run.record;
  if (measured === undefined || task === undefined) throw new Error('nothing was judged');
  const { gitdir } = run.world;
  const head = await gitdir.readHead(run.repository);
  const refs = await gitdir.readRefs(run.repository);
  const ownRef = baseline.head.ref;
  const tip = ownRef === undefined ? head.commit : refs.get(ownRef);
  const moved = tip !== baseline.head.commit || head.ref !== ownRef;
  if (moved)
    return {
      changed: [],
      created: [],
      headMoved: [
        `HEAD moved from ${baseline.head.commit} to ${tip ?? head.raw} during verification; it was left there`,
      ],
    };
  const metadata = await gitdir.restoreMetadata(run.repository, baseline.metadata, run.vault, baseline);
  const otherRefs = gitdir
    .changedRefs(baseline.refs, refs, { ref: ownRef, runId: run.id })
    .filter(({ ref }) => !measured.refsMoved.some((known) => known.ref === ref));
  const inMain = await restoreMainWorkspace(run, baseline);
  const all = await sinceJudged(run, baseline, measured);
  const { judged } = await sortOut(run, baseline, all, effectiveScope(run.config, task).forbidden);
  const known = new Set(measured.changes.map((change) => change.path));
  const isNew = (change: Change): boolean =>
    change.before === undefined &&
    !known.has(change.path) &&
    !run.vault.has('tree', change.path) &&
    !baseline.index.has(change.path);
  const created = judged.filter(isNew);
  const stuck = created.length > 0 ? await removeCreated(run, measured, created) : [];
  return {
    headMoved: [],
    created: created.map((change) => change.path),
    changed: [
      ...stuck,
      ...inMain,
      ...judged.filter((change) => !isNew(change)).map((change) => change.path),
      ...metadata.changed.map((path) => `.git/${path}`),
      ...otherRefs.map(({ ref }) => ref),
    ],
  };
}

async function sinceJudged(run: Run, baseline: Baseline, measured: Measured): Promise<Change[]> {
  const { inventory } = run.world;
  const { workTree, objectFormat } = run.repository;
  const frozen = new Map<string, string>();
  const unheld = new Set(measured.notInTree.map((item) => item.path));
  for (const { path, after } of measured.changes) {
    if (after?.kind !== 'file' || after.size > HUGE_BYTES || unheld.has(path)) continue;
    const copy = inventory.absolute(frozenRoot(run), path);
    if (!/(^|\/)\.gitattributes$/.test(path))
      frozen.set(path, await inventory.blobHash(copy, after.size, objectFormat));
  }
  const judgedPaths = new Set(measured.changes.map((change) => change.path));
  const now = await walkTree(run, baseline.index, baseline.inventory);
  const before = inventory.copyOf(measured.inventory);
  for (const path of inventory.mayDiffer(measured.inventory, baseline.inventory)) {
    const entry = baseline.inventory.get(path);
    if (entry !== undefined && !judgedPaths.has(path) && before.has(path)) before.set(path, entry);
  }
  return inventory.changes(
    before,
    now,
    (path) =>
      frozen.get(path) ?? (judgedPaths.has(path) ? run.vault.hashOf('tree', path) : baseHash(run, baseline, path)),
    (path, entry) => inventory.blobHash(inventory.absolute(workTree, path), entry.size, objectFormat),
  );
}

/** Removes what the checks created; names what could not be removed. */
async function removeCreated(run: Run, measured: Measured, created: readonly Change[]): Promise<string[]> {
  const paths = created.map((change) => change.path);
  const now = new Map(created.flatMap((change) => (change.after ? [[change.path, change.after] as const] : [])));
  const { restoreTree } = run.world.restore;
  const problems = await restoreTree(run.repository.workTree, measured.inventory, now, paths, () => {
    throw new Error('a created file has no earlier content');
  });
  run.record.warnings.push(
    `verification created ${paths.length} untracked file(s), which were removed: ${paths.slice(0, 3).join(', ')}`,
  );
  return problems;
}
