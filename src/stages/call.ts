import type { AgentRequest, AgentResult } from '../agents/agent.js';
import { callAgent } from '../agents/call.js';
import { agentNamed, type AgentName } from '../agents/registry.js';
import { charge, type Delta } from '../rules/budget.js';
import { checkAgainst, type Checked } from '../schemas.js';
import { saveState, timeLeft, type Run } from './run.js';

const MAX_LOGGED = 8000;

/** What a stage decides about a call; the rest is the same for every role. */
export type Question = Pick<
  AgentRequest,
  | 'role'
  | 'systemPrompt'
  | 'userPrompt'
  | 'tools'
  | 'model'
  | 'fallbackModel'
  | 'maxTurns'
  | 'maxCostUsd'
  | 'outputSchema'
> & { readonly agent: AgentName; readonly permissionMode: string; readonly allowedTools: string };

/**
 * Asks one agent once. The call and its cap are on disk before the program starts; the real cost
 * replaces the cap with the next save. A call whose cost is unknown stays counted at its cap.
 */
export async function ask(run: Run, question: Question, counts: Delta): Promise<AgentResult> {
  const { world } = run;
  const milestone = run.config.project.milestone_id;
  const uncounted = run.state;
  let started = false;
  const request = await requestFor(run, question);
  const result = await callAgent(agentNamed(question.agent), request, {
    run: async (child) => {
      if (!run.signal.aborted)
        await saveState(run, charge(uncounted, milestone, { ...counts, estimated_cost_usd: question.maxCostUsd }));
      return world.spawn.run({ ...child, owner: run.id, onStart: () => (started = true) });
    },
    writePrivate: (path, text) => world.files.writeAtomic(path, text, 0o600),
  });
  // Interrupted before it began, it was no call.
  if (!started && run.signal.aborted) {
    run.state = uncounted;
    return result;
  }
  const countedUsd = take(run, question, result);
  const settled = charge(run.state, milestone, { estimated_cost_usd: countedUsd - question.maxCostUsd });
  const limited = result.kind === 'limited' && result.until !== undefined;
  // Not on disk yet: what the agent did to the runner's files is measured first.
  run.state = limited ? { ...settled, not_before: result.until } : settled;
  return result;
}

async function requestFor(run: Run, question: Question): Promise<AgentRequest> {
  const { world, config } = run;
  const scratchDir = world.join(run.scratch, `call-${run.record.calls.length + 1}`);
  await world.files.ensureDir(scratchDir);
  const { agent: _agent, permissionMode, allowedTools, ...asked } = question;
  return {
    ...asked,
    workTree: run.repository.workTree,
    timeoutMs: timeLeft(run),
    signal: run.signal,
    scratchDir,
    sessionId: world.newSessionId(),
    options: {
      command: run.agentProgram,
      outputFormat: config.claude_code_cli.output_format,
      noSessionPersistence: config.claude_code_cli.no_session_persistence,
      permissionMode,
      allowedTools,
    },
    env: world.env,
    now: () => world.clock.now(),
  };
}

/** Takes a result into the record and the log; says what the call is counted at. */
function take(run: Run, { role, maxCostUsd }: Question, result: AgentResult): number {
  const { log } = run.world;
  const { call, kind } = result;
  const neverStarted = kind === 'failed' && result.class === 'not_started';
  const countedUsd = call.costUsd ?? (neverStarted ? 0 : maxCostUsd);
  run.record.calls.push({ role, result, countedUsd });
  log.info('called', { role, kind, ...call, argv: call.argv.join(' ') });
  if (kind === 'answered') log.info('answered', { role, text: result.text.slice(0, MAX_LOGGED) });
  warnOnce(run, call.notice);
  if (call.denials.length > 0) warnOnce(run, `the agent program refused its ${role}: ${counted(call.denials)}`);
  return countedUsd;
}

function warnOnce(run: Run, warning: string | undefined): void {
  if (warning !== undefined && !run.record.warnings.includes(warning)) run.record.warnings.push(warning);
}

/** `Edit ×2, Bash ×1`. */
function counted(names: readonly string[]): string {
  const all = [...new Set(names)].map((name) => `${name} ×${names.filter((other) => other === name).length}`);
  return all.join(', ');
}

/** Asks the workspace's schema as well, where the user changed it: it can only refuse more. */
export async function checkChanged(run: Run, schema: string, value: unknown): Promise<Checked<unknown>> {
  return run.prompts.changedSchemas.has(schema) ? checkAgainst(schema, value) : { ok: true, value };
}
