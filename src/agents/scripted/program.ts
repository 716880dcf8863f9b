/** The stand-in executable: takes the command line of claude as strictly as claude, and plays a scenario file. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { checkArgv, FLAG_NAMES, type Flags } from './argv.js';
import { endRunning, exitOf, perform, stdoutOf, type Scenario, type Step } from './play.js';

const PROMPT_TAIL_CHARS = 4000;

/** A reason to end with exit code 1, one line on stderr and nothing on stdout. */
class Refusal extends Error {}

async function main(args: readonly string[]): Promise<void> {
  const words = args.join(' ');
  if (words === '--version') return print('0.1.0 (Relais scripted agent)\n', 0);
  if (words === '--help') return print(`${FLAG_NAMES.join('\n')}\n`, 0);
  if (words === 'auth status') return print('{"loggedIn":true,"authMethod":"none"}\n', 0);
  const isRoot = process.getuid?.() === 0;
  const checked = checkArgv(args, { isRoot, sandbox: process.env['IS_SANDBOX'] === '1' });
  if (!checked.ok) throw new Refusal(checked.line);
  const prompt = await readPrompt();
  const step = nextStep(args, prompt);
  await perform(step.do ?? [], shellEnv(checked.flags));
  await print(stdoutOf(step, checked.flags), exitOf(step));
}

async function readPrompt(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const prompt = Buffer.concat(chunks).toString('utf8');
  if (prompt.trim() === '')
    throw new Refusal('Error: Input must be provided either through stdin or as a prompt argument when using --print');
  // The real program would run it as a command and call no model.
  if (prompt.startsWith('/'))
    throw new Refusal(`Error: the prompt begins with a slash command: ${JSON.stringify(prompt.slice(0, 40))}`);
  return prompt;
}

/** The step of this call; the call is written down before anything is done. */
function nextStep(args: readonly string[], prompt: string): Step {
  const file = process.env['RELAIS_SCENARIO'];
  const role = process.env['RELAIS_ROLE'];
  if (!file?.startsWith('/'))
    throw new Refusal('Error: RELAIS_SCENARIO must name a scenario file by its absolute path');
  if (!role) throw new Refusal('Error: RELAIS_ROLE is not set');
  const steps = readScenario(file)[role] ?? [];
  const record = `${file}.calls.ndjson`;
  const lines = existsSync(record) ? readFileSync(record, 'utf8').split('\n') : [];
  const before = lines.filter((line) => line !== '' && (JSON.parse(line) as { role?: string }).role === role).length;
  const call = {
    role,
    argv: args,
    prompt_chars: prompt.length,
    pid: process.pid,
    prompt_tail: prompt.slice(-PROMPT_TAIL_CHARS),
  };
  appendFileSync(record, `${JSON.stringify(call)}\n`);
  const step = steps[Math.min(before, steps.length - 1)];
  if (!step) throw new Refusal(`Error: the scenario has no step for the role ${role}`);
  return step;
}

function readScenario(file: string): Scenario {
  if (!existsSync(file)) throw new Refusal(`Error: there is no scenario file ${file}`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Scenario;
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Refusal(`Error: the scenario file is not JSON: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Commands of the real program see its session. */
function shellEnv(flags: Flags): NodeJS.ProcessEnv {
  return {
    ...process.env,
    CLAUDECODE: '1',
    ...(flags.sessionId !== undefined && { CLAUDE_CODE_SESSION_ID: flags.sessionId }),
  };
}

function print(text: string, code: number): Promise<void> {
  process.exitCode = code;
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

// As measured: exit 0 and no word after SIGINT, 143 and 129 after the others; the running command is ended.
for (const [signal, code] of [
  ['SIGINT', 0],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => {
    endRunning();
    process.exit(code);
  });
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${(error instanceof Error ? error.message : String(error)).replaceAll('\n', ' ')}\n`);
  process.exitCode = 1;
});
