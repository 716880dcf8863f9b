/** What doctor can say about one thing it looked at. */
export type Status = 'ok' | 'warning' | 'failed' | 'unknown';

/** One line of doctor; everything but `ok` carries one remedy. */
export interface Line {
  readonly check: string;
  readonly status: Status;
  readonly text: string;
  readonly remedy?: string;
}

/** A thing that is fine. */
export function fine(check: string, text: string): Line {
  return { check, status: 'ok', text };
}

/** A thing that is not fine, or not known, and what to do about it. */
export function line(check: string, status: Exclude<Status, 'ok'>, text: string, remedy: string): Line {
  return { check, status, text, remedy };
}
