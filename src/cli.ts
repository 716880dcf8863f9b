#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { helpOf } from './commands/help.js';
import { interruption } from './commands/interruption.js';
import { collect, number, positive } from './commands/options.js';
import { EXIT_CODE } from './outcome.js';
import { packageRoot } from './world/packageRoot.js';

const JSON_OPTION = ['--json', 'print one JSON object on stdout'] as const;

/** The flags of a command as commander hands them over. */
type Flags = Readonly<Record<string, string | boolean | number | string[] | undefined>>;

/** Commands are loaded when they are asked for, so that --help stays quick. */
function program(): Command {
  const cli = new Command('relais')
    .description(
      'One tick of agent coding at a time: the Brain proposes, the Hands edit, the Judge looks at what is on disk.',
    )
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(relais --help lists the commands)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of [addInit, addDoctor, addRun, addStatus, addAnswer, addSalvage, addRejected, addUndo]) add(cli);
  for (const add of [addRecover, addUnlock, addDemo, addFixtures]) add(cli);
  for (const command of cli.commands) command.showHelpAfterError(`(relais ${command.name()} --help says more)`);
  return cli.addHelpText('after', helpOf('relais'));
}

function addInit(cli: Command): void {
  cli
    .command('init')
    .description('set Relais up in this repository; shows what it would write, overwrites nothing')
    .option('--yes', 'write without asking')
    .option('--dry-run', 'only show what would be written')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('init'))
    .action(async (given: Flags) => {
      const { initCommand } = await import('./commands/init.js');
      end(await initCommand({ ...here(given), yes: given['yes'] === true, dryRun: given['dryRun'] === true }));
    });
}

function addDoctor(cli: Command): void {
  cli
    .command('doctor')
    .description('check everything a tick needs; changes nothing, calls no model')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('doctor'))
    .action(async (given: Flags) => {
      const { doctorCommand } = await import('./commands/doctor.js');
      end(await doctorCommand(here(given)));
    });
}

function addRun(cli: Command): void {
  cli
    .command('run')
    .description('run one tick')
    .option('--quiet', 'no progress lines')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('run'))
    .action(async (given: Flags) => {
      const { runCommand } = await import('./commands/run.js');
      end(await runCommand({ ...here(given), signal: interruption(), quiet: given['quiet'] === true }));
    });
}

function addStatus(cli: Command): void {
  cli
    .command('status')
    .description('show where things stand; writes nothing')
    .option('--preflight', 'show every reason why a tick could not start')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('status'))
    .action(async (given: Flags) => {
      const { statusCommand } = await import('./commands/status.js');
      end(await statusCommand({ ...here(given), preflight: given['preflight'] === true }));
    });
}

function addAnswer(cli: Command): void {
  cli
    .command('answer')
    .description('answer the pending question; the next tick passes the answer on')
    .argument('[text...]', 'the answer in your own words')
    .option('--choice <n>', 'one of the choices offered, by its number', positive)
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('answer'))
    .action(async (text: string[], given: Flags) => {
      const { answerCommand } = await import('./commands/answer.js');
      const choice = typeof given['choice'] === 'number' ? { choice: given['choice'] } : {};
      end(await answerCommand({ ...here(given), text: text.join(' '), ...choice }));
    });
}

function addSalvage(cli: Command): void {
  cli
    .command('salvage')
    .description('judge refused work again, maybe by a wider task; calls no agent')
    .argument('<run_id>', 'the run, or how its id begins, or "last"')
    .option('--allow <glob>', 'paths that may be touched besides the task’s own; can be repeated', collect, [])
    .option('--max-lines <n>', 'how many lines may change', number)
    .option('--max-files <n>', 'how many files may be touched', number)
    .option('--allow-new-files', 'files may be created')
    .option('--allow-lockfile', 'lockfiles may change')
    .option('--quiet', 'no progress lines')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('salvage'))
    .action(async (run: string, given: Flags) => {
      const { salvageCommand } = await import('./commands/salvage.js');
      const { allow, maxLines, maxFiles } = given;
      const widening = {
        allow: Array.isArray(allow) ? allow : [],
        ...(typeof maxLines === 'number' && { maxLines }),
        ...(typeof maxFiles === 'number' && { maxFiles }),
        allowNewFiles: given['allowNewFiles'] === true,
        allowLockfile: given['allowLockfile'] === true,
      };
      const quiet = given['quiet'] === true;
      end(await salvageCommand({ ...here(given), signal: interruption(), quiet, run, widening }));
    });
}

function addRejected(cli: Command): void {
  cli
    .command('rejected')
    .description('list refused work that can be salvaged, or clean it away by age')
    .option('--prune', 'remove what is older than --older-than')
    .option('--older-than <days>', 'with --prune: how old, in days (default: 30)', number)
    .option('--dry-run', 'with --prune: only show what would be removed')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('rejected'))
    .action(async (given: Flags) => {
      const { rejectedCommand } = await import('./commands/rejected.js');
      const { olderThan } = given;
      const flags = { prune: given['prune'] === true, dryRun: given['dryRun'] === true };
      end(await rejectedCommand({ ...here(given), ...flags, ...(typeof olderThan === 'number' && { olderThan }) }));
    });
}

function addUndo(cli: Command): void {
  cli
    .command('undo')
    .description('take back the last accepted tick as a new commit')
    .argument('[run_id]', 'the run to take back, or how its id begins')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('undo'))
    .action(async (run: string | undefined, given: Flags) => {
      const { undoCommand } = await import('./commands/undo.js');
      end(await undoCommand({ ...here(given), signal: interruption(), ...(run !== undefined && { run }) }));
    });
}

function addRecover(cli: Command): void {
  cli
    .command('recover')
    .description('finish or undo an interrupted tick')
    .option('--dry-run', 'only show what it would do')
    .option('--keep', 'undo nothing: close the interrupted tick and leave everything as it is now')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('recover'))
    .action(async (given: Flags) => {
      const { recoverCommand } = await import('./commands/recover.js');
      end(await recoverCommand({ ...here(given), dryRun: given['dryRun'] === true, keep: given['keep'] === true }));
    });
}

function addUnlock(cli: Command): void {
  cli
    .command('unlock')
    .description('show the lock; with --force remove one whose tick is surely gone')
    .argument('[run_id]', 'with --force: the run the lock names, or the word "damaged" for one that can’t be read')
    .option('--force', 'remove the lock, after the run id was given')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('unlock'))
    .action(async (run: string | undefined, given: Flags) => {
      const { askOnTerminal, unlockCommand } = await import('./commands/unlock.js');
      const named = run === undefined ? {} : { run };
      end(await unlockCommand({ ...here(given), force: given['force'] === true, ...named, ...askOnTerminal() }));
    });
}

function addDemo(cli: Command): void {
  cli
    .command('demo')
    .description('watch two real ticks in a scratch repository; no account, no network')
    .option('--keep', 'keep the scratch repository')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('demo'))
    .action(async (given: Flags) => {
      const { demoCommand } = await import('./commands/demo.js');
      end(await demoCommand({ keep: given['keep'] === true, json: given['json'] === true, signal: interruption() }));
    });
}

function addFixtures(cli: Command): void {
  cli
    .command('fixtures')
    .description('play the contract fixtures, all of them or by name')
    .argument('[names...]', 'how their names begin, for example F001 F005')
    .option(...JSON_OPTION)
    .addHelpText('after', helpOf('fixtures'))
    .action(async (names: string[], given: Flags) => {
      const { fixturesCommand } = await import('./commands/fixtures.js');
      end(await fixturesCommand(names, { json: given['json'] === true, signal: interruption() }));
    });
}

function here(given: Flags): { cwd: string; env: NodeJS.ProcessEnv; json: boolean } {
  return { cwd: process.cwd(), env: process.env, json: given['json'] === true };
}

function end(code: number): void {
  process.exitCode = code;
}

function version(): string {
  const text = readFileSync(`${packageRoot()}/package.json`, 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Whoever reads our output may leave early (`| head`); a tick must not die of that in its middle. */
function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

async function main(): Promise<void> {
  surviveClosedPipes();
  try {
    await program().parseAsync(process.argv);
  } catch (error) {
    if (error instanceof CommanderError) return end(error.exitCode === 0 ? EXIT_CODE.done : EXIT_CODE.usage);
    const { fail } = await import('./commands/failure.js');
    end(fail(error, process.argv.includes('--json')));
  }
}

await main();
