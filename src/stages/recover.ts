import { outcome, type Outcome } from '../outcome.js';
import type { Config, State } from '../generated/types.js';
import type { Repository } from '../model.js';
import { emptyState } from '../rules/budget.js';
import { rebuildState } from '../rules/rebuild.js';
import { checkMeta, checkReport, parseJson } from '../schemas.js';
import type { World } from '../world/world.js';
import { closeJournal, readBaseline, readJournal, type Journal } from './journal.js';
import { measure } from './measure.js';
import { workspaceOf, type Place } from './place.js';
import { readWorkspace } from './preflight.js';
import { rollBack } from './rollback.js';
import type { Baseline, Run } from './run.js';

export interface Recovery {
  /** What there was to do, one line each; empty when nothing was interrupted. */
  readonly steps: readonly string[];
  /** What is still not as it was. */
  readonly left: readonly string[];
}

type Ready = Place & { repository: Repository; config: Config };

/**
 * Finishes or undoes an interrupted tick. Before the branch was moved everything is undone, with the
 * interrupted work kept as rejected work; after it, what was left to do is done. Safe to run again.
 */
export async function recover(world: World, place: Ready, dryRun: boolean): Promise<Recovery> {
  const privateDir = world.privateDir(place.repository.commonDir);
  const journal = await readJournal(world, privateDir);
  const steps: string[] = [];
  const left: string[] = [];
  if (journal !== undefined) {
    const finished = journal.commit !== undefined && (await branchHas(world, place.repository, journal));
    steps.push(
      finished
        ? `finish ${journal.run_id}: its commit ${journal.commit} is on the branch`
        : journal.hands_started
          ? `undo ${journal.run_id}, interrupted in ${journal.phase}; its work is kept under refs/relais/rejected/${journal.run_id}`
          : `close ${journal.run_id}: its Hands had not started`,
    );
    if (!dryRun) {
      if (finished) await finishCommit(world, place, journal);
      else if (journal.hands_started) left.push(...(await undo(world, place, privateDir, journal)));
      if (left.length === 0) await closeJournal(world, privateDir);
    }
  }
  const workspace = await readWorkspace(world, place.repository, place.config);
  const folder = workspaceOf(world, place.repository, place.config);
  for (const line of workspace.invalid) {
    const name = line.slice(place.config.workspace_dir.length + 1, line.indexOf(':'));
    steps.push(
      `set ${place.config.workspace_dir}/${name} aside as ${name}.broken${name === 'STATE.json' ? ' and rebuild it from history' : ''}`,
    );
    if (!dryRun) await setAside(world, place, folder, name);
  }
  if (workspace.state.notices.length > 0) {
    steps.push(...workspace.state.notices.map((notice) => `noted as seen: ${notice.text}`));
    if (!dryRun && workspace.invalid.length === 0)
      await world.files.writeJson(world.join(folder, 'STATE.json'), { ...workspace.state, notices: [] });
  }
  return { steps, left };
}

async function branchHas(world: World, repository: Repository, journal: Journal): Promise<boolean> {
  const refs = await world.gitdir.readRefs(repository);
  const head = await world.gitdir.readHead(repository);
  const tip =
    journal.commit_ref === 'HEAD' || journal.commit_ref === undefined ? head.commit : refs.get(journal.commit_ref);
  return tip === journal.commit;
}

async function reopen(
  world: World,
  place: Ready,
  privateDir: string,
  journal: Journal,
): Promise<{ run: Run; baseline: Baseline }> {
  const { repository, config } = place;
  const read = await readBaseline(world, privateDir, journal);
  const vault = await world.vault.openVault(world.join(privateDir, 'vault'), repository.objectFormat);
  await world.gitdir.restoreMetadata(repository, read.metadata, vault, read.head);
  const git = world.git.createGit(repository, await world.git.readSettings(repository.workTree));
  const baseline: Baseline = { ...read, index: await git.indexEntries() };
  const scratch = world.join(privateDir, 'runs', journal.run_id);
  await world.files.ensurePrivateDir(scratch);
  const { state } = await readWorkspace(world, repository, config);
  const run: Run = {
    world,
    id: journal.run_id,
    startedAt: new Date(journal.started_at),
    startedMs: world.clock.monotonicMs(),
    endsAtMs: world.clock.monotonicMs() + 3_600_000,
    signal: world.signal,
    repository,
    config,
    configText: place.configText,
    prompts: {
      orchestratorSystem: '',
      orchestratorUser: '',
      builderSystem: '',
      builderUser: '',
      taskSchema: '',
      builderResultSchema: '',
      facts: '',
      lastReport: '',
      blocked: '',
    },
    git,
    vault,
    privateDir,
    scratch,
    workspace: workspaceOf(world, repository, config),
    state,
    record: {
      baseline,
      handsStarted: true,
      settled: false,
      calls: [],
      verifyRuns: [],
      verifyLog: [],
      warnings: [],
      leftovers: [],
    },
  };
  return { run, baseline };
}

async function undo(world: World, place: Ready, privateDir: string, journal: Journal): Promise<string[]> {
  if (journal.work_tree !== place.repository.workTree)
    return [`run \`relais recover\` in ${journal.work_tree}: the tick was interrupted there`];
  const headBefore = await world.gitdir.readHead(place.repository);
  const refsBefore = await world.gitdir.readRefs(place.repository);
  const { run, baseline } = await reopen(world, place, privateDir, journal);
  // The runner's own files moved on since the baseline (state, task): they stay as they are now.
  await keepOwnFiles(run, baseline);
  const tip = baseline.head.ref === undefined ? headBefore.commit : refsBefore.get(baseline.head.ref);
  const measured = await measure(run, baseline, run.config.scope.default_forbidden_globs);
  run.record.measured =
    tip !== undefined && tip !== baseline.head.commit ? { ...measured, headMovedTo: tip } : measured;
  const verdict: Outcome = outcome('STOP_INTERRUPTED', [`interrupted in ${journal.phase}`]);
  return rollBack(run, baseline, verdict);
}

/** Replaces the baseline's view of the workspace folder by what is there now, where it is valid. */
async function keepOwnFiles(run: Run, baseline: Baseline): Promise<void> {
  const names = ['STATE.json', 'TASK.json', 'REPORT.json', 'REPORT.md', 'BLOCKED.json', 'lock.json'];
  const paths = names.map((name) => `${run.config.workspace_dir}/${name}`);
  for (const path of paths) {
    const entry = await run.world.inventory.entryAt(run.repository.workTree, path);
    if (entry?.kind === 'file') baseline.inventory.set(path, entry);
    else if (entry === undefined) baseline.inventory.delete(path);
  }
  await run.vault.keep(
    'tree',
    run.repository.workTree,
    paths.filter((path) => baseline.inventory.has(path)),
    baseline.inventory,
  );
}

async function finishCommit(world: World, place: Ready, journal: Journal): Promise<void> {
  const git = world.git.createGit(place.repository, await world.git.readSettings(place.repository.workTree));
  await git.stageTouched(journal.tree, await git.treeOf(journal.commit ?? journal.head.commit));
}

async function setAside(world: World, place: Ready, folder: string, name: string): Promise<void> {
  await world.files.move(world.join(folder, name), world.join(folder, `${name}.broken`));
  if (name !== 'STATE.json') return;
  await world.files.writeJson(world.join(folder, 'STATE.json'), await stateFromHistory(world, place));
}

/** Counters as the last complete history entry of each milestone has them; what came after is unknown. */
async function stateFromHistory(world: World, place: Ready): Promise<State> {
  const history = world.join(place.repository.mainTree, place.config.history.dir);
  const entries = [];
  for (const name of await world.files.list(history)) {
    const report = await readChecked(world, world.join(history, name, 'report.json'), checkReport);
    const meta = await readChecked(world, world.join(history, name, 'meta.json'), checkMeta);
    if (report !== undefined && meta !== undefined) entries.push({ report, meta });
  }
  return rebuildState(emptyState(), entries);
}

async function readChecked<T>(
  world: World,
  file: string,
  check: (value: unknown) => { ok: true; value: T } | { ok: false; errors: string[] },
): Promise<T | undefined> {
  const read = await world.files.readText(file, 64 * 1024 * 1024);
  if (read.found !== 'text') return undefined;
  const parsed = parseJson(read.text);
  const checked = parsed.ok ? check(parsed.value) : parsed;
  return checked.ok ? checked.value : undefined;
}
