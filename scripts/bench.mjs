// Measures Relais against git and bare node in one run and prints ratios: `npm run bench -- --help`.
import { existsSync, mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureRepository, measureStart } from './bench/measure.mjs';
import { render, withTargets } from './bench/render.mjs';
import { benchEnv, copyPackage, readSample, remove } from './bench/scratch.mjs';
import { timed } from './bench/timing.mjs';

const HELP = `npm run bench -- [options]
  --files LIST   sizes of the scratch repositories (100,20000,100000)
  --runs N       measured runs of everything, after one that is not counted (5)
  --agent NAME   instant: a few lines of shell; scripted: the stand-in of the fixtures, a node program (instant)
  --json         one JSON object on stdout
`;
const root = fileURLToPath(new URL('..', import.meta.url));

function options() {
  const { values } = parseArgs({
    options: {
      files: { type: 'string', default: '100,20000,100000' },
      runs: { type: 'string', default: '5' },
      agent: { type: 'string', default: 'instant' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const sizes = values.files.split(',').map(Number);
  const runs = Number(values.runs);
  if (sizes.some((size) => !Number.isInteger(size) || size < 100)) throw new TypeError('--files: numbers from 100 on');
  if (!Number.isInteger(runs) || runs < 1) throw new TypeError('--runs: a number from 1 on');
  if (!['instant', 'scripted'].includes(values.agent)) throw new TypeError('--agent: instant or scripted');
  return { ...values, sizes, runs };
}

async function bench(given, folder, signal) {
  const tell = (line) => process.stderr.write(`${line}\n`);
  const load_before = Math.round(os.loadavg()[0] * 100) / 100;
  const env = benchEnv(folder);
  const cli = copyPackage(root, path.join(folder, 'package'));
  const common = { ...given, cli, env, signal, sample: readSample(root), tell };
  const git = (await timed(['git', '--version'], { cwd: folder, env, signal })).stdout.trim();
  const machine = {
    node: process.version,
    git,
    cpus: os.availableParallelism(),
    platform: process.platform,
    load_before,
  };
  tell(`start-up, ${given.runs} runs`);
  const start = await measureStart(common, folder);
  const repositories = [];
  for (const files of given.sizes) {
    const place = path.join(folder, `${files}`);
    mkdirSync(place);
    repositories.push(await measureRepository({ ...common, files }, place));
    remove(place);
  }
  return withTargets({ machine, runs: given.runs, agent: given.agent, start, repositories });
}

async function main() {
  const given = options();
  if (given.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!existsSync(path.join(root, 'dist', 'cli.js'))) throw new Error('there is no dist/cli.js; run `npm run build`');
  const interruption = new AbortController();
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(name, () => {
      process.exitCode = code;
      interruption.abort();
    });
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'relais-bench-')));
  try {
    const found = await bench(given, folder, interruption.signal);
    process.stdout.write(given.json ? `${JSON.stringify(found, null, 2)}\n` : render(found));
  } finally {
    remove(folder);
  }
}

try {
  await main();
} catch (error) {
  process.exitCode ??= error instanceof TypeError ? 64 : 70;
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
}
