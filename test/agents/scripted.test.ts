import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AgentRequest, AgentResult } from '../../src/agents/agent.js';
import { callAgent } from '../../src/agents/call.js';
import { agentNamed } from '../../src/agents/registry.js';
import { createScripted, scriptedProgram } from '../../src/agents/scripted.js';
import type { ChildEnd, ChildRequest } from '../../src/model.js';
import { aRequest, SESSION } from './requests.js';

const source = fileURLToPath(new URL('../../src/agents/scripted/program.ts', import.meta.url));
const base = mkdtempSync(join(tmpdir(), 'relais-scripted-'));
const program = join(base, 'scripted-agent.mjs');
let folder = '';
let scenarioFile = '';
let count = 0;

beforeAll(async () => {
  await build({
    entryPoints: [source],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  });
});
beforeEach(() => {
  count += 1;
  folder = join(base, String(count), 'work');
  mkdirSync(folder, { recursive: true });
  scenarioFile = join(base, String(count), 'scenario.json');
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** A real process, its whole output, nothing more. */
function run(request: ChildRequest, afterStart?: (kill: (signal: NodeJS.Signals) => void) => void): Promise<ChildEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(request.program, request.args, { cwd: request.cwd, env: { ...request.env } });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', (error: NodeJS.ErrnoException) => error.code === 'EPIPE' || reject(error));
    child.stdin.end(request.stdin);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const how = signal === null ? 'exited' : 'signalled';
      resolve({
        how,
        exitCode: code ?? 128,
        durationMs: 1,
        stdout: Buffer.concat(out),
        stderr: Buffer.concat(err),
        cut: false,
        escapees: [],
      });
    });
    afterStart?.((signal) => child.kill(signal));
  });
}

const writePrivate = async (path: string, text: string): Promise<void> => writeFileSync(path, text, { mode: 0o600 });

function play(scenario: unknown, changes: Partial<AgentRequest> = {}): Promise<AgentResult> {
  writeFileSync(scenarioFile, typeof scenario === 'string' ? scenario : JSON.stringify(scenario));
  return again(changes);
}

function again(changes: Partial<AgentRequest> = {}): Promise<AgentResult> {
  const request = aRequest({
    workTree: folder,
    scratchDir: base,
    env: { PATH: process.env['PATH'], RELAIS_SCENARIO: scenarioFile },
    ...changes,
  });
  return callAgent(createScripted(program), request, { run, writePrivate });
}

const calls = (): Record<string, unknown>[] =>
  readFileSync(`${scenarioFile}.calls.ndjson`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a scenario', () => {
  test('is played as one claude call: it acts, answers, and is written down', async () => {
    const steps = [
      {
        do: [
          { write: 'src/a.txt', text: 'A' },
          { append: 'src/a.txt', text: 'B' },
          { mkdir: 'empty/x' },
          { write: 'gone', text: '' },
          { delete: 'gone' },
          { sh: 'printf %s "$CLAUDE_CODE_SESSION_ID" > id; echo noise' },
        ],
        answer: { summary: 'ok' },
        cost_usd: 0.25,
        turns: 3,
      },
    ];
    const result = await play({ builder: steps });
    expect(result).toMatchObject({
      kind: 'answered',
      text: '{"summary":"ok"}',
      call: { agent: 'scripted', costUsd: 0.25, turns: 3 },
    });
    expect(readFileSync(join(folder, 'src/a.txt'), 'utf8')).toBe('AB');
    expect(readFileSync(join(folder, 'id'), 'utf8')).toBe(SESSION);
    expect([existsSync(join(folder, 'empty/x')), existsSync(join(folder, 'gone'))]).toEqual([true, false]);
    expect(calls()).toEqual([
      {
        role: 'builder',
        argv: result.call.argv.slice(2),
        prompt_chars: 13,
        pid: expect.any(Number),
        prompt_tail: '# Task\n\ndo it',
      },
    ]);
  });

  test('counts the calls of each role by itself, and its last step repeats', async () => {
    const scenario = { orchestrator: [{ text: 'one' }, { text: 'two' }], builder: [{ text: 'built' }] };
    const texts: unknown[] = [];
    const brain: Partial<AgentRequest> = { role: 'orchestrator', tools: 'none' };
    for (const changes of [brain, {}, brain, brain, {}])
      texts.push(await play(scenario, changes).then((result) => result.kind === 'answered' && result.text));
    expect(texts).toEqual(['one', 'built', 'two', 'two', 'built']);
    expect(calls().map((call) => call['role'])).toEqual([
      'orchestrator',
      'builder',
      'orchestrator',
      'orchestrator',
      'builder',
    ]);
  });

  test('is printed as a stream where that is asked for', async () => {
    const result = await play(
      { builder: [{ text: 'hi' }] },
      { options: { ...aRequest().options, outputFormat: 'stream-json' } },
    );
    expect(result).toMatchObject({ kind: 'answered', text: 'hi', call: { version: 'scripted' } });
  });

  test('gives a structured output where a schema was asked for', async () => {
    expect(await play({ builder: [{ answer: { a: 1 } }] }, { outputSchema: '{"type":"object"}' })).toMatchObject({
      kind: 'answered',
      structured: { a: 1 },
    });
  });

  test.each([
    [
      {
        wrapper: {
          is_error: true,
          api_error_status: 429,
          result: "You've hit your session limit · resets 7:22am (UTC)",
        },
      },
      { kind: 'limited', until: '2026-11-18T07:22:00.000Z' },
    ],
    [
      { wrapper: { is_error: true, api_error_status: 401, result: 'Not logged in' } },
      { kind: 'failed', class: 'auth' },
    ],
    [{ raw_stdout: 'half a {' }, { kind: 'failed', class: 'unreadable' }],
    [
      { raw_stdout: '', exit: 1 },
      { kind: 'failed', class: 'refused' },
    ],
    [
      { text: 'x', exit: 3 },
      { kind: 'failed', class: 'unknown' },
    ],
    [{}, { kind: 'failed', class: 'empty' }],
    [
      { do: [{ sh: 'exit 7' }], text: 'went on' },
      { kind: 'answered', text: 'went on' },
    ],
    [
      { do: [{ dance: true }], text: 'x' },
      { kind: 'failed', class: 'refused', message: expect.stringContaining('unknown action {"dance":true}') as string },
    ],
  ])('can fail in every way: %j', async (step, expected) => {
    expect(await play({ builder: [step] })).toMatchObject(expected);
  });

  test.each([
    ['is not JSON', '{', {}, 'the scenario file is not JSON'],
    ['has no steps for the role', '{"builder":[]}', {}, 'no step for the role builder'],
    ['is named by a relative path', '{}', { RELAIS_SCENARIO: 'scenario.json' }, 'absolute path'],
    ['is not there', '{}', { RELAIS_SCENARIO: '/nowhere/scenario.json' }, 'there is no scenario file'],
  ])('that %s is refused', async (_what, scenario, env, message) => {
    const result = await play(scenario, { env: { RELAIS_SCENARIO: scenarioFile, ...env } });
    expect(result).toMatchObject({
      kind: 'failed',
      class: 'refused',
      message: expect.stringContaining(message) as string,
    });
  });
});

/** The command line of a good call, to be spoiled. */
function goodArgs(): string[] {
  const plan = createScripted(program).plan(aRequest({ scratchDir: base }));
  for (const file of plan.files) writeFileSync(file.path, file.text);
  return [...plan.args];
}

function raw(args: readonly string[], stdin = '# Task', env: Record<string, string> = {}): Promise<ChildEnd> {
  writeFileSync(scenarioFile, '{"builder":[{"text":"hi"}]}');
  const whole = { RELAIS_SCENARIO: scenarioFile, RELAIS_ROLE: 'builder', ...env };
  return run({
    program: process.execPath,
    args,
    cwd: folder,
    env: whole,
    stdin,
    timeoutMs: 10_000,
    maxOutputBytes: 1e6,
  });
}

const withValue = (flag: string, value: string) => (args: string[]) =>
  args.map((arg, at) => (args[at - 1] === flag ? value : arg));
const adding =
  (...more: string[]) =>
  (args: string[]) => [...args, ...more];

describe('the command line is taken as strictly as by claude', () => {
  test('a good one passes', async () => {
    expect(await raw(goodArgs())).toMatchObject({ exitCode: 0 });
  });

  test.each<[string, (args: string[]) => string[], RegExp]>([
    ['an unknown flag', adding('--frobnicate'), /^error: unknown option '--frobnicate'$/],
    ['a prompt as an argument', (args) => [args[0]!, 'do it', ...args.slice(1)], /unexpected argument 'do it'/],
    ['a flag without its value', adding('--json-schema'), /argument missing/],
    ['no -p', (args) => args.filter((arg) => arg !== '-p'), /without -p/],
    ['stream-json without --verbose', withValue('--output-format', 'stream-json'), /requires --verbose/],
    ['a bad output format', withValue('--output-format', 'xml'), /'xml' is invalid/],
    ['a bad permission mode', withValue('--permission-mode', 'yolo'), /'yolo' is invalid/],
    ['a session id that is no UUID', withValue('--session-id', 'run-1'), /Must be a valid UUID/],
    ['max turns that is no number', withValue('--max-turns', 'abc'), /'abc' is invalid/],
    ['a budget of 0', withValue('--max-budget-usd', '0'), /'0' is invalid/],
    ['a schema that is a file name', adding('--json-schema', 'task.schema.json'), /not valid JSON/],
    ['a schema that is an array', adding('--json-schema', '[]'), /not valid JSON/],
    [
      'a schema that names a draft it does not know',
      adding('--json-schema', '{"$schema":"https://json-schema.org/draft/2020-12/schema"}'),
      /no schema with key or ref/,
    ],
    ['a bad setting source', withValue('--setting-sources', 'user,cloud'), /Invalid setting source: cloud/],
    ['a system prompt file that is missing', withValue('--append-system-prompt-file', '/nowhere/x'), /not found/],
    ['a fallback equal to the model', withValue('--fallback-model', 'sonnet'), /cannot be the same/],
  ])('%s is refused with one line and no output', async (_what, spoil, line) => {
    const end = await raw(spoil(goodArgs()));
    expect(end).toMatchObject({ how: 'exited', exitCode: 1 });
    expect(end.stdout.toString()).toBe('');
    expect(end.stderr.toString()).toMatch(/^[^\n]+\n$/);
    expect(end.stderr.toString().trim()).toMatch(line);
    expect(existsSync(`${scenarioFile}.calls.ndjson`)).toBe(false);
  });

  test.each([
    ['an empty prompt', '', /Input must be provided/],
    ['a blank prompt', ' \n', /Input must be provided/],
    ['a slash command', '/compact now', /slash command/],
  ])('%s is refused', async (_what, stdin, line) => {
    const end = await raw(goodArgs(), stdin);
    expect([end.exitCode, end.stdout.toString()]).toEqual([1, '']);
    expect(end.stderr.toString()).toMatch(line);
  });

  test.skipIf(process.getuid?.() !== 0)('bypassPermissions is refused for root, unless in a sandbox', async () => {
    const args = withValue('--permission-mode', 'bypassPermissions')(goodArgs());
    const refused = await raw(args);
    expect([refused.exitCode, refused.stdout.toString()]).toEqual([1, '']);
    expect(refused.stderr.toString()).toMatch(/root\/sudo/);
    expect((await raw(args, '# Task', { IS_SANDBOX: '1' })).exitCode).toBe(0);
  });

  test('the questions of doctor are answered', async () => {
    const { probe } = agentNamed('scripted');
    const ask = (args: readonly string[] = []): Promise<ChildEnd> => raw([program, ...args]);
    expect((await ask(probe?.version)).stdout.toString()).toMatch(/^\d+\.\d+\.\d+ /);
    expect(await ask(probe?.login)).toMatchObject({ exitCode: 0 });
    const help = (await ask(probe?.help)).stdout.toString().split('\n');
    expect(probe?.neededFlags.filter((flag) => !help.includes(flag))).toEqual([]);
  });
});

describe('a signal', () => {
  test.each([
    ['SIGINT', 0],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends it with %i, without a word, and ends its running command', async (signal, exitCode) => {
    const pidFile = join(folder, 'pid');
    writeFileSync(
      scenarioFile,
      JSON.stringify({ builder: [{ do: [{ sh: 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 30' }], text: 'late' }] }),
    );
    const env = { PATH: process.env['PATH'] ?? '', RELAIS_SCENARIO: scenarioFile, RELAIS_ROLE: 'builder' };
    const request = {
      program: process.execPath,
      args: goodArgs(),
      cwd: folder,
      env,
      stdin: '# Task',
      timeoutMs: 10_000,
      maxOutputBytes: 1e6,
    };
    const end = await run(request, (kill) => {
      const timer = setInterval(() => {
        if (!existsSync(pidFile)) return;
        clearInterval(timer);
        kill(signal);
      }, 10);
    });
    expect(end).toMatchObject({ how: 'exited', exitCode });
    expect(end.stdout.toString()).toBe('');
    await expect.poll(() => isRunning(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
  // A zombie nobody has waited for yet does not run.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

test('the built program is looked for in dist/', () => {
  expect(scriptedProgram()).toBe(fileURLToPath(new URL('../../dist/scripted-agent.js', import.meta.url)));
  expect(agentNamed('scripted').plan(aRequest()).args[0]).toBe(scriptedProgram());
  expect(agentNamed('claude').name).toBe('claude');
});
