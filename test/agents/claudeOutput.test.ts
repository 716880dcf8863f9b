import { describe, expect, test } from 'vitest';
import type { AgentResult } from '../../src/agents/agent.js';
import { claude } from '../../src/agents/claude.js';
import type { ChildEnd } from '../../src/model.js';
import { anEnd, aRequest, aResult } from './requests.js';

const read = (end: ChildEnd): AgentResult => claude.read(end, aRequest());
/** `failed/auth`, `limited`, `answered` … */
const verdict = (result: AgentResult): string => (result.kind === 'failed' ? `failed/${result.class}` : result.kind);

/** An API error as the program reports it: subtype success, is_error true. */
const api = (status: number | null, result: string, more: object = {}): object =>
  aResult({ is_error: true, api_error_status: status, result, ...more });
/** An error_* subtype: errors instead of result, no status. */
const own = (subtype: string, errors: string[], more: object = {}): object => {
  const { result: _result, api_error_status: _status, ...rest } = aResult({ subtype, is_error: true, errors, ...more });
  return rest;
};

type Row = readonly [situation: string, exit: number, stdout: string | object, expected: string, stderr?: string];
const FAILURES: readonly Row[] = [
  [
    'max turns',
    1,
    own('error_max_turns', ['Reached maximum number of turns (1)'], { num_turns: 2 }),
    'failed/max_turns',
  ],
  ['max budget', 1, own('error_max_budget_usd', ['Reached maximum budget ($0.01)']), 'failed/max_budget'],
  ['401, API key', 1, api(401, 'Invalid API key · Fix external API key'), 'failed/auth'],
  ['401, subscription', 1, api(401, 'Not logged in · Please run /login'), 'failed/auth'],
  ['no credentials', 1, api(null, 'Not logged in · Please run /login'), 'failed/auth'],
  ['403', 1, api(403, 'Failed to authenticate. API Error: 403 {"type":"error"}'), 'failed/auth'],
  ['400', 1, api(400, 'API Error: 400 bad field'), 'failed/invalid_request'],
  ['credit balance', 1, api(400, 'Credit balance is too low'), 'failed/billing'],
  ['404 model', 1, api(404, "There's an issue with the selected model (foo). It may not exist"), 'failed/model'],
  [
    '429, API key',
    1,
    api(429, 'API Error: Request rejected (429) · Number of requests has exceeded your rate limit'),
    'failed/throttled',
  ],
  ['429 + retry-after over 60', 1, api(429, 'API Error: Request rejected (429) · slow down'), 'failed/throttled'],
  ['429 subscription limit', 1, api(429, "You've hit your session limit · resets 7:22am (UTC)"), 'limited'],
  [
    '429 subscription, no limit headers',
    1,
    api(429, 'API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited'),
    'failed/throttled',
  ],
  [
    '529, Opus [197]',
    1,
    api(null, 'API Error: Repeated 529 Overloaded errors. The API is at capacity'),
    'failed/server',
  ],
  [
    '529, Opus [326]',
    1,
    api(529, 'API Error: Repeated 529 Overloaded errors', { terminal_reason: 'api_error' }),
    'failed/server',
  ],
  ['529, Sonnet', 1, api(529, 'API Error: 529 Overloaded. This is a server-side issue'), 'failed/server'],
  ['500', 1, api(500, 'API Error: 500 Internal server error'), 'failed/server'],
  ['network down [197]', 1, api(null, 'API Error: Unable to connect to API (ConnectionRefused)'), 'failed/network'],
  [
    'network down [326]',
    1,
    api(null, 'API Error: Connection refused — check the proxy (ECONNREFUSED)'),
    'failed/network',
  ],
  ['connection reset', 1, api(null, 'API Error: Unable to connect to API (ECONNRESET)'), 'failed/network'],
  ['no response headers', 1, api(null, 'Request timed out'), 'failed/network'],
  ['stream stalls, exit 0, half an object', 0, '{"type":"result","subtype":"succ', 'failed/unreadable'],
  [
    'prompt too long',
    1,
    api(400, 'Prompt is too long · try less', { terminal_reason: 'prompt_too_long' }),
    'failed/too_long',
  ],
  [
    'refusal [197]',
    1,
    api(
      null,
      'API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy (x)',
    ),
    'failed/refusal',
  ],
  [
    'refusal [326]',
    1,
    api(null, "API Error: the model's safeguards flagged this message for a topic"),
    'failed/refusal',
  ],
  [
    'output cut at max tokens',
    1,
    api(null, "API Error: Claude's response exceeded the 64000 output token maximum. To configure"),
    'failed/max_output',
  ],
  [
    'schema never met',
    1,
    own('error_max_structured_output_retries', ['Failed to provide valid structured output after 5 attempts']),
    'failed/schema',
  ],
  ['unknown flag', 1, '', 'failed/refused', "error: unknown option '--x'\n"],
  [
    'root + bypass',
    1,
    '',
    'failed/refused',
    '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n',
  ],
  ['no prompt', 1, '', 'failed/refused', 'Error: Input must be provided\n'],
  ['SIGTERM', 143, '', 'failed/killed'],
  ['SIGHUP', 129, '', 'failed/killed'],
  ['SIGINT while waiting, empty', 0, '', 'failed/no_output'],
  ['SIGINT while waiting, JSON [326]', 0, own('error_during_execution', []), 'interrupted'],
  [
    'SIGINT during a tool, exit 0',
    0,
    own('error_during_execution', [], { terminal_reason: 'aborted_tools' }),
    'interrupted',
  ],
  [
    'SIGINT during a tool, exit 1',
    1,
    own('error_during_execution', [], { terminal_reason: 'aborted_tools' }),
    'interrupted',
  ],
  ['API error with exit 0 (2.1.49)', 0, api(500, 'API Error: 500'), 'failed/server'],
  ['an answer without text', 0, aResult({ result: '' }), 'failed/empty'],
  ['blank text', 0, aResult({ result: ' \n' }), 'failed/empty'],
  [
    'a slash command [197]',
    0,
    aResult({ num_turns: 0, total_cost_usd: 0, result: 'Unknown command: /foo' }),
    'failed/not_asked',
  ],
  ['no result text', 0, aResult({ result: undefined }), 'failed/unreadable'],
  ['result is not a string', 0, aResult({ result: 7 }), 'failed/unreadable'],
  ['is_error is missing', 0, aResult({ is_error: undefined }), 'failed/unknown'],
  ['a success with exit 1', 1, aResult(), 'failed/unknown'],
  ['an unknown subtype', 0, aResult({ subtype: 'error_new' }), 'failed/unknown'],
  [
    'truncated at 64 kB with exit 0',
    0,
    JSON.stringify(aResult({ result: 'x'.repeat(70_000) })).slice(0, 65_536),
    'failed/unreadable',
  ],
  ['another type', 0, { type: 'assistant' }, 'failed/unreadable'],
  ['a bare string', 0, '"result"', 'failed/unreadable'],
  ['plain words', 0, 'Execution error', 'failed/unreadable'],
];

const CASES = FAILURES.map(([situation, exitCode, stdout, expected, stderr = '']) => ({
  situation,
  expected,
  stderr,
  end: anEnd(stdout, { exitCode, stderr: Buffer.from(stderr) }),
}));

describe('a failed call', () => {
  test.each(CASES)('$situation is $expected', ({ end, expected }) => {
    expect(verdict(read(end))).toBe(expected);
  });

  test.each(CASES.filter(({ expected }) => expected.startsWith('failed')))(
    '$situation says what to do next',
    ({ end, stderr }) => {
      const result = read(end);
      expect(result.kind === 'failed' && result.message).toMatch(/^\S.* \(.+\)$/);
      expect(result).toHaveProperty('message', expect.stringContaining(stderr.trim()));
    },
  );

  test('keeps its cost where the program told it, else the cost is unknown', () => {
    expect(read(anEnd(own('error_max_turns', ['x'], { num_turns: 2 }), { exitCode: 1 })).call).toMatchObject({
      costUsd: 0.0075,
      turns: 2,
    });
    for (const cost of [undefined, null, '0.1', -1])
      expect(read(anEnd(aResult({ total_cost_usd: cost }))).call.costUsd).toBeNull();
    expect(read(anEnd('', { exitCode: 143 })).call.costUsd).toBeNull();
  });

  test.each([
    ['not_started', 'failed/not_started'],
    ['signalled', 'failed/killed'],
    ['output_cap', 'failed/output_cap'],
    ['timed_out', 'timed_out'],
    ['interrupted', 'interrupted'],
  ] as const)('that ended by %s is never an answer, whatever it printed', (how, expected) => {
    const result = read(anEnd(aResult(), { how, exitCode: how === 'not_started' ? -1 : 0, error: 'ENOENT' }));
    expect(verdict(result)).toBe(expected);
    expect(result.call.costUsd).toBe(0.0075);
  });

  test('carries no control characters into its message', () => {
    const result = read(anEnd(api(400, 'API Error: 400 \u001b[31mred\u202e\u0007 text\nsecond'), { exitCode: 1 }));
    expect(result).toHaveProperty('message', expect.stringContaining('API Error: 400 [31mred text ('));
  });
});

describe('an answer', () => {
  const stream = (...events: object[]): string => `${events.map((event) => JSON.stringify(event)).join('\n')}\n`;
  const init = { type: 'system', subtype: 'init', claude_code_version: '2.1.326' };

  test.each([
    ['an object', JSON.stringify(aResult())],
    ['an object over many lines', JSON.stringify(aResult(), null, 2)],
    ['an array', JSON.stringify([init, { type: 'assistant', message: {} }, aResult()])],
    ['a stream', stream(init, { type: 'unheard_of' }, aResult())],
    [
      'a stream with a torn line',
      `${JSON.stringify(init)}\n{"type":"assi{"type":"rate_limit_event"}\n${JSON.stringify(aResult())}`,
    ],
    ['a stream between blank lines and words', `\n\nwarning: [x]\r\n  ${JSON.stringify(aResult())}\r\n\nbye`],
    ['a stream that talks of results', stream({ type: 'user', message: { content: aResult() } }, aResult())],
  ])('is read from %s', (_shape, stdout) => {
    expect(read(anEnd(stdout))).toMatchObject({
      kind: 'answered',
      text: 'hello',
      call: { costUsd: 0.0075, turns: 1, durationMs: 12, tokens: { input_tokens: 1000, output_tokens: 100 } },
    });
  });

  test('keeps fences and blanks as they came', () => {
    expect(read(anEnd(aResult({ result: ' ```json\n{}\n``` ' })))).toHaveProperty('text', ' ```json\n{}\n``` ');
  });

  test('carries the structured output, also when the text is empty', () => {
    expect(read(anEnd(aResult({ result: '', structured_output: { a: 1 } })))).toMatchObject({
      kind: 'answered',
      structured: { a: 1 },
    });
    expect(read(anEnd(aResult({ result: '{"a":1}' })))).not.toHaveProperty('structured');
  });

  test('tells version, refused tools and a near limit', () => {
    const near = { type: 'rate_limit_event', rate_limit_info: { status: 'allowed_warning', utilization: 0.93 } };
    const { call } = read(anEnd(stream(init, near, aResult({ permission_denials: [{ tool_name: 'Write' }, 'junk'] }))));
    expect(call).toMatchObject({
      version: '2.1.326',
      denials: ['Write'],
      notice: "93% of the account's limit is used",
    });
  });

  test('about limits is not a limit', () => {
    expect(read(anEnd(aResult({ result: "You've hit your weekly limit · resets 8am (UTC)" }))).kind).toBe('answered');
  });
});

describe('more than one result', () => {
  const good = aResult();
  const bad = api(500, 'API Error: 500');

  test.each([
    ['the second says success', [bad, good]],
    ['the second says failure', [good, bad]],
    ['both are the same', [good, good]],
  ])('is none, where %s', (_which, both) => {
    const lines = both.map((event) => JSON.stringify(event)).join('\n');
    for (const stdout of [lines, JSON.stringify(both)]) {
      const result = read(anEnd(stdout));
      expect(verdict(result)).toBe('failed/unreadable');
      expect(result).toHaveProperty('message', expect.stringContaining('it holds 2 results'));
      // Nor is either of them believed about the cost.
      expect(result.call).toMatchObject({ costUsd: null, denials: [] });
    }
  });
});

describe('a flood', () => {
  const MB = 1024 * 1024;
  const last = `\n${JSON.stringify(aResult())}\n`;
  const flood = (unit: string, begin = ''): Buffer =>
    Buffer.concat([Buffer.from(begin), Buffer.alloc(30 * MB, unit), Buffer.from(last)]);
  const others = 'lines of it are no events';
  const values = 'it holds more values than any call gives';

  test.each([
    ['short lines', 'y\n', '', others],
    ['blank lines', '\n', 'x', others],
    ['lines with a brace', '{\n', '', others],
    ['lines with a bracket', '[\n', '', others],
    ['torn events', '{"type":"result","subtype":\n', '', others],
    ['brackets', '[', '', values],
    ['empty events', '{}\n', '', values],
    ['an array of empty events', '{},', '[', values],
    ['one event of numbers', '1,', '{"type":"result","a":[', values],
  ])('of %s below the cap is given up, whatever stands behind it', (_of, unit, begin, why) => {
    const result = read(anEnd('', { stdout: flood(unit, begin) }));
    expect(verdict(result)).toBe('failed/unreadable');
    expect(result).toHaveProperty('message', expect.stringContaining(why));
    expect(result.call.costUsd).toBeNull();
  });

  test('of one line is passed over like any other line', () => {
    expect(read(anEnd('', { stdout: flood('x') })).kind).toBe('answered');
  });

  test('is not looked through once the output was cut off', () => {
    // Its beginning would be a second result.
    const stdout = flood('x', last);
    expect(verdict(read(anEnd('', { stdout })))).toBe('failed/unreadable');
    for (const changes of [{ how: 'output_cap', cut: true }, { cut: true }] as const) {
      const result = read(anEnd('', { stdout, ...changes }));
      expect(verdict(result)).toBe('failed/output_cap');
      expect(result.call.costUsd).toBe(0.0075);
    }
  });

  test('on stderr costs neither the class nor what the call has cost', () => {
    const stderr = Buffer.alloc(30 * MB, 'y\n');
    const result = read(anEnd(aResult(), { stderr, cut: true }));
    expect(verdict(result)).toBe('failed/output_cap');
    expect(result.call.costUsd).toBe(0.0075);
    expect(read(anEnd('', { stderr, exitCode: 1 }))).toHaveProperty('message', expect.stringContaining(': y ('));
  });

  test('of refused tools and kinds of tokens is shortened', () => {
    const result = aResult({
      permission_denials: Array.from({ length: 5000 }, () => ({ tool_name: 'Write' })),
      usage: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`tokens_${index}`, 1])),
    });
    const { call } = read(anEnd(result));
    expect([call.denials.length, Object.keys(call.tokens ?? {}).length]).toEqual([1000, 100]);
  });
});

describe('a limit in a stream', () => {
  const rejected = {
    type: 'rate_limit_event',
    rate_limit_info: { status: 'rejected', resetsAt: Date.UTC(2026, 10, 18, 9) / 1000, rateLimitType: 'five_hour' },
  };
  const synthetic = (error: string): object => ({ type: 'assistant', message: { model: '<synthetic>' }, error });
  const lines = (...events: object[]): string => events.map((event) => JSON.stringify(event)).join('\n');

  test('takes the event before the text', () => {
    const end = anEnd(lines(rejected, api(429, "You've hit your session limit · resets 7:22am (UTC)")), {
      exitCode: 1,
    });
    expect(read(end)).toMatchObject({ kind: 'limited', until: '2026-11-18T09:00:00.000Z' });
  });

  test('is known by the event when the words are new', () => {
    expect(read(anEnd(lines(rejected, api(429, 'Come back later')), { exitCode: 1 }))).toMatchObject({
      kind: 'limited',
      until: '2026-11-18T09:00:00.000Z',
    });
  });

  test('is not a limit when the call was answered or failed otherwise', () => {
    expect(read(anEnd(lines(rejected, aResult()))).kind).toBe('answered');
    expect(verdict(read(anEnd(lines(rejected, api(500, 'API Error: 500')), { exitCode: 1 })))).toBe('failed/server');
  });

  test.each([
    ['rate_limit', 'throttled'],
    ['billing_error', 'billing'],
    ['authentication_failed', 'auth'],
    ['server_error', 'server'],
    ['invalid_request', 'invalid_request'],
    ['never_seen', 'unknown'],
  ])('the synthetic word %s decides where nothing else does', (word, expected) => {
    expect(verdict(read(anEnd(lines(synthetic(word), api(null, 'Something new')), { exitCode: 1 })))).toBe(
      `failed/${expected}`,
    );
  });
});
