import type { Task } from '../generated/types.js';
import { outcome, type Outcome } from '../outcome.js';
import { charge } from '../rules/budget.js';
import { expand, type Check } from '../rules/params.js';
import { decide } from '../rules/table.js';
import { oneLine } from '../rules/text.js';
import { VERIFY_ROWS, type VerifyFacts } from '../rules/verify.js';
import { lookAgain } from './lookAgain.js';
import { saveState, timeLeft, type Baseline, type Run } from './run.js';

const MAX_OUTPUT = 1024 * 1024;

/** Programs of all templates, resolved before the Hands could put others in their place. */
export type Programs = ReadonlyMap<string, string | undefined>;

/** Finds every template's program before an agent runs. */
export async function resolvePrograms(run: Run): Promise<Programs> {
  const { programs, env } = run.world;
  const searchPath = programs.trustedPath(env.PATH, run.repository.workTree);
  const found = new Map<string, string | undefined>();
  for (const { cmd } of run.config.verification.templates) {
    if (!found.has(cmd)) found.set(cmd, await programs.resolveProgram(cmd, run.repository.workTree, searchPath));
  }
  return found;
}

/** Runs the task's checks, fast then slow, the first failure stops; then looks at the repository again. */
export async function verify(
  run: Run,
  task: Task,
  baseline: Baseline,
  programs: Programs,
): Promise<Outcome | undefined> {
  const expanded = expand(run.config, task);
  const problems = expanded.ok ? await escapes(run, expanded.checks) : expanded.problems;
  const facts: VerifyFacts = { ...NOTHING, task_kind: task.task_kind };
  const tainted = decide(VERIFY_ROWS, { ...facts, problems });
  if (tainted !== undefined || !expanded.ok) return tainted?.outcome;
  if (expanded.checks.length === 0 && run.config.verification.templates.length > 0)
    run.record.warnings.push('no check was run: the task names none');
  await reserve(run, expanded.checks.length);
  for (const check of expanded.checks) {
    const failed = await runCheck(run, check, programs.get(check.cmd));
    if (run.signal.aborted) return interrupted(run);
    if (failed !== undefined) {
      const which = check.phase === 'fast' ? { failedFast: [failed] } : { failedSlow: [failed] };
      return decide(VERIFY_ROWS, { ...facts, ...which })?.outcome;
    }
  }
  const again = await lookAgain(run, baseline);
  return decide(VERIFY_ROWS, { ...facts, ...again })?.outcome;
}

/** All runs are on disk before the first starts; those that did not happen are given back with the next save. */
async function reserve(run: Run, count: number): Promise<void> {
  const { state, config } = run;
  await saveState(run, charge(state, config.project.milestone_id, { verify_runs: count }));
  run.state = state;
}

const NOTHING: Omit<VerifyFacts, 'task_kind'> = {
  problems: [],
  failedFast: [],
  failedSlow: [],
  headMoved: [],
  created: [],
  changed: [],
};

/** The ending of a tick that was told to stop, by a signal or by its own deadline. */
export function interrupted(run: Run): Outcome {
  const reason = String(run.signal.reason);
  const { max_tick_seconds: limit } = run.config.runner;
  return reason === 'deadline'
    ? outcome('STOP_INTERRUPTED', [`the tick reached max_tick_seconds (${limit})`], {
        remedy: 'Ask for a smaller step, or raise runner.max_tick_seconds; then run again.',
      })
    : outcome('STOP_INTERRUPTED', [`interrupted by ${reason}`], {
        remedy: 'It was stopped from outside and nothing was kept. Run again when you like.',
      });
}

async function escapes(run: Run, checks: readonly Check[]): Promise<string[]> {
  const problems: string[] = [];
  for (const check of checks) {
    for (const value of check.pathParams) {
      if (!(await run.world.programs.staysInside(run.repository.workTree, value))) {
        problems.push(`${check.template_id}: the path "${oneLine(value)}" leads out of the repository`);
      }
    }
  }
  return problems;
}

async function runCheck(run: Run, check: Check, program: string | undefined): Promise<string | undefined> {
  const label = `${check.template_id} (${check.phase})`;
  run.world.say('VERIFY', label);
  run.state = charge(run.state, run.config.project.milestone_id, { verify_runs: 1 });
  const end =
    program === undefined
      ? undefined
      : await run.world.spawn.run({
          program,
          args: check.args,
          cwd: run.repository.workTree,
          env: checkEnvironment(run),
          timeoutMs: Math.min(check.timeout_ms, timeLeft(run)),
          signal: run.signal,
          maxOutputBytes: MAX_OUTPUT,
          owner: run.id,
        });
  const exitCode = end?.exitCode ?? -1;
  run.record.verifyRuns.push({
    template_id: check.template_id,
    phase: check.phase,
    cmd: check.cmd,
    args: check.args,
    exit_code: exitCode,
    duration_ms: Math.round(end?.durationMs ?? 0),
    timed_out: end?.how === 'timed_out',
  });
  const output =
    end === undefined
      ? `${check.cmd}: not found on PATH outside the repository\n`
      : `${end.stdout.toString()}${end.stderr.toString()}${end.error ?? ''}`;
  run.record.verifyLog.push(
    `=== ${label}: ${check.cmd} ${check.args.join(' ')}\n${output}\n=== exit ${exitCode}${end?.cut ? ' (output cut)' : ''}\n`,
  );
  if (end?.escapees.length)
    run.record.warnings.push(`${label} left ${end.escapees.length} process(es) behind; they were ended`);
  if (end?.how === 'exited' && exitCode === 0) return undefined;
  if (end === undefined) return `${label}: program "${check.cmd}" was not found on PATH outside the repository`;
  return end.how === 'timed_out'
    ? `${label} timed out after ${check.timeout_ms} ms`
    : `${label} exited with ${exitCode}`;
}

const PASSED_ON =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|TMPDIR|CI|XDG_(CACHE|CONFIG|DATA)_HOME|NVM_[A-Z]+|VOLTA_HOME|JAVA_HOME|GOPATH|GOROOT|CARGO_HOME|RUSTUP_HOME|PNPM_HOME)$/;

/** An allow-list plus what the config adds; agent credentials never reach a check. */
function checkEnvironment(run: Run): Record<string, string> {
  const { env, programs } = run.world;
  const passed = Object.entries(env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && PASSED_ON.test(pair[0]),
  );
  return {
    ...Object.fromEntries(passed),
    PATH: programs.trustedPath(env.PATH, run.repository.workTree),
    ...run.config.verification.env,
  };
}
