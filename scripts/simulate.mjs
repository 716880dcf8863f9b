// Plays long stories of ticks, kills, recoveries and the user's own work: `npm run test:simulation -- --help`.
import { cpSync, existsSync, mkdtempSync, realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { remove } from './bench/scratch.mjs';
import { CLI, makeGround } from './faults/ground.mjs';
import { generator, playStory, story } from './faults/simulate.mjs';

const HELP = `npm run test:simulation -- [options]
  --steps N   how many steps in all (2000)
  --seed N    chooses the stories (the time)
  --length N  steps of one story; each begins in a fresh repository (50)
`;
/** A shorter story that fails as well is looked for this often. */
const SHRINKS = 25;

function options() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      steps: { ...text, default: '2000' },
      seed: { ...text, default: String(Date.now() % 1_000_000) },
      length: { ...text, default: '50' },
      help: { type: 'boolean' },
    },
  });
  return values;
}

/** Leaves out what the failure does not need. */
async function minimal(ground, template, steps) {
  let best = steps;
  let size = Math.max(1, best.length >> 1);
  for (let tries = 0; tries < SHRINKS && size >= 1; tries += 1) {
    let shorter;
    for (let at = 0; at + size < best.length && shorter === undefined && tries < SHRINKS; at += size, tries += 1) {
      const candidate = [...best.slice(0, at), ...best.slice(at + size)];
      if ((await playStory(ground, template, candidate)) !== undefined) shorter = candidate;
    }
    if (shorter === undefined) size >>= 1;
    else best = shorter;
  }
  return best;
}

function describe({ number, kind, hands, point, side, file }) {
  if (kind === 'edit') return `${number} edit ${file}`;
  if (kind === 'kill' || kind === 'term') return `${number} ${kind} (${hands}) at ${point}:${side}`;
  return kind === 'run' ? `${number} run (${hands})` : `${number} ${kind}`;
}

async function main() {
  const given = options();
  if (given.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!existsSync(CLI)) throw new Error('there is no dist/cli.js; run `npm run build`');
  const [steps, length, seed] = [given.steps, given.length, given.seed].map(Number);
  const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'relais-simulation-')));
  const counts = new Map();
  try {
    const ground = makeGround(path.join(root, 'ground'), 'success');
    const template = path.join(root, 'template');
    cpSync(ground.folder, template, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    const random = generator(seed);
    for (let done = 0; done < steps; done += length) {
      const list = story(Math.min(length, steps - done), random);
      const failed = await playStory(ground, template, list, ({ kind }) =>
        counts.set(kind, (counts.get(kind) ?? 0) + 1),
      );
      if (failed === undefined) continue;
      process.exitCode = 1;
      const shortest = await minimal(ground, template, list.slice(0, list.indexOf(failed.step) + 1));
      process.stdout.write(
        `seed ${seed}, story from step ${done}: ${failed.problems.join('\n  ')}\nminimal trace:\n${shortest.map((step) => `  ${describe(step)}\n`).join('')}`,
      );
      return;
    }
  } finally {
    remove(root);
  }
  const kinds = [...counts].map(([kind, count]) => `${count} ${kind}`);
  process.stdout.write(`simulation: seed ${seed}, ${steps} steps, 0 violations (${kinds.join(', ')})\n`);
}

await main();
