import { describe, expect, test } from 'vitest';
import type { AgentRequest } from '../../src/agents/agent.js';
import { callAgent } from '../../src/agents/call.js';
import { claude } from '../../src/agents/claude.js';
import type { ChildRequest } from '../../src/model.js';
import { aRequest, anEnd, aResult, SESSION } from './requests.js';

const brain: Partial<AgentRequest> = {
  role: 'orchestrator',
  tools: 'none',
  model: 'opus',
  fallbackModel: 'sonnet',
  maxTurns: 1,
  maxCostUsd: 0.4,
  options: {
    command: 'claude',
    outputFormat: 'json',
    noSessionPersistence: true,
    permissionMode: 'plan',
    allowedTools: '',
  },
};
const options = aRequest().options;
const hermetic = '--setting-sources user --strict-mcp-config';
const ours = `--session-id ${SESSION}`;
const system = `/private/${SESSION}.system.txt`;

/** Words joined by blanks; an empty word is shown as "". */
const shown = (args: readonly string[]): string => args.map((arg) => (arg === '' ? '""' : arg)).join(' ');

const ARGV: readonly [title: string, request: AgentRequest, argv: string][] = [
  [
    'the Brain gets plan mode, no tools and its own system prompt',
    aRequest(brain),
    `-p --output-format json --permission-mode plan --tools "" --max-turns 1 --max-budget-usd 0.4 --system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model opus --fallback-model sonnet`,
  ],
  [
    'the Brain gets the schema when it has more than one turn',
    aRequest({
      ...brain,
      maxTurns: 4,
      outputSchema: '{\n "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x", "type": "object" }',
    }),
    `-p --output-format json --permission-mode plan --tools "" --json-schema {"type":"object"} --max-turns 4 --max-budget-usd 0.4 --system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model opus --fallback-model sonnet`,
  ],
  [
    'the Hands get the listed tools and Write, and only Bash is pre-approved',
    aRequest(),
    `-p --output-format json --permission-mode acceptEdits --tools Read,Edit,Glob,Grep,Bash,Write --allowedTools Bash --max-turns 8 --max-budget-usd 1.5 --append-system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model sonnet --fallback-model haiku`,
  ],
  [
    'the Hands of a question or verify_only task can only read',
    aRequest({ tools: 'read' }),
    `-p --output-format json --permission-mode acceptEdits --tools Read,Glob,Grep --max-turns 8 --max-budget-usd 1.5 --append-system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model sonnet --fallback-model haiku`,
  ],
  [
    'a stream comes with --verbose, and sessions may be kept',
    aRequest({ options: { ...options, outputFormat: 'stream-json', noSessionPersistence: false } }),
    `-p --output-format stream-json --verbose --permission-mode acceptEdits --tools Read,Edit,Glob,Grep,Bash,Write --allowedTools Bash --max-turns 8 --max-budget-usd 1.5 --append-system-prompt-file ${system} ${hermetic} ${ours} --model sonnet --fallback-model haiku`,
  ],
  [
    'a restricted Bash stays restricted, an equal fallback and a zero budget are not passed on',
    aRequest({
      fallbackModel: 'sonnet',
      maxCostUsd: 0,
      options: { ...options, allowedTools: 'Read, Write, Bash(npm test:*, x),Bash(ls:*)' },
    }),
    `-p --output-format json --permission-mode acceptEdits --tools Read,Write,Bash --allowedTools Bash(npm test:*, x),Bash(ls:*) --max-turns 8 --max-budget-usd 0.01 --append-system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model sonnet`,
  ],
  [
    'without Bash nothing is pre-approved',
    aRequest({ options: { ...options, allowedTools: 'Read,Edit' } }),
    `-p --output-format json --permission-mode acceptEdits --tools Read,Edit,Write --max-turns 8 --max-budget-usd 1.5 --append-system-prompt-file ${system} ${hermetic} --no-session-persistence ${ours} --model sonnet --fallback-model haiku`,
  ],
];

describe('the command line of claude', () => {
  test.each(ARGV)('%s', (_title, request, argv) => {
    expect(shown(claude.plan(request).args)).toBe(argv);
  });

  test('never carries a prompt', () => {
    const plan = claude.plan(aRequest({ systemPrompt: 'SYSTEM-WORDS', userPrompt: '# USER-WORDS' }));
    expect(plan.args.join(' ')).not.toMatch(/SYSTEM-WORDS|USER-WORDS/);
    expect(plan.stdin).toBe('# USER-WORDS');
    expect(plan.files).toEqual([{ path: system, text: 'SYSTEM-WORDS' }]);
    expect(plan.stdoutFile).toBe(`/private/${SESSION}.stdout`);
  });

  test.each(['/compact', '  /cost now', '\n/model opus'])(
    'puts a heading before a prompt that looks like a command: %j',
    (userPrompt) => {
      expect(claude.plan(aRequest({ userPrompt })).stdin).toBe(`# Request\n\n${userPrompt}`);
    },
  );

  test('asks with SIGINT first, because only then the cost is told', () => {
    expect(claude.plan(aRequest()).stop.map(([signal]) => signal)).toEqual(['SIGINT', 'SIGTERM']);
  });
});

describe('the environment of claude', () => {
  const outer = {
    PATH: '/bin',
    CLAUDE_CODE_OAUTH_TOKEN: 'dummy',
    CLAUDE_CODE_USE_BEDROCK: '1',
    GIT_AUTHOR_NAME: 'A',
    UNSET: undefined,
  };
  const harmful = [
    'CLAUDECODE',
    'CLAUDE_CODE_CHILD_SESSION',
    'CLAUDE_CODE_SESSION_ID',
    'CLAUDE_CODE_ENTRYPOINT',
    'CLAUDE_CODE_RETRY_WATCHDOG',
    'CLAUDE_CODE_SIMPLE',
    'CLAUDE_CODE_SAFE_MODE',
    'CLAUDE_CODE_MAX_TURNS',
    'GIT_DIR',
    'GIT_WORK_TREE',
    'GIT_INDEX_FILE',
  ];

  test('keeps the login and loses what redirects it', () => {
    const { env } = claude.plan(
      aRequest({ env: { ...outer, ...Object.fromEntries(harmful.map((name) => [name, 'x'])) } }),
    );
    expect(env).toMatchObject({
      PATH: '/bin',
      CLAUDE_CODE_OAUTH_TOKEN: 'dummy',
      CLAUDE_CODE_USE_BEDROCK: '1',
      GIT_AUTHOR_NAME: 'A',
    });
    expect(Object.keys(env).filter((name) => harmful.includes(name) || name === 'UNSET')).toEqual([]);
  });

  test('turns attachments, background tasks, telemetry and long retries off, against the outer environment too', () => {
    const { env } = claude.plan(aRequest({ timeoutMs: 60_000, env: { CLAUDE_CODE_MAX_RETRIES: '15' } }));
    expect(env).toEqual({
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
      CLAUDE_CODE_MAX_RETRIES: '2',
      API_TIMEOUT_MS: '60000',
      BASH_DEFAULT_TIMEOUT_MS: '60000',
      BASH_MAX_TIMEOUT_MS: '60000',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    });
  });
});

test('a call writes its files before the one start and reads the end', async () => {
  const order: string[] = [];
  const started: ChildRequest[] = [];
  const { signal } = new AbortController();
  const result = await callAgent(claude, aRequest({ signal }), {
    writePrivate: async (path, text) => void order.push(`${path}=${text}`),
    run: async (request) => {
      order.push('run');
      started.push(request);
      return anEnd(aResult());
    },
  });
  expect(order).toEqual([`${system}=be small`, 'run']);
  expect(started[0]).toMatchObject({
    program: 'claude',
    cwd: '/repo',
    timeoutMs: 300_000,
    signal,
    stdin: '# Task\n\ndo it',
  });
  expect(result).toMatchObject({
    kind: 'answered',
    text: 'hello',
    call: { agent: 'claude', argv: ['claude', ...claude.plan(aRequest()).args] },
  });
});
