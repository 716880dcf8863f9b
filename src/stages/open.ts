import { countersOf, warned, charge } from '../rules/budget.js';
import { NO_TASK } from '../rules/report.js';
import { renderReport } from '../rules/reportMd.js';
import { checkReport, parseJson } from '../schemas.js';
import type { Config } from '../generated/types.js';
import type { World } from '../world/world.js';
import { closeJournal, readJournal } from './journal.js';
import { workspaceOf, type Ready } from './place.js';
import { readWorkspace, type Workspace } from './preflight.js';
import { emptyRecord, saveState, type Prompts, type Run } from './run.js';

const MAX_PROMPT_FILE = 1024 * 1024;

/** Everything is read once, here, before any agent runs; the tick is counted and its private folder made. */
export async function openRun(
  world: World,
  place: Ready,
  given: { id: string; startedAt: Date; startedMs: number; signal: AbortSignal; endsAtMs: number },
  ticks: 0 | 1,
): Promise<Run> {
  const { repository, config } = place;
  const privateDir = world.privateDir(repository.commonDir);
  const workspace = workspaceOf(world, repository, config);
  await world.files.ensurePrivateDir(privateDir);
  await settleUnstarted(world, privateDir);
  const scratch = world.join(privateDir, 'runs', given.id);
  await world.files.ensurePrivateDir(scratch);
  const read = await readWorkspace(world, repository, config);
  const run: Run = {
    world,
    ...given,
    repository,
    config,
    configText: place.configText,
    agentProgram: place.named.agentProgram ?? config.claude_code_cli.command,
    prompts: await gatherPrompts(world, place, read),
    // The user's own ignore and attribute files lie where the Hands can write: copies of them decide.
    git: world.git.createGit(
      repository,
      await world.git.copyRules(await place.settings(), repository.workTree, scratch),
    ),
    vault: await world.vault.openVault(world.join(privateDir, 'vault'), repository.objectFormat),
    privateDir,
    scratch,
    workspace,
    state: read.state,
    record: emptyRecord(),
  };
  await countTick(run, ticks);
  return run;
}

/** A tick that died before its Hands started changed nothing: its journal is closed and the work goes on. */
async function settleUnstarted(world: World, privateDir: string): Promise<void> {
  const { journal } = await readJournal(world, privateDir);
  if (journal !== undefined && !journal.hands_started) await closeJournal(world, privateDir);
  // Whatever still lies there belongs to a tick that is over.
  await world.files.removeTree(world.join(privateDir, 'runs'));
}

async function countTick(run: Run, ticks: 0 | 1): Promise<void> {
  const { config } = run;
  const milestone = config.project.milestone_id;
  const counted = charge(run.state, milestone, { ticks });
  const warnings = warned(config, countersOf(counted, milestone));
  run.record.warnings.push(...warnings);
  for (const warning of warnings) run.world.say('PREFLIGHT', `warning: ${warning}`);
  for (const notice of run.state.notices) run.world.say('PREFLIGHT', `notice: ${notice.text}`);
  await run.world.files.removeFile(run.world.join(run.workspace, 'BLOCKED.json'));
  await saveState(run, {
    ...counted,
    sequence: counted.sequence + 1,
    budget_warning: warnings.length > 0,
    last_run_id: run.id,
  });
}

async function gatherPrompts(world: World, place: Ready, read: Workspace): Promise<Prompts> {
  const { config, root, named } = place;
  const text = (path: string): string => named.texts.get(path) ?? '';
  const want = async (folder: string, name: string): Promise<string> => {
    const file = await world.files.readText(world.join(folder, name), MAX_PROMPT_FILE);
    return file.found === 'text' ? file.text : '';
  };
  const { orchestrator, builder } = config;
  const history = world.join(place.repository.mainTree, config.history.dir);
  const { last_task_run_id: lastRun } = read.state;
  const last = lastRun === undefined ? '' : await want(world.join(history, lastRun), 'report.md');
  const workspace = workspaceOf(world, place.repository, config);
  return {
    orchestratorSystem: text(orchestrator.system_prompt_file),
    orchestratorUser: text(orchestrator.user_prompt_file),
    builderSystem: text(builder.claude_code.system_prompt_file),
    builderUser: text(builder.claude_code.user_prompt_file),
    taskSchema: text(orchestrator.task_schema_file),
    builderResultSchema: text(builder.claude_code.builder_result_schema_file),
    changedSchemas: named.changedSchemas,
    facts: await want(world.join(root, config.workspace_dir), 'FACTS.md'),
    lastReport: last === '' ? lastWithTask(await want(workspace, 'REPORT.json'), config) : last,
    blocked: read.blocked === undefined ? '' : JSON.stringify(read.blocked),
  };
}

/** Without history, REPORT.json is all there is; it only counts if its tick had a task. */
function lastWithTask(text: string, config: Config): string {
  const parsed = text === '' ? undefined : parseJson(text);
  const report = parsed?.ok ? checkReport(parsed.value) : undefined;
  if (!report?.ok || report.value.task.task_id === NO_TASK.task_id) return '';
  return renderReport(report.value, config.runner.render_report_md.max_chars);
}
