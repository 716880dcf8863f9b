import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { trackedPath } from './scratch.mjs';

// Answers at once, so that what is left of the tick's time is the runner's own.
const INSTANT = `#!/bin/sh
case "$*" in
  *"--permission-mode plan"*) cat "$RELAIS_BENCH_DIR/brain.json" ;;
  *) . "$RELAIS_BENCH_DIR/hands.sh" && cat "$RELAIS_BENCH_DIR/hands.json" ;;
esac
`;

/** Writes the agents of a bench repository: a few lines of shell, and the same play for the scripted agent. */
export function writeAgents(folder, sample) {
  const limits = { max_files_touched: 10, max_lines_changed: 400 };
  const task = { ...sample.task, diff_limits: limits, verification: { fast: ['check'], slow: [] } };
  const put = (name, text) => writeFileSync(path.join(folder, name), text);
  put('agent.sh', INSTANT);
  chmodSync(path.join(folder, 'agent.sh'), 0o755);
  put('brain.json', answer(task));
  put('hands.json', answer(sample.result));
  const play = { do: [{ sh: '. "$RELAIS_BENCH_DIR/hands.sh"' }], answer: sample.result };
  put('scenario.json', JSON.stringify({ orchestrator: [{ answer: task }], builder: [play] }));
}

function answer(value) {
  const result = { type: 'result', subtype: 'success', is_error: false, num_turns: 1, total_cost_usd: 0 };
  return JSON.stringify({ ...result, result: JSON.stringify(value) });
}

/** What the Hands will do next: three edits, and for a STOP also an edit, a deletion and a file outside of the scope. */
export function writeHands(folder, { files, turn, rogue }) {
  const edited = [0, Math.floor(files / 2 / 50) * 50, files - 3].map(trackedPath);
  const outside = [
    `printf 'changed\\n' >>'${trackedPath(48)}'`,
    `rm '${trackedPath(98)}'`,
    "mkdir -p notes && printf 'new\\n' >notes/new.txt",
  ];
  const steps = [
    ...edited.map((name) => `printf 'export const turn = ${turn};\\n' >'${name}'`),
    ...(rogue ? outside : []),
  ];
  writeFileSync(path.join(folder, 'hands.sh'), `${steps.join('\n')}\n`);
}
