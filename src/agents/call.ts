import type { ChildEnd, ChildRequest } from '../model.js';
import type { Agent, AgentRequest, AgentResult } from './agent.js';

/** The effects a call needs, given by the caller. */
export interface CallEffects {
  readonly run: (request: ChildRequest) => Promise<ChildEnd>;
  readonly writePrivate: (path: string, text: string) => Promise<void>;
}

/** Starts the agent program once, as planned, and returns its typed result. */
export async function callAgent(agent: Agent, request: AgentRequest, effects: CallEffects): Promise<AgentResult> {
  const plan = agent.plan(request);
  for (const file of plan.files) await effects.writePrivate(file.path, file.text);
  const end = await effects.run({
    program: plan.program,
    args: plan.args,
    cwd: request.workTree,
    env: plan.env,
    stdin: plan.stdin,
    timeoutMs: request.timeoutMs,
    stdoutFile: plan.stdoutFile,
    maxOutputBytes: plan.maxOutputBytes,
    stop: plan.stop,
    ...(request.signal && { signal: request.signal }),
  });
  return agent.read(end, request);
}
