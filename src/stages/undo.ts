import { CODE_MEANING, outcome } from '../outcome.js';
import { undoMessage } from '../rules/commitMessage.js';
import { PREFLIGHT_ROWS } from '../rules/preflight.js';
import { pickRun, undoneRuns } from '../rules/rejected.js';
import type { Refusal } from '../rules/salvage.js';
import { isRunnerOwned } from '../rules/scope.js';
import { decide } from '../rules/table.js';
import { oneLine, visible } from '../rules/text.js';
import type { OwnCommit } from '../world/git/merge.js';
import type { TreeChange } from '../world/git/write.js';
import type { World } from '../world/world.js';
import { carryOver, layOut, obstacle, type Desk } from './apply.js';
import { takeBaseline } from './baseline.js';
import { closeJournal, keepAlive, openJournal, writePhase } from './journal.js';
import { lockTick, type TickLock } from './lock.js';
import { isReady, locate, workspaceOf, type Place } from './place.js';
import { gatherPreflight, readWorkspace } from './preflight.js';
import { NO_PROMPTS } from './recover.js';
import { rollBack } from './rollback.js';
import { emptyRecord, type Run } from './run.js';
import type { Begun } from './writing.js';

/** What was taken back, and by which commit. */
export interface Undone {
  readonly run_id: string;
  readonly undoes: string;
  readonly undone_commit: string;
  readonly commit: string;
  readonly subject: string;
  readonly paths: readonly string[];
}

/** An undo that began and could not be finished: everything is as before, or what is left is named. */
export interface Stopped {
  readonly stopped: string;
  readonly left: readonly string[];
}

/** The rows of A1 that say whether the work tree may be written to at all. */
const ROWS = PREFLIGHT_ROWS.filter(([id]) => ['config', 'git', 'lock', 'journal', 'dirty'].includes(id));

/** Takes an accepted tick back as a new commit; refuses, with nothing changed, whatever is not plain sailing. */
export async function undo(world: World, asked: string | undefined): Promise<Undone | Refusal | Stopped> {
  const begun = { id: world.newRunId(), startedAt: world.clock.now(), startedMs: world.clock.monotonicMs() };
  const place = await locate(world);
  const lock = await lockTick(world, place, begun);
  try {
    const blocked = await notReady(world, place, lock.fact);
    if (blocked !== undefined) return blocked;
    if (!isReady(place))
      return { refused: 'there is no repository with a valid relais.config.json here', remedy: 'Run `relais init`.' };
    const privateDir = world.privateDir(place.repository.commonDir);
    const scratch = world.join(privateDir, 'runs', begun.id);
    await world.files.ensurePrivateDir(privateDir);
    await world.files.ensurePrivateDir(scratch);
    try {
      const desk = { world, place, git: await place.git(), scratch };
      const plan = await planUndo(desk, asked);
      return 'refused' in plan ? plan : await carryOut(await quietRun(desk, begun, privateDir), plan);
    } finally {
      await world.files.removeTree(scratch);
    }
  } finally {
    await lock.release();
  }
}

/** Only what concerns the work tree; budgets, history and questions are no matter here, nor is the agent program. */
async function notReady(world: World, place: Place, lock: TickLock['fact']): Promise<Refusal | undefined> {
  const facts = { ...(await gatherPreflight(world, place, lock)), config: place.facts.config };
  const fired = decide(ROWS, facts)?.outcome;
  if (fired === undefined) return undefined;
  const { code, evidence, remedy } = fired;
  const more = evidence.length > 10 ? `; ${evidence.length - 10} more` : '';
  return {
    refused: `${code}: ${evidence.slice(0, 10).join('; ')}${more}`,
    remedy: remedy ?? CODE_MEANING[code].remedy,
  };
}

interface Plan {
  readonly target: OwnCommit;
  readonly changes: readonly TreeChange[];
}

async function planUndo(desk: Desk, asked: string | undefined): Promise<Plan | Refusal> {
  const { git, place } = desk;
  const target = choose(await git.ownCommits(), asked);
  if ('refused' in target) return target;
  const [parent, ...others] = target.parents;
  const before = parent === undefined ? undefined : (await git.readCommits([parent])).get(parent);
  if (before === undefined || others.length > 0)
    return {
      refused: `${target.commit} has ${target.parents.length} parents, or they are not here: it can't be taken back`,
      remedy: 'In a shallow clone fetch the rest (git fetch --unshallow); take a merge back with git revert -m.',
    };
  const head = await git.head();
  if (head === undefined) return { refused: 'HEAD can no longer be read', remedy: 'Look at `git status`.' };
  const tree = await carryOver(desk, { base: target.tree, theirs: before.tree, head: head.tree });
  if (typeof tree !== 'string') return tree;
  const owned = isRunnerOwned(place.config);
  const changes = (await git.treeChanges(head.tree, tree)).filter(({ path }) => !owned(path));
  if (changes.length === 0)
    return {
      refused: `nothing of ${target.runId} is left to take back: HEAD is without it already`,
      remedy: '`git log` shows how.',
    };
  return (await obstacle(desk, changes)) ?? { target, changes };
}

/** The newest tick that was accepted, or the run asked for, which may be an undo itself. */
function choose(commits: readonly OwnCommit[], asked: string | undefined): OwnCommit | Refusal {
  const known = new Map<string, OwnCommit>();
  for (const commit of commits) if (!known.has(commit.runId)) known.set(commit.runId, commit);
  const runs = [...known.values()].map((commit) => ({ run_id: commit.runId, commit }));
  const newest = runs.find(({ commit }) => commit.undoes === undefined);
  if (asked === undefined && newest === undefined)
    return { refused: 'no commit on this branch is from an accepted tick', remedy: '`git log` shows what there is.' };
  const found =
    asked === undefined || asked === 'last'
      ? (newest ?? pickRun(runs, '', ''))
      : pickRun(runs, asked, '`git log --grep Relais-Run`');
  if ('refused' in found) return found;
  const undoneBy = undoneRuns(commits).get(found.run_id);
  if (undoneBy === undefined) return found.commit;
  return {
    refused: `${visible(found.run_id)} was taken back already, by ${visible(undoneBy)}`,
    remedy: `\`relais undo ${oneLine(undoneBy)}\` brings it back; to take an earlier tick back, name its run.`,
  };
}

/** A run that calls nobody, counts nothing and reports nothing; it has a baseline and a journal like any other. */
async function quietRun({ world, place, scratch }: Desk, begun: Begun, privateDir: string): Promise<Run> {
  const { repository, config, configText } = place;
  const settings = await world.git.copyRules(await place.settings(), repository.workTree, scratch);
  return {
    world,
    ...begun,
    endsAtMs: Number.POSITIVE_INFINITY,
    signal: world.signal,
    repository,
    config,
    configText,
    agentProgram: '',
    prompts: NO_PROMPTS,
    git: world.git.createGit(repository, settings),
    vault: await world.vault.openVault(world.join(privateDir, 'vault'), repository.objectFormat),
    privateDir,
    scratch,
    workspace: workspaceOf(world, repository, config),
    state: (await readWorkspace(world, repository, config)).state,
    record: emptyRecord(),
  };
}

async function carryOut(run: Run, { target, changes }: Plan): Promise<Undone | Stopped> {
  const { world, git } = run;
  const baseline = await takeBaseline(run);
  run.record.baseline = baseline;
  await openJournal(run, baseline);
  const rest = keepAlive(run);
  run.record.handsStarted = true;
  await writePhase(run, 'build');
  try {
    await layOut(run, baseline, changes);
    const indexFile = world.join(run.scratch, 'undo-index');
    const { tree } = await git.buildTree(baseline.head.commit, changes, indexFile);
    const message = undoMessage({
      subject: target.subject,
      runId: run.id,
      undoes: target.runId,
      commit: target.commit,
    });
    const commit = await git.commitTree({ tree, parents: [baseline.head.commit], message, date: world.clock.now() });
    const ref = baseline.head.ref ?? 'HEAD';
    await writePhase(run, 'commit', { commit: { oid: commit, ref } });
    if (!(await git.updateRef(ref, commit, baseline.head.commit, `relais: undo ${target.runId}`)))
      throw new Error(`${ref} was moved by somebody else; it was left there`);
    run.record.commit = commit;
    await git.stage(changes);
    await closeJournal(world, run.privateDir);
    await run.vault.prune();
    const { runId, subject } = target;
    const paths = changes.map(({ path }) => visible(path));
    return { run_id: run.id, undoes: runId, undone_commit: target.commit, commit, subject: oneLine(subject), paths };
  } catch (error) {
    return await giveUp(run, error);
  } finally {
    rest();
  }
}

/** Before the branch has moved everything is put back; after it, `relais recover` finishes. */
async function giveUp(run: Run, error: unknown): Promise<Stopped> {
  const why = error instanceof Error ? error.message : String(error);
  const { baseline, commit } = run.record;
  if (baseline === undefined || commit !== undefined)
    return { stopped: why, left: ['the undo is committed, but the index does not know: run `relais recover`'] };
  await writePhase(run, 'rollback');
  const left = await rollBack(run, baseline, outcome('STOP_INTERRUPTED', [why]));
  if (left.length === 0) await closeJournal(run.world, run.privateDir);
  return { stopped: why, left };
}
