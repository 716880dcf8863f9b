import { EXIT_CODE } from '../outcome.js';
import { olderThan } from '../rules/rejected.js';
import { cut, visible } from '../rules/text.js';
import { readJournal } from '../stages/journal.js';
import { lockTick } from '../stages/lock.js';
import { isReady, locate, type Place } from '../stages/place.js';
import { listRejected, removeRejected, type Rejected } from '../stages/rejected.js';
import { createWorld, type World } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions, type Problem } from './output.js';

export interface RejectedOptions extends CommandOptions {
  readonly prune: boolean;
  readonly dryRun: boolean;
  readonly olderThan?: number;
}

const DEFAULT_DAYS = 30;
const INTENT = 60;

/** `relais rejected [--prune]`: lists refused work that is still kept, or cleans it away by age. */
export async function rejectedCommand(options: RejectedOptions): Promise<number> {
  const { json, prune, dryRun } = options;
  if (!prune && (dryRun || options.olderThan !== undefined))
    return refuse(
      json,
      { why: '--older-than and --dry-run belong to --prune', remedy: 'Add --prune, or leave them out.' },
      EXIT_CODE.usage,
    );
  const world = await createWorld(options);
  const place = await locate(world);
  const problem = await notReady(world, place);
  if (problem !== undefined || !isReady(place)) return refuse(json, problem ?? NO_PLACE, EXIT_CODE.blocked);
  const git = await place.git();
  if (!prune) {
    const found = (await listRejected(world, place, git)).map(({ shown }) => shown);
    for (const line of found.length === 0 ? ['No refused work is kept.'] : found.flatMap(lines)) speaker(json)(line);
    if (json) printJson({ ok: true, rejected: found });
    return EXIT_CODE.done;
  }
  const lock = dryRun
    ? undefined
    : await lockTick(world, place, { id: world.newRunId(), startedAt: world.clock.now() });
  if (lock !== undefined && lock.fact.state !== 'mine')
    return refuse(json, { why: `another relais is at work: ${lock.fact.why}`, remedy: LATER }, EXIT_CODE.blocked);
  try {
    const days = options.olderThan ?? DEFAULT_DAYS;
    const all = (await listRejected(world, place, git)).map(({ shown }) => shown);
    const old = all.filter(({ when }) => olderThan(when, days, world.clock.now()));
    const kept: string[] = [];
    for (const one of dryRun ? [] : old) if (!(await removeRejected(world, git, one))) kept.push(one.run_id);
    for (const line of pruneLines(old, kept, days, dryRun)) speaker(json)(line);
    const removed = old.filter(({ run_id }) => !kept.includes(run_id));
    if (json)
      printJson({
        ok: kept.length === 0,
        dry_run: dryRun,
        older_than_days: days,
        removed,
        not_removed: kept,
        left: all.length - removed.length,
      });
    return kept.length === 0 ? EXIT_CODE.done : EXIT_CODE.stop;
  } finally {
    await lock?.release();
  }
}

const LATER = 'Try again when it has ended.';
const NO_PLACE: Problem = {
  why: 'there is no repository with a valid relais.config.json here',
  remedy: '`relais status --preflight` says what is missing.',
};

/** What an interrupted tick left in git's own files must be put back before git is asked anything. */
async function notReady(world: World, place: Place): Promise<Problem | undefined> {
  if (!isReady(place)) return NO_PLACE;
  const { journal } = await readJournal(world, world.privateDir(place.repository.commonDir));
  if (!journal?.hands_started) return undefined;
  return {
    why: `the tick ${journal.run_id} is under way, or was interrupted`,
    remedy: 'Wait for it to end. If none is running, run `relais recover` first.',
  };
}

function lines(one: Rejected): string[] {
  const what = one.task_id === null ? 'no task is recorded' : `${one.task_id}: ${cut(one.intent ?? '', INTENT)}`;
  const base =
    one.base_commit === null ? 'base unknown' : one.base_is_head ? 'its base is HEAD' : 'HEAD has moved since';
  const extent = `${one.files} ${one.files === 1 ? 'file' : 'files'}, +${one.lines_added}/-${one.lines_deleted}`;
  return [
    `${visible(one.run_id)}  ${one.when ?? 'time unknown'}  ${one.code ?? 'code unknown'}`,
    `  ${what}`,
    `  ${extent}; ${base}${one.private_bytes > 0 ? `; ${one.private_bytes} bytes kept privately` : ''}`,
    ...(one.salvage_of === null ? [] : [`  was itself a salvage of ${one.salvage_of}`]),
    ...(one.not_in_tree.length === 0
      ? []
      : [`  ${one.not_in_tree.length} path(s) no git tree holds; ${privately(one)}`]),
    one.not_salvageable === null
      ? `  relais salvage ${visible(one.run_id)}`
      : `  can't be salvaged: ${one.not_salvageable}${one.private_dir === null ? '' : ` (${one.private_dir})`}`,
  ];
}

function privately({ private_dir }: Rejected): string {
  return private_dir === null ? 'their content was not kept' : `files are in ${private_dir}`;
}

function pruneLines(old: readonly Rejected[], kept: readonly string[], days: number, dryRun: boolean): string[] {
  if (old.length === 0) return [`Nothing is older than ${days} days.`];
  return [
    dryRun ? 'relais rejected --prune would remove:' : 'Removed:',
    ...old
      .filter(({ run_id }) => !kept.includes(run_id))
      .map((one) => `  ${visible(one.run_id)}  ${one.when ?? 'time unknown'}  ${one.code ?? 'code unknown'}`),
    ...kept.map((id) => `  ! ${visible(id)} was not removed: its ref has moved or can't be changed`),
  ];
}
