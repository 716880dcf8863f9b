import type { Config } from '../generated/types.js';
import type { Detected } from './detect.js';

/** The goal init writes when nobody was there to give one; doctor reminds of it. */
export const GOAL_PLACEHOLDER =
  'Say here, in a few sentences, what this project should become: the Brain reads it in every tick.';

/** Instructions and hooks for the next tick's agent, or for git and CI: out of the Hands' reach until an operator removes the line. */
const CONTROL_FILES = [
  '**/.claude/**',
  '**/.mcp.json',
  '**/CLAUDE.md',
  '**/AGENTS.md',
  '**/.codex/**',
  '**/.gemini/**',
  '.github/workflows/**',
  '**/.gitattributes',
  '.gitmodules',
];

/** The config init writes: the contract's defaults, with the checks and folders found in this repository. */
export function starterConfig(detected: Detected, goal: string): Config {
  return {
    $schema: './relais/schemas/config.schema.json',
    version: '1.0',
    product_name: 'relais',
    workspace_dir: 'relais',
    project: { goal, milestone_id: 'M1' },
    runner: runner(),
    claude_code_cli: { command: 'claude', output_format: 'json', no_session_persistence: true },
    models: {
      orchestrator_model: 'opus',
      orchestrator_fallback_model: 'sonnet',
      builder_model: 'sonnet',
      builder_fallback_model: 'haiku',
    },
    ...roles(),
    ...limits(detected),
    verification: verification(detected),
    budgets: {
      per_milestone: {
        max_ticks: 200,
        max_orchestrator_calls: 260,
        max_builder_calls: 200,
        max_verify_runs: 600,
        max_estimated_cost_usd: 80,
      },
      warn_at_fraction: 0.8,
    },
    history: { enabled: true, dir: 'relais/history', max_mb: 500, include_diff_patch: true, include_verify_log: true },
  };
}

function runner(): Config['runner'] {
  return {
    require_git: true,
    max_tick_seconds: 900,
    commit_on_success: true,
    lockfile: 'relais/lock.json',
    runner_owned_globs: [
      'STATE.json',
      'TASK.json',
      'REPORT.json',
      'REPORT.md',
      'BLOCKED.json',
      'FACTS.md',
      'history/**',
      'lock.json',
      'schemas/**',
      'prompts/**',
    ].map((name) => `relais/${name}`),
    crash_cleanup: { delete_tmp_glob: 'relais/*.tmp', validate_runner_json_files: true },
    render_report_md: { enabled: true, max_chars: 6000 },
  };
}

function limits(detected: Detected): Pick<Config, 'scope' | 'diff_limits'> {
  return {
    scope: {
      default_allowed_globs: [...detected.allowedGlobs],
      default_forbidden_globs: [
        '.git/**',
        'relais/**',
        '**/.env*',
        '**/*secret*',
        '**/*token*',
        '**/node_modules/**',
        ...CONTROL_FILES,
      ],
      default_allow_new_files: false,
      default_allow_lockfile_changes: false,
      lockfiles: [...detected.lockfiles],
    },
    diff_limits: { default_max_files_touched: 12, default_max_lines_changed: 400 },
  };
}

function verification(detected: Detected): Config['verification'] {
  return {
    execution_mode: 'argv_no_shell',
    max_param_len: 128,
    reject_whitespace_in_params: true,
    reject_dotdot: true,
    reject_metachars_regex: '[;&|$\\\\><(){}\\[\\]`\\n\\r\\t\\0]',
    timeout_fast_seconds: 90,
    timeout_slow_seconds: 600,
    templates: [...detected.templates],
    env: { ...detected.env },
  };
}

function roles(): Pick<Config, 'orchestrator' | 'builder'> {
  return {
    orchestrator: {
      agent: 'claude',
      max_turns: 1,
      permission_mode: 'plan',
      allowed_tools: '',
      system_prompt_file: 'relais/prompts/orchestrator.system.txt',
      user_prompt_file: 'relais/prompts/orchestrator.user.txt',
      task_schema_file: 'relais/schemas/task.schema.json',
      max_parse_retries_per_tick: 1,
      max_budget_usd: 0.4,
      max_prompt_chars: 60_000,
    },
    builder: {
      agent: 'claude',
      default_mode: 'claude_code',
      allow_patch_mode: true,
      claude_code: {
        max_turns: 8,
        permission_mode: 'acceptEdits',
        allowed_tools: 'Read,Edit,Glob,Grep,Bash',
        system_prompt_file: 'relais/prompts/builder.system.txt',
        user_prompt_file: 'relais/prompts/builder.user.txt',
        builder_result_schema_file: 'relais/schemas/builder_result.schema.json',
        max_budget_usd: 1.5,
        strict_builder_json: false,
        max_prompt_chars: 120_000,
      },
      patch: { max_patch_attempts_per_milestone: 10 },
    },
  };
}
