import { parentPort } from 'node:worker_threads';
import { pack, Rows } from './rows.js';
import { fill, foldersAgain, rowsAgain } from './shard.js';
import type { Answer, Order } from './threads.js';

/** One thread of a walk: takes folders from the common list, and keeps what it saw for the looks that follow. */
let kept: { readonly id: number; readonly rows: Rows } | undefined;

function answer(order: Order): Answer {
  if (order.do === 'walk') {
    const rows = new Rows();
    for (;;) {
      const next = order.units[Atomics.add(order.counter, 0, 1)];
      if (next === undefined) break;
      fill(rows, order.root, order.rules, next);
    }
    kept = { id: order.id, rows };
    return { id: order.id, rows: pack(rows) };
  }
  if (kept?.id !== order.id) return { id: order.id };
  const again = { ...order, blocked: [...order.blocked], found: new Map() };
  foldersAgain(kept.rows, again, 0, kept.rows.folders.length);
  rowsAgain(kept.rows, again);
  return { id: order.id, found: again.found };
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.on('message', (order: Order) => parentPort?.postMessage(answer(order)));
