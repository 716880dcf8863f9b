import type { Task } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { pickRun, startOf } from '../rules/rejected.js';
import { wideningLine, widenedTask, type Refusal, type Widening } from '../rules/salvage.js';
import { effectiveScope, taskProblems } from '../rules/scope.js';
import { visible } from '../rules/text.js';
import { checkTask, parseJson } from '../schemas.js';
import type { TreeChange } from '../world/git/write.js';
import { carryOver, layOut, obstacle, type Desk } from './apply.js';
import { workspaceOf } from './place.js';
import { readWorkspace } from './preflight.js';
import { listRejected, type Kept, type Rejected } from './rejected.js';
import { writeOwned, type Run, type Workers } from './run.js';

const MAX_TASK = 8 * 1024 * 1024;

/** What is asked for: the run, by its id, the beginning of it or `last`, and what its task may do besides. */
export interface Asked {
  readonly run: string;
  readonly widening: Widening;
}

/** Refused work, ready to be judged again. */
export interface Salvage {
  readonly from: Rejected;
  readonly task: Task;
  readonly changes: readonly TreeChange[];
  /** HEAD's tree with the work on it: what has to come out, byte for byte. */
  readonly tree: string;
  /** Where the builder's own commits end, if it made some. */
  readonly movedTo?: string;
  readonly notes: readonly string[];
}

/** Finds the work and its task and carries it over to HEAD; changes nothing. */
export async function planSalvage(desk: Desk, { run, widening }: Asked): Promise<Salvage | Refusal> {
  const { git, place } = desk;
  const kept = await pick(desk, run);
  if ('refused' in kept) return kept;
  const { shown, object } = kept;
  const [parent, movedTo] = object?.parents ?? [];
  if (shown.not_salvageable !== null || object === undefined || parent === undefined)
    return {
      refused: `${visible(shown.run_id)} can't be salvaged: ${shown.not_salvageable ?? 'nothing is kept'}`,
      remedy: `\`relais rejected\` lists what can be.${shown.private_dir === null ? '' : ` Its files are in ${shown.private_dir}.`}`,
    };
  const task = widenedTask(
    kept.task ?? (await interruptedTask(desk, shown.run_id)),
    place.config,
    shown.run_id,
    widening,
  );
  if ('refused' in task) return task;
  const [broken] = taskProblems({ ...task, builder: { ...task.builder, mode: 'claude_code' } }, place.config, {
    patchAttemptsLeft: 0,
  });
  if (broken !== undefined)
    return { refused: `its task can't be used: ${broken}`, remedy: 'Widen it by hand with --allow.' };
  const base = (await git.readCommits([parent])).get(parent);
  const head = await git.head();
  if (base === undefined || head === undefined)
    return {
      refused: `its base commit ${parent} is not here`,
      remedy: 'Fetch it (git fetch --unshallow), then try again.',
    };
  const tree = await carryOver(desk, { base: base.tree, theirs: object.tree, head: head.tree });
  if (typeof tree !== 'string') return tree;
  const changes = await git.treeChanges(head.tree, tree);
  if (changes.length === 0)
    return { refused: `HEAD has everything of ${shown.run_id} already`, remedy: 'There is nothing to do.' };
  const blocked = await obstacle(desk, changes);
  if (blocked !== undefined) return blocked;
  const added = wideningLine(widening);
  const notes = [
    `salvage of ${shown.run_id}${shown.code === null ? '' : `, which had ended with ${shown.code}`}`,
    ...(added === undefined ? [] : [added]),
    ...leftOut(shown),
  ];
  return { from: shown, task, changes, tree, notes, ...(movedTo !== undefined && { movedTo }) };
}

function leftOut({ not_in_tree: lost, private_dir }: Rejected): string[] {
  if (lost.length === 0) return [];
  const names = lost.slice(0, 3).map(({ path, why }) => `${visible(path)} (${why})`);
  const more = lost.length > names.length ? `, and ${lost.length - names.length} more in its meta.json` : '';
  return [
    `not salvaged, no git tree holds it: ${names.join(', ')}${more}${private_dir === null ? '' : `; kept in ${private_dir}`}`,
  ];
}

async function pick({ world, place, git }: Desk, asked: string): Promise<Kept | Refusal> {
  const all = await listRejected(world, place, git);
  if (asked === 'last')
    return (
      all.find(({ shown }) => shown.not_salvageable === null) ?? {
        refused: 'no refused work is kept here',
        remedy: '`relais rejected` lists what can be salvaged.',
      }
    );
  const found = pickRun(
    all.map(({ shown }) => shown),
    asked,
    '`relais rejected`',
  );
  return 'refused' in found ? found : (all.find(({ shown }) => shown === found) ?? { shown: found });
}

/** A killed tick wrote no history; while nothing ran since, TASK.json is still its task. */
async function interruptedTask({ world, place }: Desk, runId: string): Promise<Task | undefined> {
  const { repository, config } = place;
  const { state } = await readWorkspace(world, repository, config);
  const file = world.join(workspaceOf(world, repository, config), 'TASK.json');
  const [written, began] = [await world.files.modifiedMs(file), startOf(runId)];
  if (state.last_run_id !== runId || written === undefined || began === undefined || written < began.getTime())
    return undefined;
  const read = await world.files.readText(file, MAX_TASK);
  const parsed = read.found === 'text' ? parseJson(read.text) : undefined;
  const task = parsed?.ok ? checkTask(parsed.value) : undefined;
  return task?.ok ? task.value : undefined;
}

/** Brain and Hands of a salvage: the recorded task, and the kept tree put into the work tree. */
export function salvageWorkers(plan: Salvage): Workers {
  return {
    plan: async (run) => {
      const scope = effectiveScope(run.config, plan.task);
      run.record.task = plan.task;
      run.record.salvagedRunId = plan.from.run_id;
      run.record.warnings.push(...plan.notes);
      await writeOwned(run, 'TASK.json', `${JSON.stringify(plan.task, null, 2)}\n`);
      run.world.say(
        'SALVAGE',
        `task ${plan.task.task_id} of ${plan.from.run_id}: ${scope.maxFiles} files, ${scope.maxLines} lines at most`,
      );
      return plan.task;
    },
    work: async (run, _task, baseline) => {
      run.world.say('BUILD', 'putting the refused work back; no agent is called');
      await layOut(run, baseline, plan.changes);
      return undefined;
    },
    compare: (run) => compare(run, plan),
  };
}

/** What was measured must be what was kept; the builder's own commits belong to it as they did then. */
function compare(run: Run, { tree, movedTo }: Salvage): Outcome | undefined {
  const { measured } = run.record;
  if (measured === undefined) return undefined;
  if (movedTo !== undefined) run.record.measured = { ...measured, headMovedTo: movedTo };
  if (measured.tree === tree) return undefined;
  return outcome('STOP_INTERRUPTED', [`the work tree gives the tree ${measured.tree}, but ${tree} was kept`], {
    remedy: 'Attributes or filters have changed since. Take the change over by hand.',
  });
}
