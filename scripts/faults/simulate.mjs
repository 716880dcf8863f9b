import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { brokenFiles, PRELOAD, relais, restore, run, SCENARIOS, spending, userState } from './ground.mjs';

const MOST_POINTS = 420;
/** A tick gives one every second, and what changes up to two seconds later is still its own. */
const SIGN_OF_LIFE_MS = 2200;

/** Numbers that look random, the same for the same seed. */
export function generator(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What may happen in a repository, with everything random drawn already: the same list is the same story. */
export function story(length, random) {
  const kinds = [
    ['run', 5],
    ['kill', 5],
    ['term', 2],
    ['recover', 4],
    ['recover --dry-run', 1],
    ['recover killed', 2],
    ['answer', 2],
    ['edit', 3],
    ['commit', 3],
    ['status', 1],
  ].flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  return Array.from({ length }, (_, number) => ({
    number,
    kind: kinds[random(kinds.length)],
    hands: ['success', 'success', 'stop', 'question'][random(4)],
    point: 1 + random(MOST_POINTS),
    side: random(2) === 0 ? 'before' : 'after',
    file: ['docs/guide.md', 'docs/notes.md', 'src/b.js', 'build/out.txt'][random(4)],
  }));
}

/** Plays a story and checks after every step what has to hold always; gives the step and the reason where it does not. */
export async function playStory(ground, template, steps, tell = () => undefined) {
  restore(ground, template);
  const model = { mine: userState(ground), edited: new Set(), open: false, question: false, kills: 0 };
  for (const step of steps) {
    const problems = await take(ground, model, step);
    tell(step, problems);
    if (problems.length > 0) return { step, problems };
  }
  return undefined;
}

async function take(ground, model, step) {
  const act = STEPS[step.kind];
  const problems = await act(ground, model, step);
  problems.push(...brokenFiles(ground), ...ledger(ground, model));
  Object.assign(model, stateOf(ground));
  if (!model.open) problems.push(...strangers(model.mine, userState(ground)));
  return problems;
}

/** What the runner's own files say: whether a tick waits for `recover`, and whether a question waits for an answer. */
function stateOf({ folder, repo }) {
  const [own] = readdirSync(path.join(folder, 'state'));
  const journal = path.join(folder, 'state', own, 'journal.json');
  const open = existsSync(journal) && JSON.parse(readFileSync(journal, 'utf8')).hands_started === true;
  const { pending_question: asked } = JSON.parse(readFileSync(path.join(repo, 'relais', 'STATE.json'), 'utf8'));
  return { open, question: asked !== undefined };
}

const STEPS = {
  async run(ground, model, step) {
    prepare(ground, step.hands);
    const end = await relais(ground, ['run', '--json']);
    return judge(ground, model, step, end);
  },
  kill: (ground, model, step) => struck(ground, model, step, 'SIGKILL'),
  term: (ground, model, step) => struck(ground, model, step, 'SIGTERM'),
  async recover(ground) {
    const end = await relais(ground, ['recover', '--json']);
    return end.exit === 0 ? [] : [`recover ended with ${end.exit}: ${end.stdout}${end.stderr}`];
  },
  async 'recover --dry-run'(ground) {
    const before = JSON.stringify(userState(ground));
    const end = await relais(ground, ['recover', '--dry-run', '--json']);
    const problems = end.exit === 0 ? [] : [`recover --dry-run ended with ${end.exit}: ${end.stdout}`];
    return JSON.stringify(userState(ground)) === before
      ? problems
      : [...problems, 'recover --dry-run changed something'];
  },
  async 'recover killed'(ground, _model, { point, side }) {
    const over = { RELAIS_FAULT: `${1 + (point % 200)}:${side}:SIGKILL` };
    await relais(ground, ['recover', '--json'], { nodeArgs: ['--require', PRELOAD], over });
    return [];
  },
  async answer(ground, model) {
    const end = await relais(ground, ['answer', 'Yes', '--json']);
    const wanted = model.question ? 0 : 3;
    return end.exit === wanted ? [] : [`answer ended with ${end.exit}, not ${wanted}: ${end.stdout}`];
  },
  async edit(ground, model, { file, number }) {
    // What is changed within two seconds of a tick's last sign of life counts as the tick's.
    if (model.open) await wait(SIGN_OF_LIFE_MS);
    appendFileSync(path.join(ground.repo, file), `mine, step ${number}\n`);
    takeNote(ground, model, file);
    return [];
  },
  commit(ground, model) {
    // While a tick waits for `recover`, its half done work would be committed as well.
    if (model.open) return [];
    const git = (...args) => run(ground, 'git', ...args);
    if (git('status', '--porcelain') === '') return [];
    git('add', '-A');
    git('commit', '--quiet', '-m', 'Mine');
    model.mine = userState(ground);
    model.edited.clear();
    return [];
  },
  async status(ground) {
    const end = await relais(ground, ['status', '--json']);
    return [0, 1].includes(end.exit) ? [] : [`status ended with ${end.exit}: ${end.stdout}`];
  },
};

async function struck(ground, model, step, fault) {
  prepare(ground, step.hands);
  const over = { RELAIS_FAULT: `${step.point}:${step.side}:${fault}` };
  const end = await relais(ground, ['run', '--json'], { nodeArgs: ['--require', PRELOAD], over });
  model.kills += 1;
  return end.exit === 'SIGKILL' || end.exit === 'SIGTERM' ? [] : judge(ground, model, step, end);
}

/** Whether a tick ended as the state of the repository says it must; one that was struck may also be interrupted. */
function judge(ground, model, { kind, hands }, end) {
  const code = codeOf(end);
  const dirty = model.mine.status !== '';
  const wanted = model.open
    ? ['BLOCKED_CRASH_RECOVERY_REQUIRED']
    : dirty
      ? ['BLOCKED_DIRTY_WORKTREE']
      : model.question
        ? ['BLOCKED_AWAITING_ANSWER']
        : [hands === 'stop' ? 'STOP_SCOPE_VIOLATION_FORBIDDEN' : 'SUCCESS'];
  if (kind !== 'run' && !model.open) wanted.push('STOP_INTERRUPTED');
  if (!wanted.includes(code))
    return [`the tick ended with ${code}, not ${wanted.join(' or ')}: ${end.stderr.slice(-500)}`];
  return [];
}

function codeOf({ exit, stdout, stderr }) {
  try {
    return JSON.parse(stdout).code ?? `exit ${exit}: ${stdout}`;
  } catch {
    return `exit ${exit} without an object: ${stderr.slice(-300)}`;
  }
}

function prepare({ folder }, hands) {
  writeFileSync(path.join(folder, 'hands.sh'), hands === 'question' ? ':\n' : SCENARIOS[hands].hands);
  const file = path.join(folder, 'brain.json');
  const answer = JSON.parse(readFileSync(file, 'utf8'));
  const { question: _question, ...task } = JSON.parse(answer.result);
  const asking = {
    task_kind: 'question',
    question: { prompt: 'Which?', choices: ['One', 'Two'] },
    verification: { fast: [], slow: [] },
  };
  const wanted =
    hands === 'question'
      ? { ...task, ...asking }
      : { ...task, task_kind: 'execute', verification: { fast: ['check'], slow: [] } };
  writeFileSync(file, JSON.stringify({ ...answer, result: JSON.stringify(wanted) }));
}

/** The user's own edit is the user's from now on. */
function takeNote(ground, model, file) {
  model.edited.add(file);
  model.mine[file] = userState(ground)[file];
  model.mine.status = run(ground, 'git', 'status', '--porcelain', '--', ...model.edited);
}

/** Differences that nobody but the user may make; accepted ticks move the branch and write two files. */
function strangers(mine, now) {
  const TICKS = new Set(['src/a.js', 'src/new.js', 'refs', 'index']);
  const found = [];
  for (const key of new Set([...Object.keys(mine), ...Object.keys(now)]))
    if (!TICKS.has(key) && mine[key] !== now[key])
      found.push(`${key} is ${now[key] ?? 'gone'}, not ${mine[key] ?? 'absent'}`);
  return found;
}

/** Every call is counted, none twice; only a runner that was killed may have counted one too many. */
function ledger(ground, { kills }) {
  const { brain, hands, state } = spending(ground);
  const [counted] = state.milestones;
  const problems = [];
  for (const { name, made, count } of [
    { name: 'Brain', made: brain, count: counted.orchestrator_calls },
    { name: 'Hands', made: hands, count: counted.builder_calls },
  ])
    if (count < made || count > made + kills)
      problems.push(`${count} calls of the ${name} are counted, ${made} were made`);
  return problems;
}
