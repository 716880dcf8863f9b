import { callOf, flag, told } from './looks.js';
import type { Switch } from './play.js';

/** Switches that show on the command line of a call. */
export const CALLED: readonly Omit<Switch, 'at'>[] = [
  {
    key: 'models.orchestrator_model',
    to: 'brain-a',
    look: flag('orchestrator', '--model'),
    normal: 'opus',
    turned: 'brain-a',
  },
  {
    key: 'models.orchestrator_fallback_model',
    to: 'brain-b',
    look: flag('orchestrator', '--fallback-model'),
    normal: 'sonnet',
    turned: 'brain-b',
  },
  {
    key: 'models.builder_model',
    to: 'hands-a',
    look: flag('builder', '--model'),
    normal: 'sonnet',
    turned: 'hands-a',
  },
  {
    key: 'models.builder_fallback_model',
    to: 'hands-b',
    look: flag('builder', '--fallback-model'),
    normal: 'haiku',
    turned: 'hands-b',
  },
  {
    key: 'claude_code_cli.output_format',
    to: 'stream-json',
    look: (seen) => [flag('orchestrator', '--output-format')(seen), flag('builder', '--output-format')(seen)],
    normal: ['json', 'json'],
    turned: ['stream-json', 'stream-json'],
  },
  {
    key: 'claude_code_cli.no_session_persistence',
    to: false,
    look: ({ calls }) => calls.map(({ argv }) => argv.includes('--no-session-persistence')),
    normal: [true, true],
    turned: [false, false],
  },
  {
    key: 'orchestrator.max_turns',
    to: 3,
    look: (seen) => ({
      turns: flag('orchestrator', '--max-turns')(seen),
      schema: callOf(seen, 'orchestrator').argv.includes('--json-schema'),
    }),
    normal: { turns: '1', schema: false },
    turned: { turns: '3', schema: true },
  },
  {
    key: 'orchestrator.permission_mode',
    to: 'default',
    look: flag('orchestrator', '--permission-mode'),
    normal: 'plan',
    turned: 'default',
  },
  {
    key: 'orchestrator.max_budget_usd',
    to: 0.25,
    look: flag('orchestrator', '--max-budget-usd'),
    normal: '0.4',
    turned: '0.25',
  },
  {
    // The task asks for four turns: the smaller number holds.
    key: 'builder.claude_code.max_turns',
    to: 2,
    look: (seen) => [flag('builder', '--max-turns')(seen), told('orchestrator', '- builder.max_turns: at most ')(seen)],
    normal: ['4', '8'],
    turned: ['2', '2'],
  },
  {
    key: 'builder.claude_code.permission_mode',
    to: 'dontAsk',
    look: flag('builder', '--permission-mode'),
    normal: 'acceptEdits',
    turned: 'dontAsk',
  },
  {
    key: 'builder.claude_code.allowed_tools',
    to: 'Read,Edit,Bash(npm test)',
    look: (seen) => [flag('builder', '--tools')(seen), flag('builder', '--allowedTools')(seen)],
    normal: ['Read,Edit,Glob,Grep,Bash,Write', 'Bash'],
    turned: ['Read,Edit,Bash,Write', 'Bash(npm test)'],
  },
  {
    key: 'builder.claude_code.max_budget_usd',
    to: 0.75,
    look: flag('builder', '--max-budget-usd'),
    normal: '1.5',
    turned: '0.75',
  },
];
