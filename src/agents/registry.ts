import type { Agent } from './agent.js';
import { claude } from './claude.js';
import { createScripted } from './scripted.js';

/** The names a config may give. */
export type AgentName = 'claude' | 'scripted';

const AGENTS: Readonly<Record<AgentName, () => Agent>> = { claude: () => claude, scripted: () => createScripted() };

/** The adapter of that name. */
export function agentNamed(name: AgentName): Agent {
  return AGENTS[name]();
}
