import type { Task } from '../generated/types.js';
import { cut, oneLine } from './text.js';

/** The message of the one commit of an accepted tick, with trailers that tools can read. */
export function commitMessage(given: { task: Task; runId: string; blast: string; costUsd: number }): string {
  const { task } = given;
  return [
    cut(prose(`${task.task_id}: ${task.intent}`), 72),
    '',
    prose(task.intent),
    '',
    `Relais-Run: ${given.runId}`,
    `Relais-Task: ${oneLine(task.task_id)}`,
    'Relais-Verdict: SUCCESS',
    `Relais-Blast-Radius: ${given.blast}`,
    `Relais-Cost-Usd: ${given.costUsd.toFixed(4)}`,
    '',
  ].join('\n');
}

/** One line that git does not take for the end of the message, behind which it looks for no trailers. */
function prose(text: string): string {
  return oneLine(text).replace(/^---/, ' ---');
}
