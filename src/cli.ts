#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { packageRoot } from './world/packageRoot.js';

const BAD_COMMAND_LINE = 64;
const INTERNAL_ERROR = 70;

/** Commands are loaded when they are asked for, so that --help stays quick. */
function program(): Command {
  const cli = new Command('relais')
    .description(
      'A local runner for AI coding agents that believes only git, the file system and the exit codes of checks it ran itself.',
    )
    .version(version(), '-V, --version')
    .showHelpAfterError('(relais --help lists the commands)')
    .showSuggestionAfterError()
    .exitOverride();
  const here = { cwd: process.cwd(), env: process.env };
  const ends = (code: number): void => void (process.exitCode = code);

  cli
    .command('init')
    .description('set Relais up in this repository')
    .option('--yes', 'write without asking')
    .option('--dry-run', 'show what would be written')
    .option('--json', 'one JSON object on stdout')
    .action(async (given: { yes?: boolean; dryRun?: boolean; json?: boolean }) => {
      const { initCommand } = await import('./commands/init.js');
      ends(
        await initCommand({
          ...here,
          yes: given.yes === true,
          dryRun: given.dryRun === true,
          json: given.json === true,
        }),
      );
    });
  cli
    .command('run')
    .description('run one tick')
    .option('--json', 'one JSON object on stdout')
    .option('--quiet', 'no progress lines')
    .action(async (given: { json?: boolean; quiet?: boolean }) => {
      const { runCommand } = await import('./commands/run.js');
      ends(
        await runCommand({ ...here, signal: interruption(), json: given.json === true, quiet: given.quiet === true }),
      );
    });
  cli
    .command('status')
    .description('where things stand; with --preflight, whether a tick could start')
    .option('--preflight', 'evaluate every row of the preflight table')
    .option('--json', 'one JSON object on stdout')
    .action(async (given: { preflight?: boolean; json?: boolean }) => {
      const { statusCommand } = await import('./commands/status.js');
      ends(await statusCommand({ ...here, preflight: given.preflight === true, json: given.json === true }));
    });
  cli
    .command('answer')
    .description('answer the pending question')
    .argument('[text...]', 'the answer')
    .option('--choice <n>', 'one of the choices offered, by number', positive)
    .option('--json', 'one JSON object on stdout')
    .action(async (text: string[], given: { choice?: number; json?: boolean }) => {
      const { answerCommand } = await import('./commands/answer.js');
      ends(
        await answerCommand({
          ...here,
          text: text.join(' '),
          ...(given.choice !== undefined && { choice: given.choice }),
          json: given.json === true,
        }),
      );
    });
  cli
    .command('recover')
    .description('finish or undo an interrupted tick')
    .option('--dry-run', 'show what it would do')
    .option('--json', 'one JSON object on stdout')
    .action(async (given: { dryRun?: boolean; json?: boolean }) => {
      const { recoverCommand } = await import('./commands/recover.js');
      ends(await recoverCommand({ ...here, dryRun: given.dryRun === true, json: given.json === true }));
    });
  cli
    .command('doctor')
    .description('check everything a tick needs')
    .option('--json', 'one JSON object on stdout')
    .action(async (given: { json?: boolean }) => {
      const { doctorCommand } = await import('./commands/doctor.js');
      ends(await doctorCommand({ ...here, json: given.json === true }));
    });
  cli
    .command('demo')
    .description('watch two real ticks in a scratch repository; no account, no network')
    .option('--keep', 'keep the scratch repository')
    .action(async (given: { keep?: boolean }) => {
      const { demoCommand } = await import('./commands/demo.js');
      ends(await demoCommand({ keep: given.keep === true, json: false }));
    });
  cli
    .command('fixtures')
    .description('run the contract fixtures, all or by name')
    .argument('[names...]', 'for example F001 F005')
    .option('--json', 'one JSON object on stdout')
    .action(async (names: string[], given: { json?: boolean }) => {
      const { fixturesCommand } = await import('./commands/fixtures.js');
      ends(await fixturesCommand(names, { json: given.json === true }));
    });
  cli.addHelpText(
    'after',
    '\nExamples:\n  relais demo\n  relais init && relais doctor && relais run\n  relais status --preflight\n  relais answer --choice 1\n\nExit codes: 0 done, 1 waiting for you, 2 STOP, 3 BLOCKED, 64 bad command line, 70 internal error, 130/143 interrupted.',
  );
  return cli;
}

function version(): string {
  const text = readFileSync(`${packageRoot()}/package.json`, 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function positive(value: string): number {
  if (!/^[1-9]\d{0,2}$/.test(value)) throw new InvalidArgumentError('a number from 1 on is needed');
  return Number(value);
}

/** One signal for the whole tick; its reason is the name of what arrived first. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted)
        process.stderr.write(`${name}: still cleaning up (ending children, rolling back, reporting)\n`);
      else controller.abort(name);
    });
  }
  return controller.signal;
}

async function main(): Promise<void> {
  try {
    await program().parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : BAD_COMMAND_LINE;
      return;
    }
    process.stderr.write(
      `relais: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\nPlease report this; \`relais doctor\` may say more, \`relais recover\` puts an interrupted tick in order.\n`,
    );
    process.exitCode = INTERNAL_ERROR;
  }
}

await main();
