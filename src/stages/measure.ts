import type { Change, Entry } from '../model.js';
import { matcher } from '../rules/globs.js';
import type { TouchedPath } from '../rules/judge.js';
import { isGitPath, isRunnerOwned } from '../rules/scope.js';
import { checkBlocked, parseJson } from '../schemas.js';
import { countLines, type LineCount } from './lines.js';
import { dependenciesOf } from './dependencies.js';
import { restoreMainWorkspace } from './mainWorkspace.js';
import { workspacePath, type Baseline, type Measured, type Run } from './run.js';
import { buildMeasuredTree, HUGE_BYTES } from './tree.js';
import { isInstalled, ruleFiles, walkTree } from './walk.js';

const MAX_NOTE = 64 * 1024;

/**
 * Measures what happened to the repository since the baseline. Git's metadata is put back by bytes
 * before the first git command: from then on no program chosen by an agent can run.
 */
export async function measure(
  run: Run,
  baseline: Baseline,
  forbiddenGlobs: readonly string[],
  look = { glance: false },
): Promise<Measured> {
  const { gitdir } = run.world;
  const { repository } = run;
  const restored = await gitdir.restoreMetadata(repository, baseline.metadata, run.vault, baseline);
  const inMain = await restoreMainWorkspace(run, baseline);
  const inventory = await walkTree(run, baseline.index, baseline.inventory, look);
  const all = await differences(run, baseline, inventory);
  const { judged, ignored } = await sortOut(run, baseline, all, forbiddenGlobs);
  const { tree, held, notInTree } = await buildMeasuredTree(run, baseline, judged, forbiddenGlobs);
  const lines = await countLines(run, baseline, judged, tree);
  const headMovedTo = movedTo(baseline, restored.found.head, restored.found.refs);
  const unheld = new Map(notInTree.map(({ path, why }) => [path, why]));
  return {
    inventory,
    changes: judged,
    touched: [
      ...judged.map((change) => describe(run, baseline, change, lines.get(change.path), unheld.get(change.path))),
      ...inMain.map(ofMainWorkspace),
    ],
    ignoredChanged: ignored,
    metadataChanged: restored.changed,
    // Read again: what was put back as metadata, such as a replacing ref, has not moved.
    refsMoved: gitdir.changedRefs(baseline.refs, await gitdir.readRefs(repository), {
      ref: baseline.head.ref,
      runId: run.id,
    }),
    ...(headMovedTo !== undefined && { headMovedTo }),
    tree,
    held,
    notInTree,
  };
}

function movedTo(
  baseline: Baseline,
  head: { ref?: string; commit?: string; raw: string },
  refs: ReadonlyMap<string, string>,
): string | undefined {
  const commit = head.commit ?? (head.ref === undefined ? undefined : refs.get(head.ref));
  const ownBranch = baseline.head.ref === undefined ? undefined : refs.get(baseline.head.ref);
  if (baseline.head.ref !== undefined && ownBranch !== undefined && ownBranch !== baseline.head.commit)
    return ownBranch;
  return commit !== undefined && commit !== baseline.head.commit ? commit : undefined;
}

/** The blob id of a file's bytes as they were at the baseline, where it is known. */
export function baseHash(run: Run, baseline: Baseline, path: string): string | undefined {
  const kept = run.vault.hashOf('tree', path);
  if (kept !== undefined || baseline.unfaithful.has(path)) return kept;
  return baseline.index.get(path)?.oid ?? (isInstalled(path) ? dependenciesOf(run).hashOf(path) : undefined);
}

/** Every path that differs from the baseline, ignored or not. */
export async function differences(
  run: Run,
  baseline: Baseline,
  inventory: ReadonlyMap<string, Entry>,
): Promise<Change[]> {
  const { workTree, objectFormat } = run.repository;
  return run.world.inventory.changes(
    baseline.inventory,
    inventory,
    (path) => baseHash(run, baseline, path),
    (path, entry) =>
      run.world.inventory.blobHash(run.world.inventory.absolute(workTree, path), entry.size, objectFormat),
  );
}

/** Tells judged changes from changes to ignored files, by the ignore rules that stood before. */
export async function sortOut(
  run: Run,
  baseline: Baseline,
  all: readonly Change[],
  forbiddenGlobs: readonly string[],
): Promise<{ judged: Change[]; ignored: string[] }> {
  const forbidden = matcher(forbiddenGlobs, { twins: true });
  const owned = isRunnerOwned(run.config);
  const submodule = inSubmodule(baseline);
  const always = (change: Change): boolean =>
    baseline.index.has(change.path) ||
    owned(change.path) ||
    submodule(change.path) ||
    isGitPath(change.path) ||
    (change.before?.kind === 'dir' && baseline.index.hasInside(change.path)) ||
    (!isCache(change) && forbidden(change.path) !== undefined);
  const open = all.filter((change) => !always(change));
  // A file that was there before, untracked in a clean tree, was ignored; for all else the old rules are asked.
  const wasIgnored = ({ before }: Change): boolean => before !== undefined && before.kind !== 'dir';
  // Rules may be for folders only, and a folder is told by the slash.
  const asked = (change: Change): string => (change.after?.kind === 'dir' ? `${change.path}/` : change.path);
  const unknown = open.filter((change) => !wasIgnored(change)).map(asked);
  const rules =
    unknown.length === 0 ? new Set<string>() : await run.git.ignored(unknown, await ruleRoot(run, baseline));
  const note = await otherRunnersNote(run, all);
  const ignored = new Set(
    open.filter((change) => wasIgnored(change) || rules.has(asked(change))).map((change) => change.path),
  );
  return {
    judged: all.filter((change) => !ignored.has(change.path) && change.path !== note && !hasGone(run, change)),
    ignored: [...ignored].sort(),
  };
}

/** A cache folder that came, went or was made anew; a link or file in its place is none. */
function isCache({ before, after }: Change): boolean {
  return (before ?? after)?.pruned === true && (after ?? before)?.pruned === true;
}

/** Whether a path is BLOCKED.json, its draft, or the draft of a lock: other runners write these while a tick runs. */
export function isNote(run: Run, path: string): boolean {
  const { workspace_dir: dir, runner } = run.config;
  const drafts = [
    [`${dir}/BLOCKED.json`, /^(?:\.\d+)?$/],
    [runner.lockfile, /^\.(?:reclaim\.|\d+\.).*$/],
  ] as const;
  return drafts.some(([name, rest]) => path.startsWith(name) && rest.test(path.slice(name.length)));
}

/** What another runner was writing when the tick began, and has finished or given up. */
function hasGone(run: Run, { path, before, after }: Change): boolean {
  return before?.kind === 'file' && after === undefined && isNote(run, path);
}

/** A second runner that found the lock held may write just that into BLOCKED.json meanwhile, and nothing else. */
async function otherRunnersNote(run: Run, changes: readonly Change[]): Promise<string | undefined> {
  const path = workspacePath(run, 'BLOCKED.json');
  if (!changes.some((change) => change.path === path && change.after?.kind === 'file')) return undefined;
  const read = await run.world.files.readText(run.world.join(run.workspace, 'BLOCKED.json'), MAX_NOTE);
  const parsed = read.found === 'text' ? parseJson(read.text) : undefined;
  const note = parsed?.ok ? checkBlocked(parsed.value) : undefined;
  return note?.ok && note.value.code === 'BLOCKED_LOCK_HELD' ? path : undefined;
}

/** A folder that holds only the ignore and attribute files as they stood before. */
export async function ruleRoot(run: Run, baseline: Baseline): Promise<string> {
  const root = run.world.join(run.scratch, 'rules');
  await run.world.files.removeTree(root);
  for (const path of ruleFiles(run, baseline.inventory)) {
    await run.vault.copyTo('tree', path, run.world.join(root, path));
  }
  await run.world.files.ensureDir(root);
  return root;
}

/** Already put back, and told of like any other touched path. */
function ofMainWorkspace(path: string): TouchedPath {
  const lines = { linesAdded: 0, linesDeleted: 0, estimated: false };
  return { path, change: 'modified', kind: 'file', ...lines, ownedByRunner: true, insideSubmodule: false };
}

/** Whether a path is a submodule or lies in one: its files are another repository's, and nobody may touch them. */
function inSubmodule({ index }: Baseline): (path: string) => boolean {
  return (path) => {
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
      if (index.get(path.slice(0, at))?.mode === '160000') return true;
    }
    return index.get(path)?.mode === '160000';
  };
}

/** A folder is no file: what takes its place is new, and a file that gave way to one is deleted. */
function sortOf({ before, after }: Change): TouchedPath['change'] {
  if (before === undefined || (before.kind === 'dir' && after !== undefined && after.kind !== 'dir')) return 'added';
  return after === undefined || (after.kind === 'dir' && before.kind !== 'dir') ? 'deleted' : 'modified';
}

function describe(
  run: Run,
  baseline: Baseline,
  change: Change,
  lines: LineCount | undefined,
  unheld: string | undefined,
): TouchedPath {
  return {
    path: change.path,
    change: sortOf(change),
    kind: (change.after ?? change.before)?.kind ?? 'file',
    linesAdded: lines?.added ?? 0,
    linesDeleted: lines?.deleted ?? 0,
    estimated: lines?.estimated ?? false,
    ownedByRunner: isRunnerOwned(run.config)(change.path),
    insideSubmodule: inSubmodule(baseline)(change.path),
    // A huge file is left to the limit on lines, which says more.
    ...(unheld !== undefined && (change.after?.size ?? 0) <= HUGE_BYTES && { unheld }),
  };
}
