// Generated from schemas/ by `npm run gen`. Do not edit.

/** The keys each object of the config knows, by its place; `[]` stands for any item of a list. */
export const CONFIG_KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ['', ['$schema', 'version', 'product_name', 'workspace_dir', 'project', 'runner', 'claude_code_cli', 'models', 'orchestrator', 'builder', 'scope', 'diff_limits', 'verification', 'budgets', 'history']],
  ['project', ['goal', 'milestone_id']],
  ['runner', ['require_git', 'max_tick_seconds', 'lockfile', 'runner_owned_globs', 'crash_cleanup', 'render_report_md', 'commit_on_success']],
  ['runner.crash_cleanup', ['delete_tmp_glob', 'validate_runner_json_files']],
  ['runner.render_report_md', ['enabled', 'max_chars']],
  ['claude_code_cli', ['command', 'output_format', 'no_session_persistence']],
  ['models', ['orchestrator_model', 'orchestrator_fallback_model', 'builder_model', 'builder_fallback_model']],
  ['orchestrator', ['agent', 'max_turns', 'permission_mode', 'allowed_tools', 'system_prompt_file', 'user_prompt_file', 'task_schema_file', 'max_parse_retries_per_tick', 'max_budget_usd', 'max_prompt_chars']],
  ['builder', ['agent', 'default_mode', 'allow_patch_mode', 'claude_code', 'patch']],
  ['builder.claude_code', ['max_turns', 'permission_mode', 'allowed_tools', 'system_prompt_file', 'user_prompt_file', 'builder_result_schema_file', 'max_budget_usd', 'strict_builder_json', 'max_prompt_chars']],
  ['builder.patch', ['max_patch_attempts_per_milestone']],
  ['scope', ['default_allowed_globs', 'default_forbidden_globs', 'default_allow_new_files', 'default_allow_lockfile_changes', 'lockfiles', 'fence_globs', 'ceilings']],
  ['scope.ceilings', ['allow_new_files', 'allow_lockfile_changes', 'max_files_touched', 'max_lines_changed']],
  ['diff_limits', ['default_max_files_touched', 'default_max_lines_changed']],
  ['verification', ['execution_mode', 'max_param_len', 'reject_whitespace_in_params', 'reject_dotdot', 'reject_metachars_regex', 'timeout_fast_seconds', 'timeout_slow_seconds', 'templates', 'env']],
  ['verification.templates[]', ['id', 'cmd', 'args', 'params']],
  ['budgets', ['per_milestone', 'warn_at_fraction']],
  ['budgets.per_milestone', ['max_ticks', 'max_orchestrator_calls', 'max_builder_calls', 'max_verify_runs', 'max_estimated_cost_usd']],
  ['history', ['enabled', 'dir', 'max_mb', 'include_diff_patch', 'include_verify_log']],
]);
