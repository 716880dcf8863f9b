import type { Blocked, Config, State } from '../generated/types.js';
import type { Repository } from '../model.js';
import type { Outcome } from '../outcome.js';
import { countersOf, emptyState, shortfalls } from '../rules/budget.js';
import { PREFLIGHT_ROWS, type PreflightFacts } from '../rules/preflight.js';
import { isRunnerOwned } from '../rules/scope.js';
import { decide } from '../rules/table.js';
import { visible } from '../rules/text.js';
import { checkBlocked, checkReport, checkState, checkTask, parseJson, type Checked } from '../schemas.js';
import type { World } from '../world/world.js';
import { readJournal } from './journal.js';
import type { Place } from './place.js';
import { workspaceOf } from './place.js';

const MAX_JSON = 8 * 1024 * 1024;

/** What is read of the workspace before a tick: validated, or named as broken. */
export interface Workspace {
  readonly state: State;
  readonly blocked?: Blocked;
  readonly invalid: readonly string[];
}

/** Gathers every fact of the A1 table; writes nothing. Facts that need a config or git are neutral without. */
export async function gatherPreflight(
  world: World,
  place: Place,
  lock: PreflightFacts['lock'],
): Promise<PreflightFacts> {
  const { config, repository } = place;
  const neutral: PreflightFacts = {
    ...place.facts,
    lock,
    dirty: [],
    historyBytes: 0,
    historyCapBytes: Number.MAX_SAFE_INTEGER,
    invalidFiles: [],
    budget: [],
    now: world.clock.now().toISOString(),
  };
  if (config === undefined || repository === undefined || place.git === undefined) return neutral;
  // Whoever holds the lock is at work: what stands half done is theirs, and nothing to be told of.
  if (lock.state === 'held') return neutral;
  const workspace = await readWorkspace(world, repository, config);
  const { journal, damaged } = await readJournal(world, world.privateDir(repository.commonDir));
  const { state } = workspace;
  const known: PreflightFacts = {
    ...neutral,
    ...(neutral.config.state === 'ok' && { config: agentFact(place, config) }),
    historyBytes: config.history.enabled
      ? await world.files.folderSize(world.join(repository.mainTree, config.history.dir))
      : 0,
    historyCapBytes: config.history.max_mb * 1024 * 1024,
    invalidFiles: [...(damaged === undefined ? [] : [damaged]), ...workspace.invalid],
    budget: shortfalls(config, countersOf(state, config.project.milestone_id)),
    ...(state.not_before !== undefined && { notBefore: state.not_before }),
    ...(state.pending_question !== undefined && { pendingQuestion: state.pending_question.prompt }),
  };
  // The interrupted Hands may have planted anything in git's own files: nothing is asked until they are back.
  if (journal?.hands_started) return { ...known, journal: { run_id: journal.run_id, phase: journal.phase } };
  const refs = world.gitdir.refsProblem(repository);
  if (refs !== undefined) return { ...known, git: { ok: false, why: refs } };
  const { commit, changes } = await (await place.git()).status();
  if (commit === undefined) return { ...known, git: { ok: false, why: 'the repository has no commit yet' } };
  const owned = isRunnerOwned(config);
  const changed = changes.filter(({ path }) => !owned(path)).map(({ path, xy }) => `${xy} ${visible(path)}`);
  const operations = await (await place.git()).operationInProgress();
  return { ...known, dirty: [...operations.map((name) => `${name} is in progress`), ...changed] };
}

/** Without its agent program a tick would only count calls that never start. */
function agentFact(
  { named }: Place,
  { orchestrator, builder, claude_code_cli: cli }: Config,
): PreflightFacts['config'] {
  const needed = orchestrator.agent === 'claude' || builder.agent === 'claude';
  if (!needed || named?.agentProgram !== undefined) return { state: 'ok' };
  return {
    state: 'invalid',
    why: [`the agent program "${cli.command}" was not found on PATH outside the repository`],
    remedy: 'Install Claude Code (npm install -g @anthropic-ai/claude-code), or correct claude_code_cli.command.',
  };
}

/** The A1 verdict. */
export function decidePreflight(facts: PreflightFacts): Outcome | undefined {
  return decide(PREFLIGHT_ROWS, facts)?.outcome;
}

/** Reads and validates the runner's own JSON files. */
export async function readWorkspace(world: World, repository: Repository, config: Config): Promise<Workspace> {
  const folder = workspaceOf(world, repository, config);
  const invalid: string[] = [];
  const read = async <T>(name: string, check: (value: unknown) => Checked<T>): Promise<T | undefined> => {
    const file = await world.files.readText(world.join(folder, name), MAX_JSON);
    if (file.found === 'missing') return undefined;
    const value = file.found === 'text' ? parseJson(file.text) : { ok: false as const, errors: [file.why] };
    const checked = value.ok ? check(value.value) : value;
    if (checked.ok) return checked.value;
    invalid.push(`${config.workspace_dir}/${name}: ${checked.errors[0] ?? 'invalid'}`);
    return undefined;
  };
  const history = world.join(repository.mainTree, config.history.dir);
  if ((await world.files.exists(history)) && !(await world.files.isFolder(history)))
    invalid.push(`${config.history.dir}: it is no folder`);
  const logs = world.join(folder, 'logs');
  if ((await world.files.exists(logs)) && !(await world.files.isFolder(logs)))
    invalid.push(`${config.workspace_dir}/logs: it is no folder`);
  const markdown = await world.files.readText(world.join(folder, 'REPORT.md'), MAX_JSON);
  if (markdown.found === 'unreadable') invalid.push(`${config.workspace_dir}/REPORT.md: ${markdown.why}`);
  const validate = config.runner.crash_cleanup.validate_runner_json_files;
  const state = await read('STATE.json', checkState);
  const blocked = await read('BLOCKED.json', checkBlocked);
  if (validate) {
    await read('TASK.json', checkTask);
    await read('REPORT.json', checkReport);
  }
  if (state === undefined && invalid.length === 0 && (await world.files.list(history)).length > 0)
    invalid.push(`${config.workspace_dir}/STATE.json: it is missing, though ${config.history.dir} holds ticks`);
  // A state that can't be read is never replaced by an empty one, whatever the switch says: budgets would be forgotten.
  const stateOnly = invalid.filter((line) => line.includes('STATE.json'));
  return { state: state ?? emptyState(), ...(blocked && { blocked }), invalid: validate ? invalid : stateOnly };
}
