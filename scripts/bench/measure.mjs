import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { writeAgents, writeHands } from './agents.mjs';
import { benchEnv, makeRepository, trackedPath } from './scratch.mjs';
import { median, medians, phasesOf, round, timed } from './timing.mjs';

/** Runs all measures in turn, round after round, so that a slow moment of the machine hits them alike. */
async function rounds(measures, runs) {
  const samples = Object.fromEntries(Object.keys(measures).map((name) => [name, []]));
  for (let turn = 0; turn <= runs; turn += 1) {
    for (const [name, measure] of Object.entries(measures)) {
      const sample = await measure(turn);
      // The first one only warms up.
      if (turn > 0) samples[name].push(sample);
    }
  }
  return samples;
}

function summary(samples) {
  return Object.fromEntries(
    Object.entries(samples).map(([name, list]) => {
      const times = list.map((sample) => sample.ms);
      return [
        name,
        { median_ms: round(median(times)), min_ms: round(Math.min(...times)), max_ms: round(Math.max(...times)) },
      ];
    }),
  );
}

function ratios(times, pairs) {
  return Object.fromEntries(
    pairs.map(([one, other]) => [`${one} / ${other}`, round(times[one].median_ms / times[other].median_ms)]),
  );
}

/** What starting costs, without any repository. */
export async function measureStart({ cli, env, signal, runs }, cwd) {
  const node = (...args) => timed([process.execPath, ...args], { cwd, env, signal });
  // Quick to run and easily disturbed: more runs than the others get.
  const samples = await rounds(
    {
      'node -e 0': () => node('-e', '0'),
      'relais --version': () => node(cli, '--version'),
      'relais --help': () => node(cli, '--help'),
    },
    Math.max(runs, 3) * (runs > 1 ? 3 : 1),
  );
  const times = summary(samples);
  const pairs = ['relais --version', 'relais --help'].map((name) => [name, 'node -e 0']);
  return { times, ratios: ratios(times, pairs) };
}

/** What a preflight and whole ticks cost in a repository of this many files. */
export async function measureRepository(common, folder) {
  const { files, cli, agent, sample, signal, runs, tell } = common;
  const env = benchEnv(folder);
  tell(`${files} files: making the repository`);
  writeAgents(folder, sample);
  const repo = await makeRepository(folder, { files, cli, agent, sample: sample.config, env, signal });
  const bench = { ...common, env, folder, repo };
  tell(`${files} files: ${runs} runs`);
  const samples = await rounds(
    {
      'node -e 0': () => timed([process.execPath, '-e', '0'], { cwd: repo, env, signal }),
      'git status': () => timed(['git', 'status'], { cwd: repo, env, signal }),
      'git add + commit': (turn) => gitCommit(bench, turn),
      'relais status --preflight': () =>
        timed([process.execPath, cli, 'status', '--preflight'], { cwd: repo, env, signal }),
      'tick SUCCESS': (turn) => tick(bench, { turn: `success_${turn}`, rogue: false }),
      'tick STOP': (turn) => tick(bench, { turn: `stop_${turn}`, rogue: true }),
    },
    runs,
  );
  const times = summary(samples);
  const pairs = ['relais status --preflight', 'tick SUCCESS', 'tick STOP'].flatMap((name) => [
    [name, 'git status'],
    ...(name.startsWith('tick') ? [[name, 'git add + commit']] : []),
    [name, 'node -e 0'],
  ]);
  return {
    files,
    times,
    ratios: ratios(times, pairs),
    phases_ms: {
      success: medians(samples['tick SUCCESS'].map(phasesOf)),
      stop: medians(samples['tick STOP'].map(phasesOf)),
    },
    ...(await count(bench)),
  };
}

/** The same three edits as in a tick, committed by hand. */
async function gitCommit({ repo, env, signal, files }, turn) {
  for (const n of [0, Math.floor(files / 2 / 50) * 50, files - 3])
    writeFileSync(path.join(repo, trackedPath(n)), `export const turn = hand_${turn};\n`);
  return timed(['sh', '-c', 'git add -A && git commit --quiet -m "By hand"'], { cwd: repo, env, signal });
}

/** One whole `relais run`; a tick that ends otherwise than meant is no measurement. */
async function tick({ cli, repo, env, signal, folder, files }, { turn, rogue, nodeArgs = [], over = {} }) {
  writeHands(folder, { files, turn, rogue });
  const argv = [process.execPath, ...nodeArgs, cli, 'run', '--json'];
  const run = await timed(argv, { cwd: repo, env: { ...env, ...over }, signal, exit: rogue ? 2 : 0 });
  const { code, report } = JSON.parse(run.stdout);
  const wanted = rogue ? 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED' : 'SUCCESS';
  const touched = report?.blast_radius.files_touched;
  if (code !== wanted || touched !== (rogue ? 6 : 3))
    throw new Error(`the tick ended with ${code}, ${touched} files touched`);
  // Also refreshes git's index, as a person's next look would.
  const { stdout } = await timed(['git', 'status', '--porcelain'], { cwd: repo, env, signal });
  if (stdout !== '') throw new Error(`the tick left the repository dirty:\n${stdout.slice(0, 500)}`);
  return run;
}

/** One more tick of each kind, not timed: how many git processes it starts, and the runner's peak memory. */
async function count(bench) {
  const { folder, env, signal } = bench;
  const bin = path.join(folder, 'bin');
  const [log, peak] = [path.join(folder, 'git.log'), path.join(folder, 'peak')];
  const real = (await timed(['sh', '-c', 'command -v git'], { cwd: folder, env, signal })).stdout.trim();
  mkdirSync(bin);
  writeFileSync(path.join(bin, 'git'), `#!/bin/sh\necho "$*" >>"\${0%/bin/git}/git.log"\nexec '${real}' "$@"\n`);
  chmodSync(path.join(bin, 'git'), 0o755);
  const hook = `import { writeFileSync } from 'node:fs'; process.on('exit', () => writeFileSync(${JSON.stringify(peak)}, String(process.resourceUsage().maxRSS)));`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const found = { git_processes: {}, peak_memory_mb: {} };
  for (const [name, rogue] of [
    ['success', false],
    ['stop', true],
  ]) {
    rmSync(log, { force: true });
    await tick(bench, {
      turn: `counted_${name}`,
      rogue,
      nodeArgs,
      over: { PATH: `${bin}${path.delimiter}${env.PATH}` },
    });
    found.git_processes[name] = readFileSync(log, 'utf8').trimEnd().split('\n').length;
    found.peak_memory_mb[name] = Math.round(Number(readFileSync(peak, 'utf8')) / 1024);
  }
  return found;
}
