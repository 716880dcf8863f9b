// Lets every step of a tick go wrong once and follows the remedy: `npm run test:faults -- --help`.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { CLI, makeGround, SCENARIOS } from './faults/ground.mjs';
import { play, states, trace } from './faults/play.mjs';
import { FAULTS, writeTable } from './faults/table.mjs';
import { remove } from './bench/scratch.mjs';

const HELP = `npm run test:faults -- [options]
  --sample N     so many cases of each scenario, chosen by the seed, instead of all
  --seed N       chooses the sample (1)
  --scenario S   ${Object.keys(SCENARIOS).join(', ')}; all unless given
  --only CASE    one case, as it is printed: point:side:fault
  --points A-B   only these points
  --phases LIST  only these phases, for example JUDGE,SETTLE
  --jobs N       so many at once (as there are processors)
  --out FILE     the results as JSON
  --docs         write the matrix into docs/crash-safety.md
  --from FILES   take the results of earlier runs (--out) instead; of a case that was played again the last one counts
`;

/** Ctrl-C lets the cases under way end, and tells what was found so far. */
let stopped = false;
process.once('SIGINT', () => (stopped = true));

function options() {
  const text = { type: 'string' };
  const { values } = parseArgs({
    options: {
      sample: text,
      seed: { ...text, default: '1' },
      scenario: text,
      only: text,
      points: text,
      phases: text,
      jobs: text,
      out: text,
      docs: { type: 'boolean' },
      from: text,
      help: { type: 'boolean' },
    },
  });
  return values;
}

/** Every point before and after, with every fault that makes sense there. */
function cases(points) {
  return points.flatMap((one) =>
    ['before', 'after'].flatMap((side) =>
      FAULTS.filter((fault) => makesSense(one, side, fault)).map((fault) => ({ ...one, side, fault })),
    ),
  );
}

function makesSense({ kind, writes }, side, fault) {
  if (fault === 'ENOSPC') return writes;
  // Nothing of ours is called when a child has ended.
  if (fault === 'exception') return kind !== 'end';
  // A signal is heard when the step has been done, on whichever side of it it was sent.
  return fault !== 'SIGTERM' || side === 'before';
}

/** A shuffled part of the list, the same for the same seed. */
function sampled(list, count, seed) {
  let state = seed;
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
  return list
    .map((item) => [random(), item])
    .toSorted(([one], [other]) => one - other)
    .slice(0, count)
    .map(([, item]) => item);
}

async function worker(folder, name, queue, found) {
  const ground = makeGround(folder, name);
  const template = `${folder}.template`;
  cpSync(folder, template, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  const before = await states(ground, template);
  if (queue.points === undefined) queue.fill(await trace(ground, template));
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    const result = { scenario: name, ...next, ...(await play(ground, template, before, next)) };
    found.push(result);
    if (result.problems.length > 0) tellLoss(result);
    if (found.length % 100 === 0) process.stderr.write(`${found.length} done, ${lossesOf(found)} with losses\n`);
  }
}

function tellLoss({ scenario, point, side, fault, phase, kind, what, end, way, problems }) {
  const list = problems.map((text) => `  - ${text}\n`).join('');
  process.stderr.write(
    `LOSS ${scenario} ${point}:${side}:${fault} (${phase} ${kind} ${what})\n  ended: ${end}; then: ${way}\n${list}`,
  );
}

function lossesOf(found) {
  return found.filter(({ problems }) => problems.length > 0).length;
}

async function playAll(root, name, given, found) {
  const jobs = Number(given.jobs ?? os.availableParallelism());
  let list = [];
  const queue = {
    points: undefined,
    fill(points) {
      queue.points = points;
      list = cases(points);
      const [first, last] = (given.points ?? `1-${points.length}`).split('-').map(Number);
      const phases = given.phases?.split(',');
      list = list.filter(({ point, phase }) => point >= first && point <= last && (phases?.includes(phase) ?? true));
      if (given.only !== undefined)
        list = list.filter(({ point, side, fault }) => given.only === `${point}:${side}:${fault}`);
      else if (given.sample !== undefined) list = sampled(list, Number(given.sample), Number(given.seed));
    },
    take: () => (stopped ? undefined : list.shift()),
  };
  const folder = (number) => {
    const made = path.join(root, `${name}${number}`);
    mkdirSync(made);
    return made;
  };
  // The first one traces the tick; its points are everybody's.
  const first = worker(folder(0), name, queue, found);
  while (queue.points === undefined) await Promise.race([first, new Promise((go) => setTimeout(go, 50))]);
  await Promise.all([
    first,
    ...Array.from({ length: jobs - 1 }, (_, number) => worker(folder(number + 1), name, queue, found)),
  ]);
  return queue.points.length;
}

async function playScenarios(given) {
  if (!existsSync(CLI)) throw new Error('there is no dist/cli.js; run `npm run build`');
  const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'relais-faults-')));
  const found = [];
  let points = 0;
  try {
    for (const name of given.scenario === undefined ? Object.keys(SCENARIOS) : [given.scenario])
      points += await playAll(root, name, given, found);
  } finally {
    remove(root);
  }
  return { points, found };
}

function readResults(files) {
  const cases = new Map();
  const points = new Set();
  for (const file of files)
    for (const result of JSON.parse(readFileSync(file, 'utf8')).results) {
      const { scenario, point, side, fault } = result;
      points.add(`${scenario} ${point}`);
      cases.set(`${scenario} ${point} ${side} ${fault}`, result);
    }
  return { points: points.size, found: [...cases.values()] };
}

async function main() {
  const given = options();
  if (given.help) {
    process.stdout.write(HELP);
    return;
  }
  const { points, found } = given.from === undefined ? await playScenarios(given) : readResults(given.from.split(','));
  if (given.out !== undefined) writeFileSync(given.out, JSON.stringify({ points, results: found }));
  if (given.docs) writeTable(points, found);
  const losses = lossesOf(found);
  process.stdout.write(
    `fault matrix: ${points} points, ${FAULTS.length} faults, ${found.length} runs, ${losses} losses\n`,
  );
  if (losses > 0 || found.length === 0) process.exitCode = 1;
}

await main();
