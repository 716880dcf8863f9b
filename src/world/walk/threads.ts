import { existsSync } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Packed, Rules } from './rows.js';
import type { Differences } from './shard.js';

export type Order = { readonly id: number; readonly root: string; readonly rules: Rules } & (
  | { readonly do: 'walk'; readonly units: readonly string[]; readonly counter: Int32Array }
  | {
      readonly do: 'again';
      readonly trustedUntilMs: number;
      readonly blocked: readonly string[];
      readonly glance: boolean;
    }
);

/** Neither rows nor differences: the thread no longer knows this walk. */
export interface Answer {
  readonly id: number;
  readonly rows?: Packed;
  readonly found?: Differences;
}

/** Threads that look at files beside the main one. */
export interface Threads {
  readonly count: number;
  /** Given to all at once; every thread answers for itself. */
  give(order: Order): Promise<Answer | undefined>[];
}

const MOST = 3;
const BUILT = fileURLToPath(new URL('walk-worker.js', import.meta.url));
const none: Threads = { count: 0, give: () => [] };
const started = new Map<string, Threads>();

/** The threads of this process, started with the first question; none where the build or a second processor is missing. */
export function threads(file = BUILT): Threads {
  const known = started.get(file);
  if (known !== undefined) return known;
  const count = Math.min(MOST, os.availableParallelism() - 1);
  const made = count < 1 || !existsSync(file) ? none : start(file, count);
  started.set(file, made);
  return made;
}

function start(file: string, count: number): Threads {
  const workers = Array.from({ length: count }, () => {
    // What the agents may preload into node is none of a walk's business.
    const worker = new Worker(file, { execArgv: [], env: {} });
    // An idle thread must not keep the process alive.
    worker.unref();
    return worker;
  });
  return { count, give: (order) => workers.map((worker) => ask(worker, order)) };
}

/** The thread's answer, or undefined where it died: then the main thread does the work itself. */
function ask(worker: Worker, order: Order): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const done = (answer?: Answer): void => {
      worker.off('message', hear).off('error', fail).off('exit', fail).unref();
      resolve(answer);
    };
    const fail = (): void => done();
    const hear = (answer: Answer): void => {
      if (answer.id === order.id) done(answer);
    };
    worker.ref();
    worker.on('message', hear).once('error', fail).once('exit', fail);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage(order);
  });
}
