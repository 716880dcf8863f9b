import type { AgentResult } from '../agents/agent.js';
import type { Task } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { soleObject } from '../rules/answer.js';
import { countersOf, summary, warned } from '../rules/budget.js';
import { JUDGE_ROWS } from '../rules/judge.js';
import { ORCHESTRATE_ROWS, type OrchestrateFacts } from '../rules/orchestrate.js';
import { orchestratorPrompt } from '../rules/prompt.js';
import { effectiveScope, NO_SCOPE, taskProblems } from '../rules/scope.js';
import { decide } from '../rules/table.js';
import { checkTask } from '../schemas.js';
import { ask, checkChanged } from './call.js';
import { judgeFacts } from './judge.js';
import { measure } from './measure.js';
import { repositorySummary } from './repositorySummary.js';
import { saveState, writeOwned, type Baseline, type Run } from './run.js';

type Proposal = { readonly task: Task } | { readonly problems: readonly string[] };

/** Asks the Brain for exactly one task; one more time, with the reason, if its answer is not one. */
export async function orchestrate(run: Run, baseline: Baseline): Promise<Task | Outcome> {
  const retries = run.config.orchestrator.max_parse_retries_per_tick;
  const repoSummary = await repositorySummary(run, baseline);
  let retryReason = '';
  for (let attempt = 0; ; attempt += 1) {
    const result = await askBrain(run, repoSummary, retryReason);
    const changed = await brainTouched(run, baseline);
    if (changed !== undefined) return changed;
    const proposal = result.kind === 'answered' ? await readTask(run, result) : undefined;
    if (proposal !== undefined && 'task' in proposal) return accept(run, proposal.task);
    const facts: OrchestrateFacts = { result, problems: proposal?.problems ?? [], retriesLeft: retries - attempt };
    const fired = decide(ORCHESTRATE_ROWS, facts);
    if (fired !== undefined) return fired.outcome;
    retryReason = facts.problems.join('\n');
    run.record.warnings.push(`the first task was invalid and was asked for again: ${facts.problems[0] ?? ''}`);
    run.world.say('ORCHESTRATE', 'the answer was not a valid task; asking once more');
  }
}

async function askBrain(run: Run, repoSummary: string, retryReason: string): Promise<AgentResult> {
  const { config, prompts, state } = run;
  const { orchestrator, models } = config;
  const counters = countersOf(state, config.project.milestone_id);
  const userPrompt = orchestratorPrompt(prompts.orchestratorUser, {
    config,
    budgets: summary(config, counters),
    budgetCritical: warned(config, counters),
    repoSummary,
    facts: prompts.facts,
    lastReport: prompts.lastReport,
    blocked: prompts.blocked,
    answer: state.answer,
    taskSchema: prompts.taskSchema,
    retryReason,
  });
  return ask(
    run,
    {
      role: 'orchestrator',
      agent: orchestrator.agent,
      systemPrompt: prompts.orchestratorSystem,
      userPrompt,
      tools: 'none',
      model: models.orchestrator_model,
      fallbackModel: models.orchestrator_fallback_model,
      maxTurns: orchestrator.max_turns,
      maxCostUsd: orchestrator.max_budget_usd,
      outputSchema: prompts.taskSchema,
      permissionMode: orchestrator.permission_mode,
      allowedTools: orchestrator.allowed_tools,
    },
    { orchestrator_calls: 1 },
  );
}

/** The Brain has no business in the work tree: whatever it changed is judged against no scope at all. */
async function brainTouched(run: Run, baseline: Baseline): Promise<Outcome | undefined> {
  const forbidden = run.config.scope.default_forbidden_globs;
  // It is called without tools, and what a glance misses is judged with the Hands' work: both are compared with the same baseline.
  const measured = await measure(run, baseline, forbidden, { glance: true });
  const moved = measured.headMovedTo === undefined ? [] : [`HEAD was moved to ${measured.headMovedTo}`];
  const facts = judgeFacts({ measured, scope: { ...NO_SCOPE, forbidden }, taskKind: 'execute' });
  const fired = decide(JUDGE_ROWS, { ...facts, headMovedExternally: moved });
  if (fired === undefined) return undefined;
  run.record.handsStarted = true;
  run.record.measured = measured;
  return outcome(fired.outcome.code, ['the orchestrator changed the repository', ...fired.outcome.evidence]);
}

async function readTask(run: Run, result: Extract<AgentResult, { kind: 'answered' }>): Promise<Proposal> {
  const parsed =
    result.structured === undefined
      ? soleObject(result.text, { allowFence: true })
      : { ok: true as const, value: result.structured };
  if (!parsed.ok) return { problems: parsed.errors };
  const checked = checkTask(parsed.value);
  if (!checked.ok) return { problems: checked.errors };
  const own = await checkChanged(run, run.prompts.taskSchema, parsed.value);
  if (!own.ok) return { problems: own.errors };
  const used = countersOf(run.state, run.config.project.milestone_id).patch_attempts;
  const patchAttemptsLeft = run.config.builder.patch.max_patch_attempts_per_milestone - used;
  const problems = taskProblems(checked.value, run.config, { patchAttemptsLeft });
  return problems.length > 0 ? { problems } : { task: checked.value };
}

/** The answer the operator gave has been received now, and the BLOCKED note shown. */
async function accept(run: Run, task: Task): Promise<Task> {
  run.record.task = task;
  const { answer: _answer, ...state } = run.state;
  await saveState(run, state);
  await writeOwned(run, 'TASK.json', `${JSON.stringify(task, null, 2)}\n`);
  const scope = effectiveScope(run.config, task);
  const limits = task.task_kind === 'execute' ? `: ${scope.maxFiles} files, ${scope.maxLines} lines at most` : '';
  run.world.say('ORCHESTRATE', `${task.task_kind} task ${task.task_id}${limits}`);
  return task;
}
