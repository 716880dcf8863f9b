import { code, ends } from './looks.js';
import type { Seen, Switch } from './play.js';
import * as at from './situations.js';

const TAINTED = 'STOP_VERIFY_TAINTED';

/** How the tick ended, and what its one check was given at last. */
function lastArg({ end }: Seen): [string, string | undefined] {
  return [end.outcome.code, end.report?.verification.runs[0]?.args.at(-1)];
}

/** Switches about how work is checked: each is turned in a tick of its own. */
export const CHECKS: readonly Switch[] = [
  ends('verification.timeout_fast_seconds', 1, at.naps, ['STOP_VERIFY_FAILED_FAST', 'timed out']),
  ends('verification.timeout_slow_seconds', 1, at.naps, ['STOP_VERIFY_FAILED_SLOW', 'timed out']),
  ends('verification.max_param_len', 8, at.withParam('test_filter', 'ninechars'), [TAINTED, '8']),
  ends('verification.reject_metachars_regex', '[%]', at.withParam('test_filter', 'a%b'), [TAINTED, 'metachars']),
  {
    key: 'verification.reject_metachars_regex',
    to: '[%]',
    at: at.withParam('test_filter', 'a;b'),
    look: lastArg,
    normal: [TAINTED, undefined],
    turned: ['SUCCESS', 'a;b'],
  },
  {
    key: 'verification.reject_whitespace_in_params',
    to: false,
    at: at.withParam('test_filter', 'a b'),
    look: lastArg,
    normal: [TAINTED, undefined],
    turned: ['SUCCESS', 'a b'],
  },
  {
    key: 'verification.reject_dotdot',
    to: false,
    at: at.withParam('test_filter', 'a..b'),
    look: lastArg,
    normal: [TAINTED, undefined],
    turned: ['SUCCESS', 'a..b'],
  },
  {
    key: 'verification.templates[].params.*.kind',
    also: {
      verification: {
        templates: [
          {
            id: 'test_file',
            cmd: 'node',
            args: ['checks/check.js', 'pass', '{{file}}'],
            params: { file: { kind: 'string_token' } },
          },
        ],
      },
    },
    at: at.withParam('test_file', '/somewhere/else'),
    look: lastArg,
    normal: [TAINTED, undefined],
    turned: ['SUCCESS', '/somewhere/else'],
  },
  {
    key: 'verification.templates[].id',
    also: {
      verification: {
        templates: ['lint', 'test', 'sing'].map((id) => ({ id, cmd: 'node', args: ['checks/check.js', 'pass'] })),
      },
    },
    at: at.plain,
    look: ({ calls }) => calls[0]?.prompt_tail.split('\n').includes('- sing'),
    normal: false,
    turned: true,
  },
  {
    key: 'verification.env',
    to: { SWITCH: 'on' },
    at: at.asksEnvironment,
    look: code,
    normal: 'STOP_VERIFY_FAILED_FAST',
    turned: 'SUCCESS',
  },
];
