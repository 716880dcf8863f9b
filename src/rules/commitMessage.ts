import type { Task } from '../generated/types.js';
import { cut, oneLine } from './text.js';

/** The message of the one commit of an accepted tick, with trailers that tools can read. */
export function commitMessage(given: { task: Task; runId: string; blast: string; costUsd: number }): string {
  const { task } = given;
  return [
    cut(`${oneLine(task.task_id)}: ${oneLine(task.intent)}`, 72),
    '',
    oneLine(task.intent),
    '',
    `Relais-Run: ${given.runId}`,
    `Relais-Task: ${oneLine(task.task_id)}`,
    'Relais-Verdict: SUCCESS',
    `Relais-Blast-Radius: ${given.blast}`,
    `Relais-Cost-Usd: ${given.costUsd.toFixed(4)}`,
    '',
  ].join('\n');
}
