import { CODES, type Code } from '../generated/codes.js';
import type { Refusal } from './salvage.js';
import { oneLine, visible } from './text.js';

const SUBJECT = 'relais: rejected work of ';
const DAY_MS = 24 * 60 * 60 * 1000;

/** What the message of a rejected commit tells; undefined where it is another kind of commit. */
export function readRejectedMessage(message: string): { readonly code?: Code } | undefined {
  if (!message.startsWith(SUBJECT)) return undefined;
  const code = CODES.find((known) => message.split('\n').includes(known));
  return code === undefined ? {} : { code };
}

/** When a run began, by its id; undefined where the id is none of ours. */
export function startOf(runId: string): Date | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/.exec(runId);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Whether something of that time is older than so many days. What has no time is only old enough for 0. */
export function olderThan(when: string | null, days: number, now: Date): boolean {
  if (days === 0) return true;
  return when !== null && now.getTime() - Date.parse(when) > days * DAY_MS;
}

/** The one run that a whole id or a prefix stands for. */
export function pickRun<T extends { readonly run_id: string }>(
  runs: readonly T[],
  asked: string,
  list: string,
): T | Refusal {
  const exact = runs.find(({ run_id }) => run_id === asked);
  if (exact !== undefined) return exact;
  const found = runs.filter(({ run_id }) => asked !== '' && run_id.startsWith(asked));
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  const shown = visible(oneLine(asked));
  if (first === undefined)
    return { refused: `there is no run "${shown}" here`, remedy: `${list} lists the runs there are.`, usage: true };
  const names = found.slice(0, 5).map(({ run_id }) => visible(run_id));
  const more = found.length > names.length ? `, and ${found.length - names.length} more` : '';
  return {
    refused: `"${shown}" can mean ${names.join(', ')}${more}`,
    remedy: 'Give more of the id.',
    usage: true,
  };
}

/** Which runs are taken back, of Relais' commits given newest first; an undo that was taken back itself counts for nothing. */
export function undoneRuns(
  commits: readonly { readonly runId: string; readonly undoes?: string }[],
): ReadonlyMap<string, string> {
  const undone = new Map<string, string>();
  for (const { runId, undoes } of commits) {
    if (undoes !== undefined && !undone.has(runId)) undone.set(undoes, runId);
  }
  return undone;
}
