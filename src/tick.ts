import type { Task } from './generated/types.js';
import { isOutcome, outcome, type Outcome } from './outcome.js';
import { environmentRemedy } from './rules/environment.js';
import { takeBaseline } from './stages/baseline.js';
import { build } from './stages/build.js';
import { keepAlive, openJournal, writePhase } from './stages/journal.js';
import { judge } from './stages/judge.js';
import { lockTick, type TickLock } from './stages/lock.js';
import { openRun } from './stages/open.js';
import { orchestrate } from './stages/orchestrate.js';
import { isReady, locate, type Ready } from './stages/place.js';
import { decidePreflight, gatherPreflight } from './stages/preflight.js';
import { protectTask } from './stages/protect.js';
import { refuse } from './stages/refuse.js';
import { finish } from './stages/report.js';
import type { Baseline, Run, Workers } from './stages/run.js';
import { settle } from './stages/settle.js';
import { interrupted, resolvePrograms, verify, type Programs } from './stages/verify.js';
import type { Begun, Ended } from './stages/writing.js';
import type { World } from './world/world.js';

/**
 * One tick: LOCK → PREFLIGHT → ORCHESTRATE → BUILD → JUDGE → VERIFY → SETTLE → REPORT → END.
 * Each step returns its value or an outcome, and an outcome ends the tick.
 */
export async function tick(world: World): Promise<Ended> {
  const begun = { id: world.newRunId(), startedAt: world.clock.now(), startedMs: world.clock.monotonicMs() };
  world.log.info('started', { run_id: begun.id });
  const place = await locate(world);
  let lock: TickLock | undefined;
  try {
    lock = await lockTick(world, place, begun);
    world.say('PREFLIGHT', 'checking that it is safe and affordable to start');
    const facts = await gatherPreflight(world, place, lock.fact);
    const blocked = decidePreflight(facts);
    if (blocked !== undefined || !isReady(place))
      return await refuse(world, place, begun, blocked ?? outcome('BLOCKED_MISSING_CONFIG', ['no config']));
    return await play(world, place, begun, AGENTS);
  } catch (error) {
    return await refuse(world, place, begun, unexpected(world, error));
  } finally {
    await lock?.release();
  }
}

const AGENTS: Workers = {
  plan: (run, baseline) => {
    run.world.say('ORCHESTRATE', 'asking the Brain for one task');
    return orchestrate(run, baseline);
  },
  work: (run, task) => {
    run.world.say('BUILD', task.builder.mode === 'patch' ? 'applying the patch' : 'the Hands are at work');
    return build(run, task);
  },
};

/** A tick whose preflight has passed, from the baseline to the report. Only agents cost a tick of the budget. */
export async function play(world: World, place: Ready, begun: Begun, workers: Workers): Promise<Ended> {
  const { signal, endsAtMs, clear } = world.deadline(place.config.runner.max_tick_seconds * 1000);
  try {
    const run = await openRun(world, place, { ...begun, signal, endsAtMs }, workers === AGENTS ? 1 : 0);
    return await finish(run, await started(run, workers));
  } finally {
    clear();
  }
}

/** From here on, whatever happens, the verdict is typed and the repository is settled. */
async function started(run: Run, workers: Workers): Promise<Outcome> {
  try {
    run.world.say('BASELINE', 'recording how everything stands');
    const baseline = await takeBaseline(run);
    run.record.baseline = baseline;
    await openJournal(run, baseline);
    const rest = keepAlive(run);
    const programs = await resolvePrograms(run);
    const verdict = await attempt(run, baseline, programs, workers).catch((error: unknown) =>
      unexpected(run.world, error),
    );
    rest();
    return run.record.handsStarted ? await settle(run, run.record.task, baseline, verdict) : verdict;
  } catch (error) {
    return unexpected(run.world, error);
  }
}

/** Everything that must be rolled back unless it ends in SUCCESS. */
async function attempt(run: Run, baseline: Baseline, programs: Programs, workers: Workers): Promise<Outcome> {
  const task = await workers.plan(run, baseline);
  if (run.signal.aborted) return interrupted(run);
  if (isOutcome(task)) return task;
  return hands(run, task, baseline, { programs, workers });
}

async function hands(
  run: Run,
  task: Task,
  baseline: Baseline,
  { programs, workers }: { programs: Programs; workers: Workers },
): Promise<Outcome> {
  await protectTask(run, task, baseline);
  run.record.handsStarted = true;
  await writePhase(run, 'build');
  const built = await workers.work(run, task, baseline);
  if (run.signal.aborted) return interrupted(run);
  await writePhase(run, 'judge');
  run.world.say('JUDGE', 'measuring what was touched');
  const judged = await judge(run, task, baseline);
  const compared = workers.compare?.(run);
  // A3 comes before A4, but output that is merely invalid gives way to what the Judge finds.
  if (built !== undefined && built.code !== 'STOP_BUILDER_OUTPUT_INVALID') return built;
  const refused = judged ?? built ?? compared;
  if (refused !== undefined) return refused;
  await writePhase(run, 'verify');
  return (await verify(run, task, baseline, programs)) ?? outcome('SUCCESS', []);
}

function unexpected(world: World, error: unknown): Outcome {
  world.log.error('unexpected', { error });
  const { code = '' } = error as NodeJS.ErrnoException;
  const why = error instanceof Error ? error.message : String(error);
  return outcome('STOP_INTERRUPTED', [why], { remedy: environmentRemedy(code) });
}
