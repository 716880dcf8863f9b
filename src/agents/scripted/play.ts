import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Flags } from './argv.js';

/** One thing a step does to the work tree; paths are relative to the working folder. */
export type Action =
  | { readonly write: string; readonly text: string }
  | { readonly append: string; readonly text: string }
  | { readonly delete: string }
  | { readonly mkdir: string }
  | { readonly sh: string }
  | { readonly sleep_ms: number };

/** What one call does and says. */
export interface Step {
  readonly do?: readonly Action[];
  /** Any JSON; becomes the result's text, and the structured output where a schema was asked for. */
  readonly answer?: unknown;
  /** The result's text as it is. */
  readonly text?: string;
  /** Laid over the result object. */
  readonly wrapper?: Readonly<Record<string, unknown>>;
  /** Printed instead of any result. */
  readonly raw_stdout?: string;
  readonly exit?: number;
  readonly cost_usd?: number;
  readonly turns?: number;
}

/** The steps of each role, in the order of its calls; the last one repeats. */
export type Scenario = Readonly<Record<string, readonly Step[] | undefined>>;

let running: ChildProcess | undefined;

/** Ends the shell command that is running, with everything in its group. */
export function endRunning(): void {
  if (running?.pid === undefined) return;
  try {
    process.kill(-running.pid, 'SIGKILL');
  } catch (error) {
    // Gone already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Does what the step says, one action after the other. */
export async function perform(actions: readonly Action[], env: NodeJS.ProcessEnv): Promise<void> {
  for (const action of actions) {
    if ('write' in action) {
      mkdirSync(dirname(action.write), { recursive: true });
      writeFileSync(action.write, action.text);
    } else if ('append' in action) {
      appendFileSync(action.append, action.text);
    } else if ('delete' in action) {
      rmSync(action.delete, { recursive: true });
    } else if ('mkdir' in action) {
      mkdirSync(action.mkdir, { recursive: true });
    } else if ('sh' in action) {
      await shell(action.sh, env);
    } else if ('sleep_ms' in action) {
      const { sleep_ms: ms } = action;
      await new Promise((resolve) => setTimeout(resolve, ms));
    } else {
      throw new Error(`unknown action ${JSON.stringify(action)}`);
    }
  }
}

/** Runs a shell command in a session of its own, as the real program does; its failure is told, not fatal. */
function shell(command: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], { env, detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
    running = child;
    child.once('error', reject);
    child.once('exit', (code) => {
      running = undefined;
      if (code !== 0) process.stderr.write(`sh ended with ${code}: ${command.slice(0, 200)}\n`);
      resolve();
    });
  });
}

/** What goes to stdout for a step. */
export function stdoutOf(step: Step, flags: Flags): string {
  if (step.raw_stdout !== undefined) return step.raw_stdout;
  const result = resultOf(step, flags);
  if (flags.outputFormat === 'text') return `${String(result['result'])}\n`;
  if (flags.outputFormat === 'json') return `${JSON.stringify(result)}\n`;
  const events = [
    {
      type: 'system',
      subtype: 'init',
      session_id: flags.sessionId,
      model: flags.model,
      claude_code_version: 'scripted',
    },
    {
      type: 'assistant',
      message: { model: flags.model, content: [{ type: 'text', text: result['result'] }] },
      session_id: flags.sessionId,
    },
    result,
  ];
  return `${events.map((event) => JSON.stringify(event)).join('\n')}\n`;
}

function resultOf(step: Step, flags: Flags): Readonly<Record<string, unknown>> {
  const structured = flags.schema && typeof step.answer === 'object' && step.answer !== null;
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    api_error_status: null,
    num_turns: step.turns ?? 1,
    result: step.text ?? (step.answer === undefined ? '' : JSON.stringify(step.answer)),
    ...(structured && { structured_output: step.answer }),
    stop_reason: 'end_turn',
    terminal_reason: 'completed',
    session_id: flags.sessionId,
    duration_ms: 1,
    total_cost_usd: step.cost_usd ?? 0.01,
    usage: { input_tokens: 1000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 100 },
    permission_denials: [],
    ...step.wrapper,
  };
}

/** The exit code of a step: its own, else 1 where the result reports an error. */
export function exitOf(step: Step): number {
  return step.exit ?? (step.wrapper?.['is_error'] === true ? 1 : 0);
}
