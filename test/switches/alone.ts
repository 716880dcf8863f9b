import path from 'node:path';
import { code, cutTo, ends, flag, kept, there, told } from './looks.js';
import type { Seen, Switch } from './play.js';
import { CHECKS } from './checks.js';
import * as at from './situations.js';

const SHORT_ORDERS = at.ordersOf(600);
const LONG_ORDERS = at.ordersOf(5000);

const STAND_IN = path.resolve('test/switches/stand-in.sh');
const USES_STAND_IN = { claude_code_cli: { command: STAND_IN } };

/** What has to be inside the workspace, inside the other one. */
export const OF_THE_BENCH = {
  runner: { lockfile: 'bench/lock.json', crash_cleanup: { delete_tmp_glob: 'bench/*.tmp' } },
  orchestrator: {
    system_prompt_file: 'bench/prompts/orchestrator.system.txt',
    user_prompt_file: 'bench/prompts/orchestrator.user.txt',
    task_schema_file: 'bench/schemas/task.schema.json',
  },
  builder: {
    claude_code: {
      system_prompt_file: 'bench/prompts/builder.system.txt',
      user_prompt_file: 'bench/prompts/builder.user.txt',
      builder_result_schema_file: 'bench/schemas/builder_result.schema.json',
    },
  },
  history: { dir: 'bench/history' },
};

function ignoredFile({ end, files }: Seen): [string, string | undefined] {
  return [end.outcome.code, files['build/out.txt']];
}

function agents(seen: Seen): string[] {
  return kept(seen).meta.calls.map((call) => `${call.role}: ${call.agent}`);
}

const REFUSED = 'BLOCKED_MISSING_CONFIG';
const SPENT = 'BLOCKED_BUDGET_EXHAUSTED';
const LARGE = 'STOP_DIFF_TOO_LARGE';

/** Switches that decide how a tick ends: each is turned in a tick of its own. */
export const ALONE: readonly Switch[] = [
  ...CHECKS,
  ends('runner.require_git', false, at.shipped, [REFUSED, 'require_git']),
  ends('orchestrator.allowed_tools', 'Read', at.shipped, [REFUSED, 'allowed_tools']),
  ends('budgets.per_milestone.max_ticks', 0, at.shipped, [SPENT, 'ticks']),
  ends('budgets.per_milestone.max_orchestrator_calls', 1, at.shipped, [SPENT, 'orchestrator_calls']),
  ends('budgets.per_milestone.max_builder_calls', 0, at.shipped, [SPENT, 'builder_calls']),
  ends('budgets.per_milestone.max_verify_runs', 15, at.shipped, [SPENT, 'verify_runs']),
  ends('budgets.per_milestone.max_estimated_cost_usd', 2.2, at.shipped, [SPENT, 'estimated_cost_usd']),
  ends('orchestrator.max_budget_usd', 40, at.shipped, [SPENT, 'estimated_cost_usd']),
  ends('builder.claude_code.max_budget_usd', 80, at.shipped, [SPENT, 'estimated_cost_usd']),
  ends('orchestrator.max_prompt_chars', 4000, LONG_ORDERS, [REFUSED, 'orchestrator.system.txt']),
  ends('builder.claude_code.max_prompt_chars', 4000, LONG_ORDERS, [REFUSED, 'builder.system.txt']),
  ends('history.max_mb', 0.002, at.withHistory, ['BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED', 'history']),
  ends('history.dir', 'relais/past', at.forgotten, ['BLOCKED_CRASH_RECOVERY_REQUIRED', 'relais/past']),
  {
    ...ends('history.dir', 'relais/past', at.elsewhere, ['BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED', 'history']),
    also: { history: { max_mb: 0.002 } },
  },
  {
    key: 'history.dir',
    to: 'relais/past',
    at: at.elsewhere,
    look: told('orchestrator', 'Told from the '),
    normal: undefined,
    turned: 'past.',
  },
  ends('scope.lockfiles', ['greet.js'], at.shipped, ['STOP_LOCKFILE_CHANGE_FORBIDDEN', 'src/greet.js']),
  ends('runner.runner_owned_globs', ['docs/**'], at.wide, ['STOP_RUNNER_OWNED_MUTATION', 'docs/guide.md']),
  ends('scope.default_forbidden_globs', ['docs/**'], at.wide, ['STOP_SCOPE_VIOLATION_FORBIDDEN', 'docs/guide.md']),
  {
    key: 'scope.default_forbidden_globs',
    to: ['build/**'],
    at: at.ignoredBy('orchestrator'),
    look: ignoredFile,
    normal: ['SUCCESS', 'theirs\n'],
    turned: ['STOP_SCOPE_VIOLATION_FORBIDDEN', 'mine\n'],
  },
  {
    key: 'scope.default_forbidden_globs',
    to: ['build/**'],
    at: at.ignoredBy('builder'),
    look: ignoredFile,
    normal: ['SUCCESS', 'theirs\n'],
    turned: ['STOP_SCOPE_VIOLATION_FORBIDDEN', 'mine\n'],
  },
  ends('scope.fence_globs', ['src/**'], at.wide, ['STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED', 'fence_globs']),
  ends('scope.ceilings.allow_new_files', false, at.wide, ['STOP_SCOPE_VIOLATION_NEW_FILE', 'src/new.js']),
  ends('scope.ceilings.allow_lockfile_changes', false, at.wide, ['STOP_LOCKFILE_CHANGE_FORBIDDEN', 'src/yarn.lock']),
  ends('scope.ceilings.max_files_touched', 3, at.wide, [LARGE, 'files touched']),
  ends('scope.ceilings.max_lines_changed', 4, at.wide, [LARGE, 'lines changed']),
  ends('builder.claude_code.strict_builder_json', true, at.inFence, ['STOP_BUILDER_OUTPUT_INVALID', 'fence']),
  {
    key: 'runner.crash_cleanup.validate_runner_json_files',
    to: false,
    at: at.brokenTask,
    look: code,
    normal: 'BLOCKED_CRASH_RECOVERY_REQUIRED',
    turned: 'SUCCESS',
  },
  {
    key: 'project.milestone_id',
    to: 'M2',
    at: at.secondMilestone,
    look: ({ end, files }) => ({
      code: end.outcome.code,
      charged: (JSON.parse(files['relais/STATE.json'] ?? '') as { milestones: { milestone_id: string }[] }).milestones
        .map((one) => one.milestone_id)
        .join(),
    }),
    normal: { code: 'BLOCKED_ORCHESTRATOR_OUTPUT_INVALID', charged: 'M1' },
    turned: { code: 'SUCCESS', charged: 'M2' },
  },
  {
    key: 'runner.render_report_md.max_chars',
    to: 500,
    at: at.refused,
    look: ({ files }) => files['relais/REPORT.md']?.includes('cut here'),
    normal: false,
    turned: true,
  },
  {
    key: 'runner.render_report_md.max_chars',
    to: 500,
    at: at.onlyReport,
    look: ({ calls }) => ({
      given: calls[0]?.prompt_tail.includes('# Relais: STOP'),
      cut: calls[0]?.prompt_tail.includes('cut here'),
    }),
    normal: { given: true, cut: false },
    turned: { given: true, cut: true },
  },
  {
    key: 'orchestrator.max_prompt_chars',
    to: 4000,
    at: SHORT_ORDERS,
    look: cutTo('orchestrator', 4000),
    normal: { within: false, said: false },
    turned: { within: true, said: true },
  },
  {
    key: 'builder.claude_code.max_prompt_chars',
    to: 4000,
    at: SHORT_ORDERS,
    look: cutTo('builder', 4000),
    normal: { within: false, said: false },
    turned: { within: true, said: true },
  },
  {
    key: 'claude_code_cli.command',
    to: STAND_IN,
    at: at.noProgram,
    look: ({ end, calls }) => [end.outcome.code, calls.length],
    normal: [REFUSED, 0],
    turned: ['SUCCESS', 2],
  },
  {
    key: 'orchestrator.agent',
    to: 'claude',
    also: USES_STAND_IN,
    at: at.shipped,
    look: agents,
    normal: ['orchestrator: scripted', 'builder: scripted'],
    turned: ['orchestrator: claude', 'builder: scripted'],
  },
  {
    key: 'builder.agent',
    to: 'claude',
    also: USES_STAND_IN,
    at: at.shipped,
    look: agents,
    normal: ['orchestrator: scripted', 'builder: scripted'],
    turned: ['orchestrator: scripted', 'builder: claude'],
  },
  {
    key: 'workspace_dir',
    to: 'bench',
    also: OF_THE_BENCH,
    at: at.bench,
    look: (seen) => ({
      code: seen.end.outcome.code,
      template: told('orchestrator', 'Template: ')(seen),
      fact: told('orchestrator', 'The bench ')(seen),
      pointer: seen.end.report?.pointers?.report_md_path,
      cleaned: there('bench/half.tmp')(seen).length === 0,
      written: there(
        ...['relais', 'bench'].flatMap((dir) =>
          ['STATE.json', 'TASK.json', 'REPORT.json', 'REPORT.md'].map((name) => `${dir}/${name}`),
        ),
      )(seen),
    }),
    normal: {
      code: 'SUCCESS',
      template: 'the usual one',
      fact: undefined,
      pointer: 'relais/REPORT.md',
      cleaned: false,
      written: ['relais/STATE.json', 'relais/TASK.json', 'relais/REPORT.json', 'relais/REPORT.md'],
    },
    turned: {
      code: 'SUCCESS',
      template: 'the one of the bench',
      fact: 'is of oak.',
      pointer: 'bench/REPORT.md',
      cleaned: true,
      written: ['bench/STATE.json', 'bench/TASK.json', 'bench/REPORT.json', 'bench/REPORT.md'],
    },
  },
  {
    ...ends('workspace_dir', 'bench', at.benchWritten, ['STOP_RUNNER_OWNED_MUTATION', 'bench/notes.md']),
    also: OF_THE_BENCH,
  },
  {
    key: 'models.builder_fallback_model',
    to: 'sonnet',
    at: at.shipped,
    look: flag('builder', '--fallback-model'),
    normal: 'haiku',
    turned: undefined,
  },
];
