import path from 'node:path';
import { expect } from 'vitest';
import * as ground from './ground.js';
import * as oracle from './oracle.js';
import type { Play } from './scripts.js';

/** The repository at one moment. */
interface Moment {
  readonly tree: oracle.Tree;
  readonly git: oracle.Tree;
}

export interface Played {
  readonly slot: ground.Slot;
  readonly play: Play;
  readonly code: string;
  readonly evidence: readonly string[];
  readonly meta: Meta;
  readonly start: Moment;
  readonly before: Moment;
  readonly after: Moment;
  readonly end: Moment;
  readonly base: string;
  readonly index: string;
  readonly tracked: ReadonlySet<string>;
  readonly judged: readonly oracle.Difference[];
}

interface Meta {
  readonly touched: readonly {
    path: string;
    change: string;
    kind: string;
    mode_before: number | null;
    mode_after: number | null;
  }[];
  readonly warnings: readonly string[];
}

function moment(slot: ground.Slot): Moment {
  return {
    tree: oracle.walkTree(slot.repo, ['.git']),
    git: oracle.walkTree(path.join(slot.repo, '.git'), ['objects']),
  };
}

async function playOut(slot: ground.Slot, play: Play): Promise<Played> {
  const start = moment(slot);
  const base = (await ground.git(slot, 'rev-parse', 'HEAD')).trim();
  const index = await ground.git(slot, 'ls-files', '-s', '-v', '-z');
  const tracked = new Set((await ground.git(slot, 'ls-files', '-z')).split('\0').filter((name) => name !== ''));
  const seen = new Map<string, Moment>();
  const ended = await ground.playTick(slot, {
    task: {
      scope: { allow_new_files: play.allowNew },
      diff_limits: { max_files_touched: play.maxFiles, max_lines_changed: 20_000 },
      verification: { fast: play.check === 'none' ? [] : [play.check], slow: [] },
    },
    hands: Buffer.from(`${play.edits.join('\n')}\n`, 'latin1'),
    // Walked at once, before the runner goes on: how the Hands find the repository, and how they leave it.
    watch: (phase) => {
      if (['BUILD', 'JUDGE'].includes(phase) && !seen.has(phase)) seen.set(phase, moment(slot));
    },
  });
  const [before, after] = [seen.get('BUILD'), seen.get('JUDGE')];
  if (before === undefined || after === undefined)
    throw new Error(`the tick ended early: ${ended.outcome.code} ${ended.outcome.evidence.join('; ')}`);
  return {
    slot,
    play,
    code: ended.outcome.code,
    evidence: ended.outcome.evidence,
    meta: JSON.parse(ground.textIn(slot, `relais/history/${ended.runId}/meta.json`)) as Meta,
    start,
    before,
    after,
    end: moment(slot),
    base,
    index,
    tracked,
    judged: oracle.judged(oracle.differences(before.tree, after.tree), tracked).filter((one) => !isRunnersWrite(one)),
  };
}

/** The runner writes its state itself while the Hands are at work. */
function isRunnersWrite({ path, before, after }: oracle.Difference): boolean {
  return path === 'relais/STATE.json' && before?.kind === 'file' && after?.kind === 'file';
}

/** (a) The touched set is the difference of the two trees, with what happened to each path. */
function touchedSet({ meta, judged }: Played): void {
  const state = (one: string): boolean => one.startsWith('relais/STATE.json ');
  const reported = meta.touched.map((one) => `${oracle.metaPath(one.path)} ${one.mode_before} ${one.mode_after}`);
  const mode = (thing: oracle.Thing | undefined): string => String(thing?.mode ?? null);
  const expected = judged.map((one) => `${one.path} ${mode(one.before)} ${mode(one.after)}`);
  expect(reported.filter((one) => !state(one)).toSorted()).toEqual(expected.filter((one) => !state(one)).toSorted());
}

/** (b) The verdict follows from what is on disk, first match first. */
function expectedCode({ judged, before, after, play }: Played): string {
  const paths = judged.map((one) => one.path);
  const metadata = oracle.differences(oracle.guardedMetadata(before.git), oracle.guardedMetadata(after.git));
  const refs = oracle.movedRefs(oracle.refsOf(before.git), oracle.refsOf(after.git), ['refs/heads/main']);
  const guarded = metadata.length > 0 || refs.some(oracle.isReplacement);
  if (paths.some(oracle.isOwned)) return 'STOP_RUNNER_OWNED_MUTATION';
  if (guarded || judged.some(oracle.isForbiddenChange)) return 'STOP_SCOPE_VIOLATION_FORBIDDEN';
  if (!paths.every(oracle.isAllowed)) return 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED';
  if (!play.allowNew && judged.some(oracle.isNewFile)) return 'STOP_SCOPE_VIOLATION_NEW_FILE';
  if (judged.length > play.maxFiles) return 'STOP_DIFF_TOO_LARGE';
  if (refs.length > 0) return 'STOP_HEAD_MOVED';
  return play.check === 'fail' ? 'STOP_VERIFY_FAILED_FAST' : 'SUCCESS';
}

type Refs = ReturnType<typeof oracle.refsOf>;
type Tree = ReturnType<typeof oracle.lastingMetadata>;

/** Git's own files and answers are as they were; other refs are left where the Hands put them. */
async function gitIsBack(played: Played): Promise<void> {
  const { slot, start, after, end } = played;
  const [atStart, atJudge, atEnd] = [start, after, end].map((one) => oracle.lastingMetadata(one.git)) as [
    Tree,
    Tree,
    Tree,
  ];
  // A work tree that was added may be somebody else's: it is told of and left whole.
  const ofNewTree = ({ path }: { path: string }): boolean => /^worktrees(\/|$)/.test(path);
  const metadata = oracle.differences(atStart, atEnd).filter((one) => !ofNewTree(one));
  expect(metadata.map((one) => one.path)).toEqual([]);
  expect(oracle.differences(atJudge, atEnd).filter(ofNewTree)).toEqual([]);
  const [first, then, last] = [start, after, end].map((one) => oracle.refsOf(one.git)) as [Refs, Refs, Refs];
  const moved = oracle.movedRefs(then, last, ['refs/heads/main']).filter((ref) => !oracle.isReplacement(ref));
  const replaced = oracle.movedRefs(first, last).filter(oracle.isReplacement);
  expect([...moved, ...replaced]).toEqual([]);
  // Ignored is what the rules before the Hands ignored; a kept change of the rules may uncover such a file.
  const uncovered = (line: string): boolean =>
    played.code === 'SUCCESS' && line.startsWith('?? ') && oracle.isIgnored(line.slice(3), undefined);
  const status = (await ground.git(slot, 'status', '--porcelain', '-z', '-uall')).split('\0');
  expect(status.filter((line) => line !== '' && !uncovered(line))).toEqual([]);
}

/** (b) A success is one commit on the branch, and its tree is the work tree. */
async function committed(played: Played): Promise<void> {
  const { slot, start, after, end, base, tracked } = played;
  const kept = oracle.differences(after.tree, end.tree).filter(({ path }) => !path.startsWith('relais/'));
  // Empty folders outside of the scope are put back as they were, and nothing else is.
  const tidied = kept.filter((one) => oracle.isFolder(one) && !oracle.isAllowed(one.path));
  expect(kept.filter((one) => !tidied.includes(one)).map((one) => one.path)).toEqual([]);
  expect(tidied.filter(({ path }) => !oracle.same(start.tree.get(path), end.tree.get(path)))).toEqual([]);
  const strangers = oracle
    .differences(start.tree, end.tree)
    .filter((one) => oracle.isFolder(one) && !oracle.isAllowed(one.path) && !one.path.startsWith('relais/'))
    .filter(({ path, before, after: made }) => !oracle.isIgnored(path, before ?? made) && !holdsIgnored(path, played));
  expect(strangers.map((one) => one.path)).toEqual([]);
  const owned = (line: string): boolean => oracle.isOwned(line.slice(line.indexOf('\t') + 1));
  const listed = (await ground.git(slot, 'ls-tree', '-r', '-z', 'HEAD')).split('\0').filter((line) => line !== '');
  expect(listed.filter((line) => !owned(line)).toSorted()).toEqual(oracle.treeLines(end.tree, tracked));
  const head = (await ground.git(slot, 'rev-parse', 'HEAD')).trim();
  const [tree, baseTree] = await Promise.all([
    ground.git(slot, 'rev-parse', 'HEAD^{tree}'),
    ground.git(slot, 'rev-parse', `${base}^{tree}`),
  ]);
  if (tree === baseTree) expect(head).toBe(base);
  else expect((await ground.git(slot, 'rev-parse', 'HEAD^')).trim()).toBe(base);
  await gitIsBack(played);
}

/** (c) After a STOP everything is as it was, ignored files that nobody forbade left out. */
async function rolledBack(played: Played): Promise<void> {
  const { slot, start, end, base, index } = played;
  const free = (path: string, thing: oracle.Thing | undefined): boolean =>
    thing === undefined || (oracle.isIgnored(path, thing) && !oracle.isForbidden(path));
  const left = oracle.differences(start.tree, end.tree).filter(({ path, before, after }) => {
    if (path.startsWith('relais/') && !path.startsWith('relais/prompts') && path !== 'relais/FACTS.md')
      return !/^relais\/(STATE\.json|TASK\.json|REPORT\.(json|md)|history|logs)/.test(path);
    if (played.tracked.has(path)) return true;
    return !(free(path, before) && free(path, after)) && !holdsIgnored(path, played);
  });
  expect(left.map((one) => one.path)).toEqual([]);
  expect((await ground.git(slot, 'rev-parse', 'HEAD', 'main')).trim().split('\n')).toEqual([base, base]);
  expect(await ground.git(slot, 'ls-files', '-s', '-v', '-z')).toBe(index);
  await gitIsBack(played);
}

/** A folder that came for, or went with, ignored files alone. */
function holdsIgnored(path: string, { start, end }: Played): boolean {
  const kinds = [start.tree.get(path)?.kind, end.tree.get(path)?.kind];
  if (!kinds.includes('dir') || !kinds.includes(undefined)) return false;
  const tree = kinds[0] === 'dir' ? start.tree : end.tree;
  const inside = [...tree].filter(([name, thing]) => name.startsWith(`${path}/`) && thing.kind !== 'dir');
  return inside.length > 0 && inside.every(([name, thing]) => oracle.isIgnored(name, thing));
}

/** Plays one script in a repository of its own and asserts everything that must be true afterwards. */
export async function holds(made: ground.Ground, play: Play): Promise<Played> {
  const slot = await made.take();
  try {
    const played = await playOut(slot, play);
    touchedSet(played);
    expect(played.code, played.evidence.join('; ')).toBe(expectedCode(played));
    await (played.code === 'SUCCESS' ? committed(played) : rolledBack(played));
    return played;
  } finally {
    made.give(slot);
  }
}
