import type { Change } from '../model.js';
import { matcher } from '../rules/globs.js';
import { isGitPath, isRunnerOwned } from '../rules/scope.js';
import type { Baseline, Measured, Run } from './run.js';
import { storeFrozen } from './store.js';

/** Larger files never enter a tree: at 80 bytes a line they are beyond any diff limit. */
export const HUGE_BYTES = 16 * 1024 * 1024;

/** Where the touched files' bytes are frozen, so that what is judged is what is committed. */
export function frozenRoot(run: Run): string {
  return run.world.join(run.scratch, 'frozen');
}

type Held = Measured['held'][number];

/** The base tree with the touched paths replaced, from frozen bytes, converted by the attributes that stood before. */
export async function buildMeasuredTree(
  run: Run,
  baseline: Baseline,
  changes: readonly Change[],
  forbiddenGlobs: readonly string[],
): Promise<Pick<Measured, 'tree' | 'held' | 'notInTree'>> {
  const owned = isRunnerOwned(run.config);
  const forbidden = matcher(forbiddenGlobs, { twins: true });
  const notInTree: { path: string; why: string }[] = [];
  const held: Held[] = [];
  const toStore: Change[] = [];
  for (const change of changes) {
    const { path, after } = change;
    const tracked = baseline.index.has(path);
    if (owned(path)) {
      if (after !== undefined && after.kind !== 'dir') notInTree.push({ path, why: 'belongs to the runner' });
    } else if (isGitPath(path)) notInTree.push({ path, why: 'a git folder' });
    else if (!tracked && forbidden(path) !== undefined)
      notInTree.push({ path, why: 'matches a forbidden glob; its content stays out of git' });
    else if (after?.unreadable) notInTree.push({ path, why: "a folder that can't be looked into" });
    else if (after === undefined || after.kind === 'dir') {
      if (tracked) held.push({ path, mode: '000000', oid: null });
    } else if (after.kind === 'link')
      held.push({ path, mode: '120000', oid: await run.git.storeBytes(run.world.inventory.targetBytes(after)) });
    else if (after.kind !== 'file') notInTree.push({ path, why: `a ${after.kind}` });
    else if ((after.mode & 0o7000) !== 0 && (after.mode & 0o7000) !== ((change.before?.mode ?? 0) & 0o7000))
      notInTree.push({ path, why: 'has a set-user-id, set-group-id or sticky bit' });
    else if (after.size > HUGE_BYTES) notInTree.push({ path, why: `${after.size} bytes` });
    else toStore.push(change);
  }
  const unread = await freezeTouched(run, toStore);
  notInTree.push(...[...unread].map(([path, why]) => ({ path, why: `can't be read (${why})` })));
  const frozen = toStore.filter(({ path }) => !unread.has(path));
  held.push(...(await heldFiles(run, baseline, frozen)));
  if (held.length === 0) return { tree: baseline.tree, held, notInTree };
  const indexFile = run.world.join(run.scratch, `index-${run.world.newSessionId()}`);
  const { tree, refused } = await run.git.buildTree(baseline.head.commit, held, indexFile);
  notInTree.push(...refused.map((path) => ({ path, why: 'has a name that git does not accept' })));
  return { tree, held: held.filter(({ path }) => !refused.includes(path)), notInTree };
}

async function freezeTouched(run: Run, changes: readonly Change[]): Promise<Map<string, string>> {
  if (changes.length === 0) return new Map();
  await run.world.files.removeTree(frozenRoot(run));
  const paths = changes.map((change) => change.path);
  return run.world.restore.freeze(run.repository.workTree, paths, frozenRoot(run));
}

async function heldFiles(run: Run, baseline: Baseline, changes: readonly Change[]): Promise<Held[]> {
  if (changes.length === 0) return [];
  const oids = await storeFrozen(run, baseline, frozenRoot(run), changes);
  return changes.map(({ path, after }) => {
    const oid = oids.get(path);
    if (oid === undefined) throw new Error(`git did not store ${path}`);
    return { path, mode: after !== undefined && (after.mode & 0o100) !== 0 ? '100755' : '100644', oid };
  });
}
