import type { Report, Task } from '../generated/types.js';
import type { Kind } from '../model.js';
import { matcher } from './globs.js';
import { isGitPath, type Scope } from './scope.js';
import type { Row } from './table.js';
import { cut, visible } from './text.js';

/** One path that differs from how it stood before the Hands. */
export interface TouchedPath {
  readonly path: string;
  readonly change: 'added' | 'deleted' | 'modified';
  readonly kind: Kind;
  readonly linesAdded: number;
  readonly linesDeleted: number;
  /** Lines are size/80: the file is binary, huge, or has very long lines. */
  readonly estimated: boolean;
  readonly ownedByRunner: boolean;
  readonly insideSubmodule: boolean;
  /** Why no commit can hold it, where that is so: then nothing may pass. */
  readonly unheld?: string;
  /** Something the reader should know, such as a change of mode only. */
  readonly note?: string;
}

/** The one measure of how much was changed. */
export type BlastRadius = Report['blast_radius'];

/** Everything the A4 table looks at. */
export interface JudgeFacts {
  readonly task_kind: Task['task_kind'];
  readonly scope: Scope;
  readonly touched: readonly TouchedPath[];
  /** Paths inside git's own folders, as world/gitdir names them. */
  readonly metadataChanged: readonly string[];
  readonly refsMoved: readonly { readonly ref: string; readonly before?: string; readonly after?: string }[];
  readonly headMovedExternally: readonly string[];
  readonly isLockfile: (path: string) => boolean;
  readonly totals: BlastRadius;
}

/** A4: what was measured against what was allowed. First match wins. */
export const JUDGE_ROWS: readonly Row<JudgeFacts>[] = [
  ['runner_owned', 'STOP_RUNNER_OWNED_MUTATION', runnerOwned],
  ['forbidden', 'STOP_SCOPE_VIOLATION_FORBIDDEN', forbidden],
  ['outside_allowed', 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED', outsideAllowed],
  ['new_file', 'STOP_SCOPE_VIOLATION_NEW_FILE', newFiles],
  ['lockfile', 'STOP_LOCKFILE_CHANGE_FORBIDDEN', lockfiles],
  ['diff_too_large', 'STOP_DIFF_TOO_LARGE', tooLarge],
  ['question_side_effects', 'STOP_QUESTION_SIDE_EFFECTS', (facts) => sideEffects(facts, 'question')],
  ['verify_only_side_effects', 'STOP_VERIFY_ONLY_SIDE_EFFECTS', (facts) => sideEffects(facts, 'verify_only')],
  ['head_moved', 'STOP_HEAD_MOVED', headMoved],
];

function runnerOwned({ touched }: JudgeFacts): string[] {
  return touched.filter((item) => item.ownedByRunner).map((item) => `${say(item)}: belongs to the runner`);
}

function forbidden({ touched, metadataChanged, scope }: JudgeFacts): string[] {
  const match = matcher(scope.forbidden, { twins: true });
  const why = (item: TouchedPath): string | undefined => {
    if (isGitPath(item.path)) return "is one of git's own files";
    if (item.insideSubmodule) return 'is inside a submodule';
    if (item.change !== 'deleted' && !['file', 'dir', 'link'].includes(item.kind))
      return `is a ${item.kind}, which no commit can hold`;
    const glob = match(item.path);
    if (glob === undefined && item.unheld !== undefined) return item.unheld;
    return glob === undefined ? undefined : `matches the forbidden glob "${glob}"`;
  };
  const metadata = metadataChanged.map(
    (path) => `changed .git/${visible(path.replace(/^(git|common)\//, ''))}: is one of git's own files`,
  );
  return [...metadata, ...explain(touched, why)];
}

function outsideAllowed({ touched, scope }: JudgeFacts): string[] {
  const allowed = matcher(scope.allowed, { twins: false });
  const fence = scope.fence === undefined ? undefined : matcher(scope.fence, { twins: false });
  return explain(touched, ({ path }) => {
    if (allowed(path) === undefined) return 'matches no allowed glob';
    return fence !== undefined && fence(path) === undefined ? "is outside the config's scope.fence_globs" : undefined;
  });
}

function newFiles({ touched, scope }: JudgeFacts): string[] {
  return scope.allowNewFiles ? [] : touched.filter(isNew).map((item) => `${say(item)}: new files are not allowed`);
}

function lockfiles({ touched, scope, isLockfile }: JudgeFacts): string[] {
  if (scope.allowLockfileChanges) return [];
  return touched.filter(({ path }) => isLockfile(path)).map((item) => `${say(item)}: lockfile changes are not allowed`);
}

function tooLarge({ totals, scope }: JudgeFacts): string[] {
  const lines = totals.lines_added + totals.lines_deleted;
  return [
    ...(totals.files_touched > scope.maxFiles
      ? [`${totals.files_touched} files touched, at most ${scope.maxFiles} allowed`]
      : []),
    ...(lines > scope.maxLines ? [`${lines} lines changed, at most ${scope.maxLines} allowed`] : []),
  ];
}

function sideEffects({ task_kind, touched }: JudgeFacts, kind: Task['task_kind']): string[] {
  return task_kind === kind ? touched.map((item) => `${say(item)}: a ${kind} task may change nothing`) : [];
}

function headMoved({ refsMoved, headMovedExternally }: JudgeFacts): string[] {
  const refs = refsMoved.map(
    ({ ref, before, after }) =>
      `${visible(ref)} moved from ${refValue(before, '(absent)')} to ${refValue(after, '(deleted)')}`,
  );
  return [...headMovedExternally, ...refs];
}

/** What a ref's file holds is whatever somebody wrote into it. */
export function refValue(value: string | undefined, missing: string): string {
  return value === undefined ? missing : cut(visible(value), 80);
}

function explain(touched: readonly TouchedPath[], why: (item: TouchedPath) => string | undefined): string[] {
  return touched.flatMap((item) => {
    const reason = why(item);
    return reason === undefined ? [] : [`${say(item)}: ${reason}`];
  });
}

function say({ change, path }: TouchedPath): string {
  return `${change} ${visible(path)}`;
}

function isNew({ change, kind }: TouchedPath): boolean {
  return change === 'added' && kind !== 'dir';
}

/** Sums up the touched set. */
export function blastRadius(touched: readonly TouchedPath[]): BlastRadius {
  return {
    files_touched: touched.length,
    lines_added: touched.reduce((sum, item) => sum + item.linesAdded, 0),
    lines_deleted: touched.reduce((sum, item) => sum + item.linesDeleted, 0),
    new_files: touched.filter(isNew).length,
  };
}

/** `1 file`, `2 files`. */
export function fileCount(count: number): string {
  return `${count} ${count === 1 ? 'file' : 'files'}`;
}

/** The one line both reports carry. */
export function blastLine(radius: BlastRadius): string {
  return `${fileCount(radius.files_touched)}, +${radius.lines_added}/-${radius.lines_deleted}, ${radius.new_files} new`;
}
