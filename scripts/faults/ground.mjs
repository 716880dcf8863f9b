import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchEnv } from '../bench/scratch.mjs';
import { report as isReport, state as isState } from '../../src/generated/validators.js';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
export const CLI = path.join(PACKAGE, 'dist', 'cli.js');
export const PRELOAD = fileURLToPath(new URL('preload.cjs', import.meta.url));

/** Says which call it is, does what the scenario wants, and says when it has done it. */
const AGENT = `#!/bin/sh
case "$*" in
  *"--permission-mode plan"*) echo brain >>"$FAULTS/calls.log"; cat "$FAULTS/brain.json" ;;
  *) echo hands >>"$FAULTS/calls.log"; . "$FAULTS/hands.sh" && echo edited >>"$FAULTS/calls.log" && cat "$FAULTS/hands.json" ;;
esac
`;
const EDIT = 'printf "export const turn = %s;\\n" "$(wc -l <"$FAULTS/calls.log" | tr -d " ")" >src/a.js\n';

const ROGUE = `${EDIT}printf 'changed\\n' >docs/guide.md
rm docs/other.md
printf 'KEY=stolen\\n' >.env
printf 'x\\n' >stray.txt
git config alias.evil '!true'
`;
const STOP = { hands: ROGUE, code: 'STOP_SCOPE_VIOLATION_FORBIDDEN', exit: 2 };

/**
 * What the Hands do, how a tick in which nothing goes wrong ends, and the command that is struck. `recover` is struck
 * after a tick that was killed when the Hands had done all that.
 */
export const SCENARIOS = {
  success: { hands: `${EDIT}printf 'new\\n' >src/new.js\n`, code: 'SUCCESS', exit: 0, command: ['run', '--json'] },
  stop: { ...STOP, command: ['run', '--json'] },
  recover: { ...STOP, command: ['recover', '--json'], interrupted: true },
};

/** A repository of a user with something to lose, after one good tick; everything in one folder. */
export function makeGround(folder, name) {
  const ground = {
    folder,
    repo: path.join(folder, 'repo'),
    env: { ...benchEnv(folder), FAULTS: folder },
    scenario: SCENARIOS[name],
    name,
  };
  mkdirSync(ground.repo);
  writeAgent(folder);
  writeFileSync(path.join(folder, 'calls.log'), '');
  fill(ground);
  writeFileSync(path.join(folder, 'hands.sh'), SCENARIOS.success.hands);
  const first = run(ground, process.execPath, CLI, 'run', '--json');
  if (JSON.parse(first).code !== 'SUCCESS') throw new Error(`the first tick ended with ${first}`);
  run(ground, 'git', 'repack', '-adq');
  run(ground, 'git', 'prune-packed');
  writeFileSync(path.join(folder, 'hands.sh'), ground.scenario.hands);
  return ground;
}

/** Runs a program in the ground to a good end and gives what it printed. */
export function run({ repo, env }, program, ...args) {
  return execFileSync(program, args, { cwd: repo, env, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
}

function fill(ground) {
  const git = (...args) => run(ground, 'git', ...args);
  const put = (file, text, mode = 0o644) => {
    const at = path.join(ground.repo, file);
    mkdirSync(path.dirname(at), { recursive: true });
    writeFileSync(at, text);
    chmodSync(at, mode);
  };
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Ada Example');
  git('config', 'user.email', 'ada@example.com');
  git('config', 'alias.st', 'status');
  git('config', 'gc.auto', '0');
  put('src/a.js', 'export const turn = 0;\n');
  put('src/b.js', 'export {};\n');
  put('docs/guide.md', 'Guide\n');
  put('docs/other.md', 'Other\n');
  put('.gitignore', '.env\nbuild/\n');
  put('run.sh', '#!/bin/sh\n', 0o755);
  run(ground, process.execPath, CLI, 'init', '--yes');
  put('relais.config.json', JSON.stringify(config(ground.folder), null, 2));
  git('add', '-A');
  git('commit', '--quiet', '-m', 'Start');
  git('tag', 'v1');
  git('branch', 'other');
  put('docs/guide.md', 'stashed\n');
  git('stash', 'push', '--quiet');
  git('repack', '-adq');
  put('.git/hooks/pre-push', '#!/bin/sh\nexit 0\n', 0o755);
  put('.env', 'KEY=secret\n', 0o600);
  put('build/out.txt', 'built\n');
}

function writeAgent(folder) {
  const sample = (file) => JSON.parse(readFileSync(path.join(PACKAGE, 'fixtures', 'base', file), 'utf8'));
  const task = { ...sample('task.json'), verification: { fast: ['check'], slow: [] } };
  task.scope = { ...task.scope, allowed_globs: ['src/**'], allow_new_files: true };
  const answer = (value) =>
    JSON.stringify({
      type: 'result',
      subtype: 'success',
      is_error: false,
      num_turns: 1,
      total_cost_usd: 0.25,
      result: JSON.stringify(value),
    });
  writeFileSync(path.join(folder, 'brain.json'), answer(task));
  writeFileSync(path.join(folder, 'hands.json'), answer(sample('result.json')));
  writeFileSync(path.join(folder, 'agent.sh'), AGENT, { mode: 0o755 });
}

function config(folder) {
  const sample = JSON.parse(readFileSync(path.join(PACKAGE, 'fixtures', 'base', 'config.json'), 'utf8'));
  const limits = Object.fromEntries(Object.keys(sample.budgets.per_milestone).map((key) => [key, 1000]));
  return {
    ...sample,
    claude_code_cli: { ...sample.claude_code_cli, command: path.join(folder, 'agent.sh') },
    orchestrator: { ...sample.orchestrator, agent: 'claude' },
    builder: { ...sample.builder, agent: 'claude' },
    verification: { ...sample.verification, templates: [{ id: 'check', cmd: 'test', args: ['-f', 'src/a.js'] }] },
    budgets: { ...sample.budgets, per_milestone: limits },
  };
}

/** Puts the ground back as it was made. */
export function restore({ folder }, template) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  cpSync(template, folder, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}

/** Runs `relais` in the ground; never throws for how it ended. */
export function relais({ repo, env }, args, { nodeArgs = [], over = {} } = {}) {
  return new Promise((resolve) => {
    const options = {
      cwd: repo,
      env: { ...env, ...over },
      encoding: 'utf8',
      maxBuffer: 1e8,
      timeout: 120_000,
      killSignal: 'SIGKILL',
    };
    execFile(process.execPath, [...nodeArgs, CLI, ...args], options, (error, stdout, stderr) => {
      resolve({ exit: error?.signal ?? error?.code ?? 0, stdout, stderr });
    }).stdin?.end();
  });
}

/** Everything of the user's: files with kind, mode and content, refs, index, stash, and git's own settings. */
export function userState({ repo, env }) {
  const state = {};
  const walk = (folder) => {
    for (const name of readdirSync(path.join(repo, folder))) {
      const file = folder === '' ? name : `${folder}/${name}`;
      if (file === '.git' || (folder === 'relais' && RUNTIME.test(name))) continue;
      const stats = lstatSync(path.join(repo, file));
      if (stats.isDirectory()) walk(file);
      else state[file] = describe(path.join(repo, file), stats);
    }
  };
  walk('');
  for (const file of ['config', 'hooks/pre-push', 'info/exclude', 'HEAD']) {
    const stats = lstatSync(path.join(repo, '.git', file), { throwIfNoEntry: false });
    if (stats !== undefined) state[`.git/${file}`] = describe(path.join(repo, '.git', file), stats);
  }
  const git = (...args) => run({ repo, env }, 'git', ...args);
  state.refs = git('for-each-ref', '--format=%(refname) %(objectname)')
    .split('\n')
    .filter((line) => !line.startsWith('refs/relais/'))
    .join('\n');
  state.index = git('ls-files', '--stage', '-v');
  state.status = git('status', '--porcelain');
  state.stash = git('stash', 'list', '--format=%H');
  return state;
}

const RUNTIME = /^(?:STATE|TASK|REPORT|BLOCKED)\.|^(?:lock\.json|history|logs|cycles)|\.tmp$/;

function describe(file, stats) {
  const content = stats.isSymbolicLink() ? readlinkSync(file) : stats.isFile() ? readFileSync(file) : '';
  return `${(stats.mode & 0o170000).toString(8)} ${(stats.mode & 0o7777).toString(8)} ${createHash('sha256').update(content).digest('hex').slice(0, 16)}`;
}

/** What of the runner's own files is not as it should be; a file that is not there is fine. */
export function brokenFiles(ground) {
  return [...broken(ground, 'STATE.json', isState), ...broken(ground, 'REPORT.json', isReport)];
}

function broken({ repo }, name, isValid) {
  const file = path.join(repo, 'relais', name);
  if (!existsSync(file)) return [`${name} is gone`];
  const text = readFileSync(file, 'utf8');
  try {
    return isValid(JSON.parse(text)) ? [] : [`${name} does not match its schema`];
  } catch (error) {
    return [`${name} is not JSON: ${error.message}`];
  }
}

/** What is left over when no tick is under way. */
export function litter({ repo, folder }) {
  const problems = [];
  for (const name of readdirSync(path.join(repo, 'relais')))
    if (/^lock\.json|\.tmp$|\.(?:json|md)\.\d+$/.test(name)) problems.push(`relais/${name} is left over`);
  for (const name of readdirSync(path.join(repo, 'relais', 'history')))
    for (const file of ['report.json', 'meta.json', 'report.md', 'diff.patch', 'verify.log'])
      if (!existsSync(path.join(repo, 'relais', 'history', name, file))) problems.push(`history/${name} lacks ${file}`);
  for (const own of readdirSync(path.join(folder, 'state'))) {
    const dir = path.join(folder, 'state', own);
    if (existsSync(path.join(dir, 'journal.json'))) problems.push('the journal is left over');
    if (existsSync(path.join(dir, 'runs')) && readdirSync(path.join(dir, 'runs')).length > 0)
      problems.push('runs/ is not empty');
    for (const name of readdirSync(dir)) if (/\.tmp$|\.\d+$/.test(name)) problems.push(`state/${name} is left over`);
  }
  return problems;
}

/** Agents that were really started, and what is counted. */
export function spending({ repo, folder }) {
  const lines = readFileSync(path.join(folder, 'calls.log'), 'utf8').split('\n');
  const started = (name) => lines.filter((line) => line === name).length;
  const state = JSON.parse(readFileSync(path.join(repo, 'relais', 'STATE.json'), 'utf8'));
  return { brain: started('brain'), hands: started('hands'), edited: started('edited'), state };
}
