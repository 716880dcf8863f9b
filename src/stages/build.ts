import type { Task } from '../generated/types.js';
import type { Outcome } from '../outcome.js';
import { soleObject } from '../rules/answer.js';
import { BUILD_ROWS, type BuildFacts } from '../rules/build.js';
import { charge } from '../rules/budget.js';
import { builderPrompt } from '../rules/prompt.js';
import { effectiveScope } from '../rules/scope.js';
import { decide } from '../rules/table.js';
import { checkBuilderResult } from '../schemas.js';
import { ask, checkChanged } from './call.js';
import { saveState, type Run } from './run.js';
import { compareSettings, userSettings } from './userSettings.js';

/** Lets the Hands carry the task out, once. The outcome, if any, is final only after judging. */
export async function build(run: Run, task: Task): Promise<Outcome | undefined> {
  const facts = task.builder.mode === 'patch' ? await applyPatch(run, task) : await callBuilder(run, task);
  return decide(BUILD_ROWS, facts)?.outcome;
}

async function applyPatch(run: Run, task: Task): Promise<BuildFacts> {
  await saveState(run, charge(run.state, run.config.project.milestone_id, { patch_attempts: 1 }));
  const patch = task.builder.patch ?? '';
  const checked = await run.git.applyPatch(patch, { check: true });
  const applied = checked.ok ? await run.git.applyPatch(patch, { check: false }) : checked;
  return { mode: 'patch', applied: applied.ok, why: applied.stderr };
}

async function callBuilder(run: Run, task: Task): Promise<BuildFacts> {
  const { config, prompts } = run;
  const { claude_code: settings } = config.builder;
  const settingsBefore = await userSettings(run);
  const result = await ask(
    run,
    {
      role: 'builder',
      agent: config.builder.agent,
      systemPrompt: prompts.builderSystem,
      userPrompt: builderPrompt(prompts.builderUser, {
        config,
        task,
        scope: effectiveScope(config, task),
        schema: prompts.builderResultSchema,
      }),
      tools: task.task_kind === 'execute' ? 'edit' : 'read',
      model: config.models.builder_model,
      fallbackModel: config.models.builder_fallback_model,
      maxTurns: Math.min(task.builder.max_turns, settings.max_turns),
      maxCostUsd: settings.max_budget_usd,
      permissionMode: settings.permission_mode,
      allowedTools: settings.allowed_tools,
    },
    { builder_calls: 1 },
  );
  await compareSettings(run, settingsBefore);
  if (result.kind !== 'answered') return { mode: 'agent', result, problems: [] };
  const parsed =
    result.structured === undefined
      ? soleObject(result.text, { allowFence: !settings.strict_builder_json })
      : { ok: true as const, value: result.structured };
  const checked = parsed.ok ? checkBuilderResult(parsed.value) : parsed;
  const own = checked.ok ? await checkChanged(run, prompts.builderResultSchema, checked.value) : checked;
  run.record.builderOutputValid = checked.ok && own.ok;
  if (checked.ok) run.record.builderResult = checked.value;
  return { mode: 'agent', result, problems: own.ok ? [] : own.errors };
}
