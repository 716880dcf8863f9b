// Generated from schemas/ by `npm run gen`. Do not edit.

/**
 * Why the last tick could not start, and what to do about it.
 */
export interface Blocked {
  /**
   * The tick this belongs to.
   */
  run_id: string;
  /**
   * The reason. A STOP code stands here only when REPORT.json could not be written.
   */
  code:
    | 'STOP_SCOPE_VIOLATION_FORBIDDEN'
    | 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED'
    | 'STOP_SCOPE_VIOLATION_NEW_FILE'
    | 'STOP_LOCKFILE_CHANGE_FORBIDDEN'
    | 'STOP_DIFF_TOO_LARGE'
    | 'STOP_VERIFY_FAILED_FAST'
    | 'STOP_VERIFY_FAILED_SLOW'
    | 'STOP_VERIFY_TAINTED'
    | 'STOP_VERIFY_ONLY_SIDE_EFFECTS'
    | 'STOP_QUESTION_SIDE_EFFECTS'
    | 'STOP_RUNNER_OWNED_MUTATION'
    | 'STOP_BUILDER_OUTPUT_INVALID'
    | 'STOP_HEAD_MOVED'
    | 'STOP_INTERRUPTED'
    | 'BLOCKED_BUDGET_EXHAUSTED'
    | 'BLOCKED_DIRTY_WORKTREE'
    | 'BLOCKED_LOCK_HELD'
    | 'BLOCKED_CRASH_RECOVERY_REQUIRED'
    | 'BLOCKED_ORCHESTRATOR_OUTPUT_INVALID'
    | 'BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED'
    | 'BLOCKED_MISSING_CONFIG'
    | 'BLOCKED_AWAITING_ANSWER';
  /**
   * What was seen.
   */
  evidence: string[];
  /**
   * What the operator should do.
   */
  remedy: string;
  /**
   * Trying earlier is in vain.
   */
  not_before?: string;
  /**
   * When this was written.
   */
  written_at: string;
}

/**
 * What the Hands say they did. It is kept for the reader and decides nothing.
 */
export interface BuilderResult {
  /**
   * The work in a few sentences.
   */
  summary: string;
  /**
   * Paths the Hands meant to change.
   *
   * @minItems 0
   * @maxItems 200
   */
  files_intended: string[];
  /**
   * Commands the Hands ran.
   *
   * @minItems 0
   * @maxItems 50
   */
  commands_ran: string[];
  /**
   * Anything the operator should know.
   *
   * @minItems 0
   * @maxItems 20
   */
  notes: string[];
}

/**
 * Everything the operator decides, in one file: relais.config.json at the root of the repository.
 */
export interface Config {
  /**
   * Lets an editor check this file.
   */
  $schema?: string;
  /**
   * Version of this format.
   */
  version: '1.0';
  /**
   * A name for messages.
   */
  product_name: string;
  /**
   * The one folder that holds the runner's files.
   */
  workspace_dir: string;
  /**
   * What is being worked on.
   */
  project: {
    /**
     * What the project wants to reach; the Brain reads it in every tick.
     */
    goal: string;
    /**
     * The milestone that tasks belong to and budgets are counted for.
     */
    milestone_id: string;
  };
  /**
   * How a tick runs.
   */
  runner: {
    /**
     * Must be true: without git there is no Judge.
     */
    require_git: boolean;
    /**
     * A tick is ended after this long.
     */
    max_tick_seconds: number;
    /**
     * The file that keeps two ticks from running at once. Relative to the repository.
     */
    lockfile: string;
    /**
     * Paths nobody but the runner may change, besides the workspace and this file.
     *
     * @minItems 0
     * @maxItems 200
     */
    runner_owned_globs: string[];
    /**
     * What happens at start after a crash.
     */
    crash_cleanup: {
      /**
       * Half-written files a crash may leave, removed at start.
       */
      delete_tmp_glob: string;
      /**
       * Whether the runner's own JSON files are checked at start.
       */
      validate_runner_json_files: boolean;
    };
    /**
     * The readable report.
     */
    render_report_md: {
      /**
       * Whether REPORT.md is written.
       */
      enabled: boolean;
      /**
       * Its longest length.
       */
      max_chars: number;
    };
    /**
     * Commit accepted work on the current branch; otherwise it stays in the work tree.
     */
    commit_on_success: boolean;
  };
  /**
   * How the agent program is called.
   */
  claude_code_cli: {
    /**
     * The program to call, a bare name or an absolute path.
     */
    command: string;
    /**
     * json answers once; stream-json shows progress and structured limits.
     */
    output_format: 'json' | 'stream-json';
    /**
     * Whether the program is told not to keep its session.
     */
    no_session_persistence: boolean;
  };
  /**
   * Models, by alias or full name.
   */
  models: {
    /**
     * The Brain's model.
     */
    orchestrator_model: string;
    /**
     * Used when the Brain's model is not available.
     */
    orchestrator_fallback_model: string;
    /**
     * The Hands' model.
     */
    builder_model: string;
    /**
     * Used when the Hands' model is not available.
     */
    builder_fallback_model: string;
  };
  /**
   * The Brain: proposes one task.
   */
  orchestrator: {
    /**
     * Which adapter plays the Brain.
     */
    agent: 'claude' | 'scripted';
    /**
     * Most turns of one call.
     */
    max_turns: number;
    /**
     * The agent program's permission mode.
     */
    permission_mode: 'default' | 'auto' | 'acceptEdits' | 'plan' | 'bypassPermissions' | 'dontAsk';
    /**
     * Must be empty: the Brain only thinks. The key is kept for configs that name it.
     */
    allowed_tools: string;
    /**
     * The Brain's standing orders. Relative to the repository.
     */
    system_prompt_file: string;
    /**
     * The template of one request. Relative to the repository.
     */
    user_prompt_file: string;
    /**
     * The schema a task must match. Relative to the repository.
     */
    task_schema_file: string;
    /**
     * Whether an invalid answer may be asked for once more.
     */
    max_parse_retries_per_tick: number;
    /**
     * Most one call may cost; a call of unknown cost counts as this much.
     */
    max_budget_usd: number;
    /**
     * The request is cut to this length, and says so; a system prompt that is longer is refused.
     */
    max_prompt_chars: number;
  };
  /**
   * The Hands: carry out one task.
   */
  builder: {
    /**
     * Which adapter plays the Hands.
     */
    agent: 'claude' | 'scripted';
    /**
     * The mode the Brain is told to prefer.
     */
    default_mode: 'claude_code' | 'patch';
    /**
     * Whether a task may bring its own patch.
     */
    allow_patch_mode: boolean;
    /**
     * The Hands as an agent call.
     */
    claude_code: {
      /**
       * Most turns of one call.
       */
      max_turns: number;
      /**
       * The agent program's permission mode; bypassPermissions is dangerous.
       */
      permission_mode: 'default' | 'auto' | 'acceptEdits' | 'plan' | 'bypassPermissions' | 'dontAsk';
      /**
       * Tools the Hands may use, separated by commas.
       */
      allowed_tools: string;
      /**
       * The Hands' standing orders. Relative to the repository.
       */
      system_prompt_file: string;
      /**
       * The template of one request. Relative to the repository.
       */
      user_prompt_file: string;
      /**
       * The schema the Hands' answer must match. Relative to the repository.
       */
      builder_result_schema_file: string;
      /**
       * Most one call may cost; a call of unknown cost counts as this much.
       */
      max_budget_usd: number;
      /**
       * Refuse an answer in a fenced block too.
       */
      strict_builder_json: boolean;
      /**
       * The request is cut to this length, and says so; a system prompt that is longer is refused.
       */
      max_prompt_chars: number;
    };
    /**
     * The Hands as a patch.
     */
    patch: {
      /**
       * Patch tasks one milestone may try.
       */
      max_patch_attempts_per_milestone: number;
    };
  };
  /**
   * Where work may happen.
   */
  scope: {
    /**
     * What the Brain is told to start from.
     *
     * @minItems 1
     * @maxItems 64
     */
    default_allowed_globs: string[];
    /**
     * Never allowed, whatever the task says.
     *
     * @minItems 0
     * @maxItems 64
     */
    default_forbidden_globs: string[];
    /**
     * What the Brain is told about new files.
     */
    default_allow_new_files: boolean;
    /**
     * What the Brain is told about lockfiles.
     */
    default_allow_lockfile_changes: boolean;
    /**
     * File names that count as lockfiles in any folder.
     *
     * @minItems 0
     * @maxItems 64
     */
    lockfiles: string[];
    /**
     * When given, every touched path must match one of these too.
     *
     * @minItems 1
     * @maxItems 64
     */
    fence_globs?: string[];
    /**
     * Limits no task can widen.
     */
    ceilings?: {
      /**
       * False refuses new files whatever the task says.
       */
      allow_new_files?: boolean;
      /**
       * False refuses lockfile changes whatever the task says.
       */
      allow_lockfile_changes?: boolean;
      /**
       * The task's limit is cut to this.
       */
      max_files_touched?: number;
      /**
       * The task's limit is cut to this.
       */
      max_lines_changed?: number;
    };
  };
  /**
   * How large a change should be.
   */
  diff_limits: {
    /**
     * What the Brain is told to start from.
     */
    default_max_files_touched: number;
    /**
     * What the Brain is told to start from.
     */
    default_max_lines_changed: number;
  };
  /**
   * How work is proved.
   */
  verification: {
    /**
     * Checks are started from an argument list, never through a shell.
     */
    execution_mode: 'argv_no_shell';
    /**
     * Longest parameter value.
     */
    max_param_len: number;
    /**
     * Refuse values with white space.
     */
    reject_whitespace_in_params: boolean;
    /**
     * Refuse values with two dots in a row.
     */
    reject_dotdot: boolean;
    /**
     * One character class; a value with any of its characters is refused.
     */
    reject_metachars_regex: string;
    /**
     * A fast check is ended after this long.
     */
    timeout_fast_seconds: number;
    /**
     * A slow check is ended after this long.
     */
    timeout_slow_seconds: number;
    /**
     * The checks a task may ask for.
     *
     * @minItems 0
     * @maxItems 200
     */
    templates: {
      /**
       * The name a task uses.
       */
      id: string;
      /**
       * The program: a bare name or a path.
       */
      cmd: string;
      /**
       * Its arguments; {{name}} stands for a parameter.
       *
       * @minItems 0
       * @maxItems 40
       */
      args: string[];
      /**
       * The placeholders and what each may hold.
       */
      params?: {
        [k: string]: {
          /**
           * path must stay inside the repository.
           */
          kind: 'string_token' | 'path';
        };
      };
    }[];
    /**
     * Variables every check gets in addition.
     */
    env: {
      [k: string]: string;
    };
  };
  /**
   * Limits that are checked before anything is spent.
   */
  budgets: {
    /**
     * What one milestone may spend.
     */
    per_milestone: {
      /**
       * Ticks.
       */
      max_ticks: number;
      /**
       * Calls of the Brain.
       */
      max_orchestrator_calls: number;
      /**
       * Calls of the Hands.
       */
      max_builder_calls: number;
      /**
       * Checks started.
       */
      max_verify_runs: number;
      /**
       * Cost of all calls together.
       */
      max_estimated_cost_usd: number;
    };
    /**
     * Warn from this share on.
     */
    warn_at_fraction: number;
  };
  /**
   * The record of past ticks.
   */
  history: {
    /**
     * Whether ticks are kept.
     */
    enabled: boolean;
    /**
     * Where they are kept. Relative to the repository.
     */
    dir: string;
    /**
     * A larger history blocks the next tick.
     */
    max_mb: number;
    /**
     * Keep the change.
     */
    include_diff_patch: boolean;
    /**
     * Keep the checks' output.
     */
    include_verify_log: boolean;
  };
}

/**
 * Who is running a tick.
 */
export interface Lock {
  /**
   * The tick this belongs to.
   */
  run_id: string;
  /**
   * When the lock was taken.
   */
  started_at: string;
  /**
   * The process.
   */
  pid: number;
  /**
   * Its start time in the kernel's clock; empty where it can't be told.
   */
  pid_start: string;
  /**
   * The boot it runs in.
   */
  boot_id: string;
  /**
   * The machine.
   */
  host: string;
  /**
   * The namespace the pid counts in.
   */
  pid_namespace: string;
}

/**
 * Everything about a tick that the report has no room for, uncut; enough to judge it again.
 */
export interface Meta {
  /**
   * The tick this belongs to.
   */
  run_id: string;
  /**
   * Which tick of this repository it was, counted from the first.
   */
  sequence: number;
  /**
   * Hash of the config's bytes.
   */
  config_sha256: string;
  /**
   * The whole task, or null where there was none.
   */
  task: Task | null;
  /**
   * The repository.
   */
  repository: {
    object_format: 'sha1' | 'sha256';
  };
  /**
   * The commit the tick started from.
   */
  base_commit: string;
  /**
   * Its tree.
   */
  base_tree: string;
  /**
   * The tree that was judged.
   */
  judged_tree: string | null;
  /**
   * The commit a success made.
   */
  commit: string | null;
  /**
   * Where refused work is kept.
   */
  rejected_ref: string | null;
  /**
   * The private folder with refused files that no git tree can or may hold.
   */
  kept_apart?: string | null;
  /**
   * HEAD's content before the Hands.
   */
  head_before: string;
  /**
   * HEAD's content after them.
   */
  head_after_build: string | null;
  /**
   * References that changed during the tick.
   */
  refs_moved: {
    ref: string;
    /**
     * Null where it was not there.
     */
    before: string | null;
    /**
     * Null where it is gone.
     */
    after: string | null;
  }[];
  /**
   * Every touched path.
   */
  touched: {
    path: string;
    change: 'added' | 'deleted' | 'modified';
    kind: 'file' | 'dir' | 'link' | 'fifo' | 'socket' | 'block' | 'char';
    mode_before: number | null;
    mode_after: number | null;
    lines_added: number;
    lines_deleted: number;
    /**
     * The lines were estimated from the size.
     */
    estimated: boolean;
  }[];
  /**
   * Ignored paths that changed; listed, not judged.
   */
  ignored_changed: string[];
  /**
   * What a git tree can't hold.
   */
  not_in_tree: {
    path: string;
    why: string;
  }[];
  /**
   * Git's own files that were changed and put back.
   */
  metadata_changed: string[];
  /**
   * How surely leftover processes were found.
   */
  containment: string;
  /**
   * Every agent call.
   */
  calls: {
    role: string;
    agent: string;
    argv: string[];
    version: string | null;
    /**
     * How the call ended.
     */
    kind: string;
    /**
     * As reported; null when unknown.
     */
    cost_usd: number | null;
    /**
     * As charged.
     */
    cost_counted_usd: number;
    turns: number | null;
    duration_ms: number;
    tokens: {
      [k: string]: unknown;
    } | null;
    message?: string;
  }[];
  /**
   * What the Hands said.
   */
  builder_result: BuilderResult | null;
  /**
   * Null where the Hands were not called.
   */
  builder_output_valid: boolean | null;
  /**
   * All evidence.
   */
  evidence: string[];
  /**
   * All warnings.
   */
  warnings: string[];
  /**
   * What a rollback could not put back.
   */
  leftovers: string[];
  /**
   * The run whose refused work this one judged again; only there for a salvage.
   */
  salvaged_run_id?: string;
}

/**
 * The one true record of a tick, written by the runner alone; REPORT.md is rendered from it.
 */
export interface Report {
  /**
   * The tick's id, which also names its history folder.
   */
  run_id: string;
  /**
   * When the tick took the lock.
   */
  started_at: string;
  /**
   * When the verdict stood.
   */
  ended_at: string;
  /**
   * Wall time between the two.
   */
  duration_ms: number;
  /**
   * The commit the tick started from.
   */
  base_commit: string;
  /**
   * HEAD after the tick: a new commit after a committed success, else the base.
   */
  head_commit: string;
  /**
   * The task in short; placeholders where the tick ended before one was accepted.
   */
  task: {
    task_id: string;
    milestone_id: string;
    task_kind: 'execute' | 'verify_only' | 'question';
    intent: string;
  };
  /**
   * success: work accepted; stop: work refused and undone; blocked: not safe to start.
   */
  verdict: 'success' | 'stop' | 'blocked';
  /**
   * The one reason for the verdict.
   */
  code:
    | 'SUCCESS'
    | 'STOP_SCOPE_VIOLATION_FORBIDDEN'
    | 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED'
    | 'STOP_SCOPE_VIOLATION_NEW_FILE'
    | 'STOP_LOCKFILE_CHANGE_FORBIDDEN'
    | 'STOP_DIFF_TOO_LARGE'
    | 'STOP_VERIFY_FAILED_FAST'
    | 'STOP_VERIFY_FAILED_SLOW'
    | 'STOP_VERIFY_TAINTED'
    | 'STOP_VERIFY_ONLY_SIDE_EFFECTS'
    | 'STOP_QUESTION_SIDE_EFFECTS'
    | 'STOP_RUNNER_OWNED_MUTATION'
    | 'STOP_BUILDER_OUTPUT_INVALID'
    | 'STOP_HEAD_MOVED'
    | 'STOP_INTERRUPTED'
    | 'BLOCKED_BUDGET_EXHAUSTED'
    | 'BLOCKED_DIRTY_WORKTREE'
    | 'BLOCKED_LOCK_HELD'
    | 'BLOCKED_CRASH_RECOVERY_REQUIRED'
    | 'BLOCKED_ORCHESTRATOR_OUTPUT_INVALID'
    | 'BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED'
    | 'BLOCKED_MISSING_CONFIG'
    | 'BLOCKED_AWAITING_ANSWER';
  /**
   * What the Hands changed, measured by the runner, also when it was undone.
   */
  blast_radius: {
    files_touched: number;
    lines_added: number;
    lines_deleted: number;
    new_files: number;
  };
  /**
   * What was touched and what of it broke a rule.
   */
  scope: {
    /**
     * True when no judging rule fired.
     */
    ok: boolean;
    /**
     * The evidence behind the verdict; a last item says how many were left out.
     *
     * @minItems 0
     * @maxItems 200
     */
    violations: string[];
    /**
     * Paths that changed; a last item says how many were left out.
     *
     * @minItems 0
     * @maxItems 500
     */
    touched_paths: string[];
  };
  /**
   * The change as a patch.
   */
  diff: {
    files_changed: number;
    lines_changed: number;
    /**
     * Where the change is kept as a patch.
     */
    diff_patch_path: string;
  };
  /**
   * What the runner itself ran to prove the work.
   */
  verification: {
    /**
     * Checks are started from an argument list, never through a shell.
     */
    exec_mode: 'argv_no_shell';
    /**
     * One entry per check that was started, in order.
     *
     * @minItems 0
     * @maxItems 40
     */
    runs: {
      template_id: string;
      phase: 'fast' | 'slow';
      cmd: string;
      /**
       * @minItems 0
       * @maxItems 40
       */
      args: string[];
      /**
       * 128+n for a signal, -1 where the program did not start.
       */
      exit_code: number;
      duration_ms: number;
      timed_out: boolean;
    }[];
    /**
     * Where the checks' output is kept.
     */
    verify_log_path: string;
  };
  /**
   * The milestone's counters after this tick.
   */
  budgets: {
    milestone_id: string;
    ticks: number;
    orchestrator_calls: number;
    builder_calls: number;
    verify_runs: number;
    estimated_cost_usd: number;
    /**
     * Everything worth saying that is not evidence.
     *
     * @minItems 0
     * @maxItems 20
     */
    warnings: string[];
  };
  /**
   * Where to read on.
   */
  pointers?: {
    report_md_path?: string;
    history_dir?: string;
  };
}

/**
 * What the runner remembers between ticks.
 */
export interface State {
  version: '1.0';
  /**
   * Ticks ever started.
   */
  sequence: number;
  /**
   * A budget of the current milestone has passed the warning share.
   */
  budget_warning: boolean;
  /**
   * What each milestone has spent; the numbers never fall.
   */
  milestones: {
    milestone_id: string;
    ticks: number;
    orchestrator_calls: number;
    builder_calls: number;
    verify_runs: number;
    patch_attempts: number;
    estimated_cost_usd: number;
  }[];
  /**
   * A question the operator has not answered.
   */
  pending_question?: {
    /**
     * The tick this belongs to.
     */
    run_id: string;
    task_id: string;
    milestone_id: string;
    prompt: string;
    choices: string[];
    /**
     * When it was asked.
     */
    asked_at: string;
  };
  /**
   * An answer the Brain has not been given yet.
   */
  answer?: {
    /**
     * The tick this belongs to.
     */
    run_id: string;
    prompt: string;
    text: string;
    /**
     * When it was answered.
     */
    answered_at: string;
  };
  /**
   * No call before this time: a provider's limit.
   */
  not_before?: string;
  /**
   * Things the operator has to look at.
   */
  notices: {
    /**
     * The tick this belongs to.
     */
    run_id: string;
    text: string;
  }[];
  /**
   * The tick this belongs to.
   */
  last_run_id?: string;
  /**
   * The tick this belongs to.
   */
  last_task_run_id?: string;
}

/**
 * One unit of work as the Brain proposes it. The runner checks it before any file is edited.
 */
export interface Task {
  /**
   * A name for this task, unique enough to be found again in the history.
   */
  task_id: string;
  /**
   * The milestone whose budget pays for this task; must be the config's.
   */
  milestone_id: string;
  /**
   * execute may edit files; verify_only runs checks and question asks the operator, and neither may leave any change.
   */
  task_kind: 'execute' | 'verify_only' | 'question';
  /**
   * What the task is for, in words a person can judge.
   */
  intent: string;
  /**
   * Needed when task_kind is question.
   */
  question?: {
    /**
     * What the operator is asked.
     */
    prompt: string;
    /**
     * Answers to choose from; none means free text.
     *
     * @minItems 0
     * @maxItems 12
     */
    choices?: string[];
  };
  /**
   * Where the Hands may work.
   */
  scope: {
    /**
     * A touched path must match one of these.
     *
     * @minItems 1
     * @maxItems 64
     */
    allowed_globs: string[];
    /**
     * A touched path must match none of these; the config's are added.
     *
     * @minItems 0
     * @maxItems 64
     */
    forbidden_globs: string[];
    /**
     * Whether files may be created.
     */
    allow_new_files: boolean;
    /**
     * Whether the lockfiles named in the config may change.
     */
    allow_lockfile_changes: boolean;
  };
  /**
   * How large the change may be.
   */
  diff_limits: {
    /**
     * More touched files than this stop the tick.
     */
    max_files_touched: number;
    /**
     * More added and deleted lines than this stop the tick.
     */
    max_lines_changed: number;
  };
  /**
   * Which of the config's checks prove the work.
   */
  verification: {
    /**
     * Template ids run first, in order; the first failure ends verification.
     *
     * @minItems 0
     * @maxItems 16
     */
    fast: string[];
    /**
     * Template ids run after all fast ones have passed.
     *
     * @minItems 0
     * @maxItems 16
     */
    slow: string[];
    /**
     * Values for templates with placeholders: template id, then parameter name.
     */
    params?: {
      [k: string]: {
        [k: string]: string | number | boolean | null;
      };
    };
  };
  /**
   * How the work is carried out.
   */
  builder: {
    /**
     * claude_code calls the Hands; patch applies the diff given here without calling anyone.
     */
    mode: 'claude_code' | 'patch';
    /**
     * Most turns the Hands may take; the config's limit also holds.
     */
    max_turns: number;
    /**
     * What the Hands are told to do.
     */
    instructions: string;
    /**
     * A unified diff; needed in patch mode.
     */
    patch?: string;
  };
}
