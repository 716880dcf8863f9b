import type { AgentRequest } from '../../src/agents/agent.js';
import type { ChildEnd } from '../../src/model.js';

export const SESSION = '11111111-2222-4333-8444-555555555555';
export const NOW = new Date('2026-11-18T06:00:00.000Z');

/** A builder's request; every field can be replaced. */
export function aRequest(changes: Partial<AgentRequest> = {}): AgentRequest {
  return {
    role: 'builder',
    systemPrompt: 'be small',
    userPrompt: '# Task\n\ndo it',
    tools: 'edit',
    model: 'sonnet',
    fallbackModel: 'haiku',
    maxTurns: 8,
    maxCostUsd: 1.5,
    workTree: '/repo',
    timeoutMs: 300_000,
    scratchDir: '/private',
    sessionId: SESSION,
    options: {
      command: 'claude',
      outputFormat: 'json',
      noSessionPersistence: true,
      permissionMode: 'acceptEdits',
      allowedTools: 'Read,Edit,Glob,Grep,Bash',
    },
    env: { PATH: '/usr/bin:/bin' },
    now: () => NOW,
    ...changes,
  };
}

/** The end of a child that exited by itself; every field can be replaced. */
export function anEnd(stdout: string | object, changes: Partial<ChildEnd> = {}): ChildEnd {
  const text = typeof stdout === 'string' ? stdout : JSON.stringify(stdout);
  return {
    how: 'exited',
    exitCode: 0,
    durationMs: 12,
    stdout: Buffer.from(text),
    stderr: Buffer.alloc(0),
    cut: false,
    escapees: [],
    ...changes,
  };
}

/** The result object of a good call; every field can be replaced. */
export function aResult(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    api_error_status: null,
    num_turns: 1,
    result: 'hello',
    terminal_reason: 'completed',
    total_cost_usd: 0.0075,
    usage: { input_tokens: 1000, output_tokens: 100, service_tier: 'standard' },
    permission_denials: [],
    ...changes,
  };
}
