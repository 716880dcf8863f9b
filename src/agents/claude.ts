import { join } from 'node:path';
import type { Agent, AgentRequest, Invocation } from './agent.js';
import { readClaude } from './claudeOutput.js';

const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const READ_TOOLS = 'Read,Glob,Grep';
/** The smallest cap passed on: the program crashes or refuses at 0. */
const MIN_BUDGET_USD = 0.01;

/** Names that would change what the child does; a blanket `CLAUDE_CODE_*` would drop the user's login. */
const DROPPED = [
  'CLAUDECODE',
  'CLAUDE_CODE_CHILD_SESSION',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_RETRY_WATCHDOG',
  'CLAUDE_CODE_SIMPLE',
  'CLAUDE_CODE_SAFE_MODE',
  'CLAUDE_CODE_MAX_TURNS',
  // Set by git around hooks: they would point the agent's own git at another repository.
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_COMMON_DIR',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
] as const;

/** The environment of a claude child: the user's own, without what redirects it, with the quiet settings. */
function claudeEnv(request: AgentRequest): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.env)) if (value !== undefined) env[name] = value;
  for (const name of DROPPED) delete env[name];
  return {
    ...env,
    // Else a command past its timeout moves to the background and the program does not exit.
    CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
    // Else `@path` in the prompt inlines that file, also from outside the repository.
    CLAUDE_CODE_DISABLE_ATTACHMENTS: '1',
    // Else about three minutes of silence on each failing call.
    CLAUDE_CODE_MAX_RETRIES: '2',
    API_TIMEOUT_MS: String(Math.min(120_000, request.timeoutMs)),
    BASH_DEFAULT_TIMEOUT_MS: String(Math.min(120_000, request.timeoutMs)),
    BASH_MAX_TIMEOUT_MS: String(Math.min(600_000, request.timeoutMs)),
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
}

/** Splits a tool list at the commas outside of brackets: `Bash(a, b),Read` is two tools. */
function toolList(text: string): string[] {
  return (text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? []).map((tool) => tool.trim()).filter((tool) => tool !== '');
}

function toolArgs(request: AgentRequest): string[] {
  if (request.tools === 'none') return ['--tools', ''];
  if (request.tools === 'read') return ['--tools', READ_TOOLS];
  const wanted = toolList(request.options.allowedTools);
  const names = new Set(wanted.map((tool) => tool.replace(/\(.*$/s, '')));
  // Without Write no file can be created.
  names.add('Write');
  // Only Bash is pre-approved: naming Write or Edit here would lift the fence around the work tree.
  const bash = wanted.filter((tool) => tool === 'Bash' || tool.startsWith('Bash('));
  return ['--tools', [...names].join(','), ...(bash.length > 0 ? ['--allowedTools', bash.join(',')] : [])];
}

/** The schema as the program takes it: it knows no draft but its own, and refuses a schema that names another. */
function inlineSchema(text: string): string {
  return JSON.stringify(JSON.parse(text), (key, value: unknown) =>
    key === '$schema' || key === '$id' ? undefined : value,
  );
}

function claudeArgs(request: AgentRequest, systemPromptFile: string): string[] {
  const { options } = request;
  const fallback = request.fallbackModel;
  return [
    '-p',
    '--output-format',
    options.outputFormat,
    // stream-json is refused without it.
    ...(options.outputFormat === 'stream-json' ? ['--verbose'] : []),
    '--permission-mode',
    options.permissionMode,
    ...toolArgs(request),
    // With one turn a schema can only lose the answer.
    ...(request.outputSchema !== undefined && request.maxTurns > 1
      ? ['--json-schema', inlineSchema(request.outputSchema)]
      : []),
    '--max-turns',
    String(request.maxTurns),
    '--max-budget-usd',
    String(Math.max(MIN_BUDGET_USD, request.maxCostUsd)),
    request.role === 'builder' ? '--append-system-prompt-file' : '--system-prompt-file',
    systemPromptFile,
    // The repository's own settings could reroute the API and run hooks.
    '--setting-sources',
    'user',
    // No MCP server: `.mcp.json` starts programs.
    '--strict-mcp-config',
    ...(options.noSessionPersistence ? ['--no-session-persistence'] : []),
    '--session-id',
    request.sessionId,
    '--model',
    request.model,
    ...(fallback !== undefined && fallback !== '' && fallback !== request.model ? ['--fallback-model', fallback] : []),
  ];
}

/** The exact start of a claude child for a request. */
export function planClaude(request: AgentRequest): Invocation {
  const systemPromptFile = join(request.scratchDir, `${request.sessionId}.system.txt`);
  return {
    program: request.options.command,
    args: claudeArgs(request, systemPromptFile),
    env: claudeEnv(request),
    // A prompt that begins with `/` would be run as a command of the program's own.
    stdin: /^\s*\//.test(request.userPrompt) ? `# Request\n\n${request.userPrompt}` : request.userPrompt,
    files: [{ path: systemPromptFile, text: request.systemPrompt }],
    // SIGINT is the one signal after which it ends its commands and still says what it spent.
    stop: [
      ['SIGINT', 5000],
      ['SIGTERM', 3000],
    ],
    maxOutputBytes: MAX_OUTPUT_BYTES,
    // A file, not a pipe: it may exit before a pipe is drained.
    stdoutFile: join(request.scratchDir, `${request.sessionId}.stdout`),
  };
}

/** Claude Code, called non-interactively. */
export const claude: Agent = {
  name: 'claude',
  cannot: [
    'cap the cost of one single answer: the budget is looked at after each answer, so one can overshoot it',
    'fence Bash into the work tree: only its file tools are fenced',
    'say when a limit resets under an API key',
  ],
  plan: planClaude,
  read: (end, request) => {
    const { program, args } = planClaude(request);
    return readClaude(end, request, { agent: 'claude', argv: [program, ...args] });
  },
  settings: (env) => {
    const home = env['HOME'];
    const folder = env['CLAUDE_CONFIG_DIR'] ?? (home === undefined ? undefined : `${home}/.claude`);
    return [
      ...(folder === undefined ? [] : [{ path: `${folder}/settings.json` }, { path: `${folder}/CLAUDE.md` }]),
      ...(home === undefined ? [] : [{ path: `${home}/.claude.json`, key: 'mcpServers' }]),
    ];
  },
  probe: {
    version: ['--version'],
    login: ['auth', 'status'],
    help: ['--help'],
    // --max-turns and the -file flags work but are not listed.
    neededFlags: [
      '--tools',
      '--setting-sources',
      '--strict-mcp-config',
      '--permission-mode',
      '--session-id',
      '--json-schema',
    ],
  },
};
