import type { Code } from '../generated/codes.js';
import type { Meta, Report, Task } from '../generated/types.js';
import { readRejectedMessage, startOf } from '../rules/rejected.js';
import { NO_TASK } from '../rules/report.js';
import { oneLine } from '../rules/text.js';
import { checkMeta, checkReport, parseJson, type Checked } from '../schemas.js';
import type { Git } from '../world/git/git.js';
import type { CommitObject } from '../world/git/merge.js';
import type { World } from '../world/world.js';
import type { Ready } from './place.js';

const PREFIX = 'refs/relais/rejected/';
const MAX_HISTORY_FILE = 64 * 1024 * 1024;

/** Refused work that is still kept, with everything known about it. */
export interface Rejected {
  readonly run_id: string;
  readonly ref: string | null;
  readonly commit: string | null;
  readonly when: string | null;
  readonly code: Code | null;
  readonly task_id: string | null;
  readonly intent: string | null;
  readonly files: number;
  readonly lines_added: number;
  readonly lines_deleted: number;
  readonly base_commit: string | null;
  readonly base_is_head: boolean;
  /** Null where it can be salvaged. */
  readonly not_salvageable: string | null;
  /** What no git tree could or might hold. */
  readonly not_in_tree: readonly { readonly path: string; readonly why: string }[];
  readonly private_dir: string | null;
  readonly private_bytes: number;
  readonly salvage_of: string | null;
}

/** One piece of refused work as the commands need it. */
export interface Kept {
  readonly shown: Rejected;
  readonly object?: CommitObject;
  readonly task?: Task;
}

/** Everything under refs/relais/rejected and in the private folder beside it, newest first. */
export async function listRejected(world: World, place: Ready, git: Git): Promise<Kept[]> {
  const { repository } = place;
  const refs = new Map<string, string>();
  for (const [ref, value] of await world.gitdir.readRefs(repository))
    if (ref.startsWith(PREFIX)) refs.set(ref.slice(PREFIX.length), value);
  const folder = world.join(world.privateDir(repository.commonDir), 'rejected');
  const apart = new Set(await world.files.list(folder));
  const objects = await git.readCommits([...refs.values()].filter((value) => /^[0-9a-f]{40,64}$/.test(value)));
  const head = await git.head();
  const kept: Kept[] = [];
  for (const id of new Set([...refs.keys(), ...apart])) {
    const commit = refs.get(id);
    const object = objects.get(commit ?? '');
    kept.push(
      await describe(world, place, git, {
        id,
        head: head?.commit ?? '',
        ...(commit !== undefined && { commit }),
        ...(object !== undefined && { object }),
        ...(apart.has(id) && { privateDir: world.join(folder, id) }),
      }),
    );
  }
  const time = ({ shown }: Kept): number => (shown.when === null ? 0 : Date.parse(shown.when));
  return kept.sort((a, b) => time(b) - time(a) || (a.shown.run_id < b.shown.run_id ? 1 : -1));
}

interface Found {
  readonly id: string;
  readonly head: string;
  readonly commit?: string;
  readonly object?: CommitObject;
  readonly privateDir?: string;
}

async function describe(world: World, place: Ready, git: Git, found: Found): Promise<Kept> {
  const { id, object } = found;
  const { meta, report } = await history(world, place, id);
  const told = object === undefined ? undefined : readRejectedMessage(object.message);
  const code = report?.code ?? told?.code ?? null;
  const base = object?.parents[0] ?? meta?.base_commit ?? null;
  const task = meta?.task ?? undefined;
  const reported = report !== undefined && report.task.task_id !== NO_TASK.task_id ? report.task : undefined;
  const seconds = object?.seconds;
  const when = seconds === undefined ? startOf(id) : new Date(seconds * 1000);
  const shown: Rejected = {
    run_id: id,
    ref: found.commit === undefined ? null : `${PREFIX}${id}`,
    commit: found.commit ?? null,
    when: when?.toISOString() ?? null,
    code,
    task_id: reported?.task_id ?? null,
    intent: reported === undefined ? null : oneLine(reported.intent),
    ...(await extent(git, object, report)),
    base_commit: base,
    base_is_head: base === found.head,
    not_salvageable: problem(found, told !== undefined, code),
    not_in_tree: meta?.not_in_tree ?? [],
    private_dir: found.privateDir ?? null,
    private_bytes: found.privateDir === undefined ? 0 : await world.files.folderSize(found.privateDir),
    salvage_of: meta?.salvaged_run_id ?? null,
  };
  return { shown, ...(object !== undefined && { object }), ...(task !== undefined && { task }) };
}

function problem({ commit, object }: Found, isRejected: boolean, code: Code | null): string | null {
  if (commit === undefined) return 'only files are kept, no commit';
  if (object === undefined) return 'the ref leads to no commit that can be read';
  if (code === 'SUCCESS') return "the work was accepted; these are the builder's own commits";
  if (!isRejected) return "not made by a rollback: the builder's own commits, or somebody else's";
  return object.parents.length === 0 ? 'the commit has no parent to compare with' : null;
}

async function extent(
  git: Git,
  object: CommitObject | undefined,
  report: Report | undefined,
): Promise<Pick<Rejected, 'files' | 'lines_added' | 'lines_deleted'>> {
  if (report !== undefined) {
    const { files_touched, lines_added, lines_deleted } = report.blast_radius;
    return { files: files_touched, lines_added, lines_deleted };
  }
  const parent = object?.parents[0];
  const base = parent === undefined ? undefined : (await git.readCommits([parent])).get(parent);
  if (object === undefined || base === undefined) return { files: 0, lines_added: 0, lines_deleted: 0 };
  const counts = [...(await git.numstat(base.tree, object.tree)).values()];
  const sum = (key: 'added' | 'deleted'): number => counts.reduce((total, count) => total + count[key], 0);
  return { files: counts.length, lines_added: sum('added'), lines_deleted: sum('deleted') };
}

async function history(
  world: World,
  { repository, config }: Ready,
  id: string,
): Promise<{ meta?: Meta; report?: Report }> {
  // A ref's name is anybody's to choose; a run's folder has a plain one.
  if (!/^[\w.-]+$/.test(id) || id.startsWith('.')) return {};
  const folder = world.join(repository.mainTree, config.history.dir, id);
  const read = async <T>(name: string, check: (value: unknown) => Checked<T>): Promise<T | undefined> => {
    const file = await world.files.readText(world.join(folder, name), MAX_HISTORY_FILE);
    const parsed = file.found === 'text' ? parseJson(file.text) : undefined;
    const checked = parsed?.ok ? check(parsed.value) : undefined;
    return checked?.ok ? checked.value : undefined;
  };
  const [meta, report] = [await read('meta.json', checkMeta), await read('report.json', checkReport)];
  return { ...(meta !== undefined && { meta }), ...(report !== undefined && { report }) };
}

/** Removes a ref of refused work, if it still stands where it was seen, and the files kept beside it. */
export async function removeRejected(world: World, git: Git, { ref, commit, private_dir }: Rejected): Promise<boolean> {
  if (ref !== null && commit !== null && !(await git.deleteRef(ref, commit))) return false;
  if (private_dir !== null) await world.files.removeTree(private_dir);
  return true;
}
