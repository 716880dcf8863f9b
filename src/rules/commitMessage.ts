import type { Task } from '../generated/types.js';
import { cut, oneLine } from './text.js';

/** The message of the one commit of an accepted tick, with trailers that tools can read. */
export function commitMessage(given: {
  task: Task;
  runId: string;
  blast: string;
  costUsd: number;
  salvaged?: string | undefined;
}): string {
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
    ...(given.salvaged === undefined ? [] : [`Relais-Salvaged: ${oneLine(given.salvaged)}`]),
    '',
  ].join('\n');
}

/** The message of a commit that takes an accepted tick back. */
export function undoMessage(given: { subject: string; runId: string; undoes: string; commit: string }): string {
  return [
    cut(prose(`Undo "${given.subject}"`), 72),
    '',
    `This takes back commit ${given.commit}.`,
    '',
    `Relais-Run: ${given.runId}`,
    `Relais-Undoes: ${oneLine(given.undoes)}`,
    `Relais-Undone-Commit: ${given.commit}`,
    '',
  ].join('\n');
}

/** One line that git does not take for the end of the message, behind which it looks for no trailers. */
function prose(text: string): string {
  return oneLine(text).replace(/^---/, ' ---');
}
