import { CALLED } from './called.js';
import { kept, callOf, there, told } from './looks.js';
import type { Seen, Switch } from './play.js';
import { plain } from './situations.js';

const orders = ({ files }: Seen): string => files['../orders.txt'] ?? '';

function rows(list: readonly Omit<Switch, 'at'>[]): readonly Switch[] {
  return list.map((row) => ({ ...row, at: plain }));
}

/** Switches that do not get in each other's way: all of them are turned in one tick. */
export const TOGETHER: readonly Switch[] = [
  ...rows(CALLED),
  ...rows([
    {
      key: 'project.goal',
      to: 'Make it sing.',
      look: told('orchestrator', 'PROJECT_GOAL: '),
      normal: 'Keep the sample project working.',
      turned: 'Make it sing.',
    },
    {
      key: 'scope.default_allowed_globs',
      to: ['src/g*'],
      look: told('orchestrator', '- allowed_globs: '),
      normal: '["src/**","tests/**","README.md"]',
      turned: '["src/g*"]',
    },
    {
      key: 'scope.default_allow_new_files',
      to: true,
      look: told('orchestrator', '- allow_new_files: '),
      normal: 'false',
      turned: 'true',
    },
    {
      key: 'scope.default_allow_lockfile_changes',
      to: true,
      look: told('orchestrator', '- allow_lockfile_changes: '),
      normal: 'false',
      turned: 'true',
    },
    {
      key: 'scope.default_forbidden_globs',
      to: ['.git/**', 'relais/**', 'attic/**'],
      look: (seen) => told('orchestrator', '- forbidden_globs (always added): ')(seen)?.includes('attic'),
      normal: false,
      turned: true,
    },
    {
      key: 'scope.fence_globs',
      to: ['src/**'],
      look: told('orchestrator', "- the operator's fence, which no task can leave: "),
      normal: undefined,
      turned: '["src/**"]',
    },
    {
      key: 'scope.ceilings.max_lines_changed',
      to: 40,
      look: told('orchestrator', '- ceilings no task can raise: '),
      normal: undefined,
      turned: '{"max_lines_changed":40}',
    },
    {
      key: 'diff_limits.default_max_files_touched',
      to: 7,
      look: told('orchestrator', '- max_files_touched: '),
      normal: '12',
      turned: '7',
    },
    {
      key: 'diff_limits.default_max_lines_changed',
      to: 77,
      look: told('orchestrator', '- max_lines_changed: '),
      normal: '400',
      turned: '77',
    },
    {
      key: 'builder.default_mode',
      to: 'patch',
      look: told('orchestrator', '- builder.mode: '),
      normal: 'claude_code',
      turned: 'patch',
    },
    {
      key: 'orchestrator.user_prompt_file',
      to: 'relais/other/brain.user.txt',
      look: told('orchestrator', 'Template: '),
      normal: 'the usual one',
      turned: 'the other one',
    },
    {
      key: 'orchestrator.system_prompt_file',
      to: 'relais/other/brain.system.txt',
      look: (seen) => orders(seen).match(/.*orders for the Brain/g),
      normal: ['The usual orders for the Brain'],
      turned: ['Other orders for the Brain'],
    },
    {
      key: 'orchestrator.task_schema_file',
      to: 'relais/other/task.json',
      look: (seen) => callOf(seen, 'orchestrator').prompt_tail.includes('"title":"The other task"'),
      normal: false,
      turned: true,
    },
    {
      key: 'builder.claude_code.user_prompt_file',
      to: 'relais/other/hands.user.txt',
      look: told('builder', 'Template: '),
      normal: 'the usual one',
      turned: 'the other one',
    },
    {
      key: 'builder.claude_code.system_prompt_file',
      to: 'relais/other/hands.system.txt',
      look: (seen) => orders(seen).match(/.*orders for the Hands/g),
      normal: ['The usual orders for the Hands'],
      turned: ['Other orders for the Hands'],
    },
    {
      key: 'builder.claude_code.builder_result_schema_file',
      to: 'relais/other/result.json',
      look: (seen) => callOf(seen, 'builder').prompt_tail.includes('"title":"The other result"'),
      normal: false,
      turned: true,
    },
  ]),
  ...rows([
    {
      key: 'product_name',
      to: 'Songbook',
      look: ({ status }) => /^product\s+(.*)$/m.exec(status)?.[1],
      normal: 'relais',
      turned: 'Songbook',
    },
    {
      key: 'runner.lockfile',
      to: 'relais/running.lock',
      look: ({ files }) => (files['../during.txt'] ?? '').split('\n').filter((name) => /lock/.test(name)),
      normal: ['lock.json'],
      turned: ['running.lock'],
    },
    {
      key: 'runner.crash_cleanup.delete_tmp_glob',
      to: 'relais/*.part',
      look: there('relais/half.tmp', 'relais/half.part'),
      normal: ['relais/half.part'],
      turned: ['relais/half.tmp'],
    },
    {
      key: 'runner.render_report_md.max_chars',
      to: 500,
      look: ({ files }) =>
        Object.entries(files)
          .filter(([name]) => /REPORT\.md$|report\.md$/.test(name))
          .map(([, text]) => ({ within: text.length <= 500, said: text.includes('cut here') })),
      normal: [
        { within: false, said: false },
        { within: false, said: false },
      ],
      turned: [
        { within: true, said: true },
        { within: true, said: true },
      ],
    },
    {
      key: 'budgets.warn_at_fraction',
      to: 0.005,
      look: (seen) => ({
        warned: seen.end.report?.budgets.warnings.some((line) => line.includes('ticks: 1 of 200')),
        noted: (JSON.parse(seen.files['relais/STATE.json'] ?? '') as { budget_warning: boolean }).budget_warning,
        toldBrain: told('orchestrator', 'WARNING: ')(seen) !== undefined,
      }),
      normal: { warned: false, noted: false, toldBrain: false },
      turned: { warned: true, noted: true, toldBrain: true },
    },
    {
      key: 'history.dir',
      to: 'relais/past',
      look: (seen) => [kept(seen).folder, seen.end.report?.pointers?.history_dir?.replace(/\/[^/]*$/, '')],
      normal: ['relais/history', 'relais/history'],
      turned: ['relais/past', 'relais/past'],
    },
  ]),
];
