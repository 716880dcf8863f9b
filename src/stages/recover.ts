import type { Repository } from '../model.js';
import { outcome } from '../outcome.js';
import type { World } from '../world/world.js';
import { conclude, publish } from './conclusion.js';
import { finishCommit, writeEnding } from './complete.js';
import {
  closeJournal,
  lastAlive,
  readBaseline,
  readJournal,
  setJournalAside,
  type Interrupted,
  type Journal,
} from './journal.js';
import { measure } from './measure.js';
import { workspaceOf, type Ready } from './place.js';
import { readWorkspace } from './preflight.js';
import { walkTree } from './walk.js';
import { repairWorkspace } from './repair.js';
import { rollBack } from './rollback.js';
import { emptyRecord, type Baseline, type Prompts, type Run } from './run.js';

export interface Recovery {
  /** What there was to do, one line each; empty when nothing was interrupted. */
  readonly steps: readonly string[];
  /** Worth knowing, but nothing to do about. */
  readonly notes: readonly string[];
  /** What is still not as it was. */
  readonly left: readonly string[];
}

/**
 * Finishes or undoes an interrupted tick. Before the branch was moved everything is undone, with the
 * interrupted work kept as rejected work; after it, what was left to do is done. What the user edited
 * since is left alone. Safe to run again.
 */
export async function recover(
  world: World,
  place: Ready,
  options: { readonly dryRun: boolean; readonly keep: boolean },
): Promise<Recovery> {
  const privateDir = world.privateDir(place.repository.commonDir);
  const { journal, damaged } = await readJournal(world, privateDir);
  const found = { steps: [] as string[], notes: [] as string[], left: [] as string[] };
  if (journal !== undefined) {
    const interrupted = { journal, privateDir, aliveUntil: await lastAlive(world, privateDir) };
    const way = await choose(world, place, interrupted, options.keep);
    found.steps.push(way.step);
    if (!options.dryRun) {
      const done = await way.act().catch((error: unknown) => notDone(world, error));
      found.notes.push(...(done.notes ?? []));
      found.left.push(...(done.left ?? []));
      if (found.left.length === 0) await closeJournal(world, privateDir);
      await world.files.removeTree(world.join(privateDir, 'runs'));
      // Whoever killed the tick may have written to what it knew of the work tree.
      if (found.left.length === 0) await world.files.removeTree(world.join(privateDir, 'walks'));
    }
  }
  if (damaged !== undefined) {
    found.steps.push(`set the damaged journal aside (${damaged})`);
    const aside = options.dryRun ? undefined : await setJournalAside(world, privateDir);
    if (aside !== undefined)
      found.notes.push(`${aside} can't tell what was under way: look at \`git status\` yourself`);
  }
  found.steps.push(...(await repairWorkspace(world, place, options.dryRun)));
  return found;
}

/** What stopped a recovery in its middle: the journal stays, and it can be run again. */
function notDone(world: World, error: unknown): { left: string[]; notes?: never } {
  world.log.error('the recovery failed', { error });
  return { left: [error instanceof Error ? error.message : String(error)] };
}

interface Way {
  readonly step: string;
  act(): Promise<{ readonly notes?: readonly string[]; readonly left?: readonly string[] }>;
}

async function choose(world: World, place: Ready, interrupted: Interrupted, keep: boolean): Promise<Way> {
  const { journal } = interrupted;
  const { run_id: id, phase } = journal;
  if (journal.work_tree !== place.repository.workTree && journal.hands_started)
    return {
      step: `leave ${id} to the work tree it ran in`,
      act: async () => ({ left: [`run \`relais recover\` in ${journal.work_tree}: the tick was interrupted there`] }),
    };
  if (journal.commit !== undefined && (await tipOf(world, place.repository, journal)) === journal.commit)
    return {
      step: `finish ${id}: its commit ${journal.commit} is on the branch`,
      act: async () => ({ left: await finishCommit(world, place, interrupted) }),
    };
  if (!journal.hands_started) return { step: `close ${id}: its Hands had not started`, act: () => Promise.resolve({}) };
  if (phase === 'report')
    return {
      step: `write the report of ${id}: it had ended`,
      act: async () => (await writeEnding(world, place, journal), {}),
    };
  if (keep)
    return {
      step: `close ${id}, interrupted in ${phase}, and leave everything as it is now`,
      act: async () => ({ notes: endedNotes(await world.spawn.endOrphans(id)) }),
    };
  return {
    step: `undo ${id}, interrupted in ${phase}; its work is kept under refs/relais/rejected/${id}`,
    act: () => undo(world, place, interrupted),
  };
}

/** The commit the tick's branch, or its detached HEAD, stands on now. */
async function tipOf(world: World, repository: Repository, journal: Journal): Promise<string | undefined> {
  const { ref } = journal.head;
  if (ref === undefined) return (await world.gitdir.readHead(repository)).commit;
  return (await world.gitdir.readRefs(repository)).get(ref);
}

async function undo(world: World, place: Ready, interrupted: Interrupted): ReturnType<Way['act']> {
  const { journal, aliveUntil } = interrupted;
  const ended = await world.spawn.endOrphans(journal.run_id);
  const tip = await tipOf(world, place.repository, journal);
  if (tip !== journal.head.commit && (await branchMovedMs(world, place.repository, journal)) > aliveUntil)
    return {
      left: [
        `${journal.head.ref ?? 'HEAD'} was moved to ${tip ?? 'nothing'} after the tick had been interrupted, so nothing was undone; ` +
          '`relais recover --keep` closes the tick and leaves everything as it is',
      ],
    };
  const { run, baseline } = await reopen(world, place, interrupted);
  // The runner's own files moved on since the baseline (state, task): they stay as they are now.
  await keepOwnFiles(run, baseline);
  await removeUnfinished(run, baseline);
  const measured = await measure(run, baseline, run.config.scope.default_forbidden_globs);
  run.record.measured =
    tip !== undefined && tip !== baseline.head.commit ? { ...measured, headMovedTo: tip } : measured;
  const since = measured.changes.filter(({ after }) => after !== undefined && after.ctimeMs > aliveUntil);
  const spared = new Set(since.map(({ path }) => path));
  const verdict = outcome('STOP_INTERRUPTED', [
    `the runner was ended in the middle of ${journal.phase}; \`relais recover\` undid the tick`,
  ]);
  const left = await rollBack(run, baseline, verdict, spared);
  if (left.length === 0) {
    const { git, repository: repo, vault, id: runId } = run;
    await world.gitdir.keepMovedRefs({ git, repo, vault, runId }, measured.refsMoved);
    // An undo of a tick has no task, and makes no report.
    if (journal.task !== undefined) await publish(run, conclude(run, verdict));
  }
  const notes = [...spared].map((path) => `${path} was edited after the tick had been interrupted; it was left alone`);
  return { left, notes: [...endedNotes(ended), ...notes] };
}

/** A rollback that was cut off may have left a replacement that had not got its name yet; nobody else's file is called so. */
async function removeUnfinished(run: Run, baseline: Baseline): Promise<void> {
  const { inventory, files, restore } = run.world;
  const { workTree } = run.repository;
  const current = await walkTree(run, baseline.index, baseline.inventory);
  for (const path of inventory.mayDiffer(baseline.inventory, current))
    if (restore.isUnfinished(path) && !baseline.inventory.has(path) && current.get(path)?.kind === 'file')
      await files.removeFile(inventory.absolute(workTree, path));
}

function endedNotes(pids: readonly number[]): string[] {
  return pids.length === 0 ? [] : [`ended ${pids.length} process(es) the tick had left running`];
}

async function branchMovedMs(world: World, repository: Repository, { head }: Journal): Promise<number> {
  const file =
    head.ref === undefined ? world.join(repository.gitDir, 'HEAD') : world.join(repository.commonDir, head.ref);
  return (await world.files.modifiedMs(file)) ?? 0;
}

/** For runs that call nobody. */
export const NO_PROMPTS: Prompts = {
  orchestratorSystem: '',
  orchestratorUser: '',
  builderSystem: '',
  builderUser: '',
  taskSchema: '',
  builderResultSchema: '',
  changedSchemas: new Set(),
  facts: '',
  lastReport: '',
  blocked: '',
};

/** The interrupted run as far as a rollback needs it; git's metadata is back before git is asked anything. */
async function reopen(
  world: World,
  place: Ready,
  { journal, privateDir }: Interrupted,
): Promise<{ run: Run; baseline: Baseline }> {
  const { repository, config } = place;
  const read = await readBaseline(world, privateDir, journal);
  const vault = await world.vault.openVault(world.join(privateDir, 'vault'), repository.objectFormat);
  await world.gitdir.restoreMetadata(repository, read.metadata, vault, read);
  const git = world.git.createGit(repository, await world.git.readSettings(repository.workTree));
  const baseline: Baseline = { ...read, index: await git.indexEntries() };
  const scratch = world.join(privateDir, 'runs', journal.run_id);
  await world.files.ensurePrivateDir(scratch);
  const startedMs = world.clock.monotonicMs();
  const run: Run = {
    world,
    id: journal.run_id,
    startedAt: new Date(journal.started_at),
    startedMs,
    endsAtMs: Number.POSITIVE_INFINITY,
    signal: world.signal,
    repository,
    config,
    configText: place.configText,
    agentProgram: '',
    prompts: NO_PROMPTS,
    git,
    vault,
    privateDir,
    scratch,
    workspace: workspaceOf(world, repository, config),
    state: (await readWorkspace(world, repository, config)).state,
    record: { ...emptyRecord(), baseline, handsStarted: true, ...(journal.task && { task: journal.task }) },
  };
  return { run, baseline };
}

/** Replaces the baseline's view of the workspace folder by what is there now. */
async function keepOwnFiles(run: Run, baseline: Baseline): Promise<void> {
  const names = ['STATE.json', 'TASK.json', 'REPORT.json', 'REPORT.md', 'BLOCKED.json', 'lock.json'];
  const paths = names.map((name) => `${run.config.workspace_dir}/${name}`);
  for (const path of paths) {
    const entry = await run.world.inventory.entryAt(run.repository.workTree, path);
    if (entry?.kind === 'file') baseline.inventory.set(path, entry);
    else if (entry === undefined) baseline.inventory.delete(path);
  }
  const there = paths.filter((path) => baseline.inventory.has(path));
  await run.vault.keep('tree', run.repository.workTree, there, baseline.inventory);
}
