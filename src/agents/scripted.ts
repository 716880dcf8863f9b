import { fileURLToPath } from 'node:url';
import type { Agent } from './agent.js';
import { claude, planClaude } from './claude.js';
import { readClaude } from './claudeOutput.js';

/** Where the built stand-in lies, seen from the source tree or from the bundle. */
export function scriptedProgram(): string {
  const here = fileURLToPath(import.meta.url);
  const root = here.slice(0, Math.max(here.lastIndexOf('/src/'), here.lastIndexOf('/dist/')));
  return `${root}/dist/scripted-agent.js`;
}

/** An agent that plays a scenario file: the command line and output of claude, no model, no cost. */
export function createScripted(program: string = scriptedProgram(), node: string = process.execPath): Agent {
  const plan: Agent['plan'] = (request) => {
    const planned = planClaude(request);
    return {
      ...planned,
      program: node,
      args: [program, ...planned.args],
      env: { ...planned.env, RELAIS_ROLE: request.role },
    };
  };
  return {
    name: 'scripted',
    cannot: ['think: it plays the scenario named by RELAIS_SCENARIO'],
    plan,
    read: (end, request) => {
      const planned = plan(request);
      return readClaude(end, request, { agent: 'scripted', argv: [planned.program, ...planned.args] });
    },
    ...(claude.probe && { probe: claude.probe }),
    ...(claude.settings && { settings: claude.settings }),
  };
}
