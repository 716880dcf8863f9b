import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { brokenFiles, litter, PRELOAD, relais, restore, run, spending, userState } from './ground.mjs';

const TYPED = new Set([0, 1, 2, 3, 130, 143]);

/** The steps of a command when nothing goes wrong, in order. */
export async function trace(ground, template, args = ground.scenario.command) {
  await prepare(ground, template, args);
  const file = path.join(ground.folder, 'trace.ndjson');
  const end = await struck(ground, args, { RELAIS_FAULT_TRACE: file });
  const exit = args[0] === 'run' ? ground.scenario.exit : 0;
  if (end.exit !== exit) throw new Error(`the traced command ended with ${end.exit}: ${end.stderr}`);
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The ground as the command finds it: for `recover` a tick is killed first, when its Hands have done everything. */
async function prepare(ground, template, args) {
  restore(ground, template);
  if (args[0] !== 'recover') return;
  ground.judged ??= await firstOfJudge(ground, template);
  restore(ground, template);
  const end = await struck(ground, ['run', '--json'], { RELAIS_FAULT: `${ground.judged}:before:SIGKILL` });
  if (end.exit !== 'SIGKILL') throw new Error(`the tick was not killed: ${end.exit}`);
}

async function firstOfJudge(ground, template) {
  const points = await trace(ground, template, ['run', '--json']);
  return points.find(({ phase }) => phase === 'JUDGE').point;
}

function struck(ground, args, over) {
  return relais(ground, args, { nodeArgs: ['--require', PRELOAD], over });
}

/**
 * Lets one step go wrong, then does what a user would: run again, and follow the one remedy that is given. Says how it
 * went and what was lost; nothing should be.
 */
export async function play(ground, template, before, one) {
  const { point, side, fault } = one;
  await prepare(ground, template, ground.scenario.command);
  const problems = [];
  const hit = await struck(ground, ground.scenario.command, { RELAIS_FAULT: `${point}:${side}:${fault}` });
  const end = hit.exit === fault ? 'killed' : codeOf(hit);
  if (end !== 'killed' && !isTyped(ground, hit, one)) problems.push(`exit ${hit.exit}: ${hit.stderr.slice(-600)}`);
  problems.push(...brokenFiles(ground).map((text) => `after the fault ${text}`));
  const left = userState(ground);
  const { next, way } = await goOn(ground, before, left, problems);
  if (codeOf(next) !== ground.scenario.code || next.exit !== ground.scenario.exit)
    problems.push(`the next tick ended with ${codeOf(next)}: ${next.stderr.slice(-600)}`);
  problems.push(...brokenFiles(ground), ...litter(ground), ...accounts(ground, one));
  return { end, way, problems };
}

/** A tick ends with a code. Before it has asked for the lock, and in `recover`, there is none: the reason and a remedy are told. */
function isTyped({ scenario }, { exit, stdout }, { phase, fault }) {
  const noTick = scenario.interrupted === true || phase === 'START';
  if (!TYPED.has(exit) && !(noTick && exit === 70 && fault === 'exception')) return false;
  try {
    const { code, why, remedy, left } = JSON.parse(stdout);
    if (typeof code === 'string') return /^(?:SUCCESS$|STOP_|BLOCKED_)/.test(code);
    return noTick && (Array.isArray(left) || (typeof why === 'string' && typeof remedy === 'string'));
  } catch {
    return false;
  }
}

/** Runs again and, where that is the remedy, recovers first. */
async function goOn(ground, before, left, problems) {
  const again = await relais(ground, ['run', '--json']);
  if (codeOf(again) !== 'BLOCKED_CRASH_RECOVERY_REQUIRED') {
    problems.push(...differences(before, left).map((text) => `nothing had to be recovered, but ${text}`));
    return { next: again, way: 'run' };
  }
  if (!again.stdout.includes('relais recover')) problems.push('the remedy does not name `relais recover`');
  const recovered = await relais(ground, ['recover', '--json']);
  if (recovered.exit !== 0)
    problems.push(
      `recover ended with ${recovered.exit}: ${recovered.stdout.slice(-600)}${recovered.stderr.slice(-600)}`,
    );
  problems.push(...differences(before, userState(ground)).map((text) => `after recover ${text}`));
  return { next: await relais(ground, ['run', '--json']), way: 'recover, run' };
}

function codeOf({ exit, stdout, stderr }) {
  try {
    const { code, why } = JSON.parse(stdout);
    return code ?? why ?? `exit ${exit}`;
  } catch {
    return `exit ${exit} without an object: ${stderr.slice(-300)}`;
  }
}

/** How the user's state differs from the one before the tick and, where a tick may succeed, from the one after it. */
function differences({ base, done }, now) {
  const from = (wanted) => {
    const found = [];
    for (const key of new Set([...Object.keys(wanted), ...Object.keys(now)]))
      if (!same(key, wanted[key], now[key]))
        found.push(`${key} is ${now[key] ?? 'gone'}, not ${wanted[key] ?? 'absent'}`);
    return found;
  };
  const one = from(base);
  if (one.length === 0 || done === undefined) return one;
  const other = from(done);
  return other.length < one.length ? other : one;
}

/** Two accepted ticks differ only in their commit and in the one line the Hands write. */
function same(key, wanted, now) {
  if (wanted === undefined || now === undefined) return wanted === now;
  if (wanted.done === undefined) return wanted === now;
  return wanted.done.test(now);
}

/** The states a user may find: as before the tick, or with all of it done. */
export async function states(ground, template) {
  restore(ground, template);
  const base = userState(ground);
  if (ground.name !== 'success') return { base };
  await relais(ground, ['run', '--json']);
  const done = userState(ground);
  // The commit's id tells of the time, the content of `src/a.js` how many calls there were.
  const any = (text, pattern, by) => ({ done: new RegExp(`^${escaped(text).replace(pattern, by)}$`) });
  done['src/a.js'] = any(done['src/a.js'], /[0-9a-f]{16}$/, '[0-9a-f]{16}');
  done.refs = any(done.refs, /(refs\/heads\/main )[0-9a-f]+/, '$1[0-9a-f]+');
  done.index = any(done.index, /[0-9a-f]{40}( 0\tsrc\/a)/, '[0-9a-f]{40}$1');
  return { base, done };
}

function escaped(text) {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&');
}

/** Every call is counted once, the work of every call is somewhere, and git's objects hang together. */
function accounts(ground, { phase, fault }) {
  const { brain, hands, edited, state } = spending(ground);
  const [counted] = state.milestones;
  const problems = [];
  // A call is counted just before it starts: killed between the two, it is counted and was not made.
  const spare = fault !== 'SIGTERM' && (phase === 'ORCHESTRATE' || phase === 'BUILD') ? 1 : 0;
  for (const { name, made, count } of [
    { name: 'Brain', made: brain, count: counted.orchestrator_calls },
    { name: 'Hands', made: hands, count: counted.builder_calls },
  ])
    if (count < made || count > made + spare)
      problems.push(`${count} calls of the ${name} are counted, ${made} were made`);
  const git = (...args) => run(ground, 'git', ...args).trim();
  const commits = Number(git('rev-list', '--count', 'main')) - 1;
  const rejected = rejectedRuns(ground, git);
  if (commits + rejected < edited)
    problems.push(`the Hands worked ${edited} times; ${commits} commits, ${rejected} rejected works`);
  try {
    git('fsck', '--no-progress', '--connectivity-only', '--no-dangling');
  } catch (error) {
    problems.push(`git fsck: ${error.stderr}`);
  }
  if (existsSync(path.join(ground.repo, '.git', 'index.lock'))) problems.push('git’s index.lock is left over');
  return problems;
}

/** Refused work is a commit or, where git could not keep it, a folder of files. */
function rejectedRuns({ folder }, git) {
  const runs = new Set(git('for-each-ref', '--format=%(refname:lstrip=3)', 'refs/relais/rejected').split('\n'));
  for (const own of readdirSync(path.join(folder, 'state'))) {
    const apart = path.join(folder, 'state', own, 'rejected');
    for (const run of existsSync(apart) ? readdirSync(apart) : []) runs.add(run);
  }
  runs.delete('');
  return runs.size;
}
