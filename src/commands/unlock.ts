import type { LockState } from '../model.js';
import { EXIT_CODE } from '../outcome.js';
import { visible } from '../rules/text.js';
import { isReady, locate, lockPath } from '../stages/place.js';
import { createWorld } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions, type Problem } from './output.js';

/** What stands in for the run id of a lock that can't be read. */
const DAMAGED = 'damaged';
const MAX_SHOWN = 400;

export interface UnlockOptions extends CommandOptions {
  readonly force: boolean;
  readonly run?: string;
  /** Asks the operator for the run id; absent where there is no terminal. */
  readonly ask?: (question: string) => Promise<string | undefined>;
}

/** `relais unlock [--force [run_id]]`: shows the lock, and removes one that nobody can tell to be dead if the operator names its run. */
export async function unlockCommand(options: UnlockOptions): Promise<number> {
  const { json, force } = options;
  const world = await createWorld(options);
  const place = await locate(world);
  if (!isReady(place)) {
    const why = 'there is no repository with a valid relais.config.json here, and so no lock';
    return refuse(json, { why, remedy: '`relais status --preflight` says what is missing.' }, EXIT_CODE.blocked);
  }
  const file = lockPath(world, place.repository, place.config);
  const { state, text = '' } = await world.lock.readLock(file, world.host);
  const tell = speaker(json);
  if (state.state === 'free' || (state.state === 'stale' && !force)) {
    tell(
      state.state === 'free'
        ? 'There is no lock.'
        : `The lock is left behind: ${state.why}. The next command takes it over.`,
    );
    if (json) printJson({ ok: true, removed: false, ...shown(state) });
    return EXIT_CODE.done;
  }
  for (const line of lines(state)) tell(line);
  if (!force) return refuse(json, notForced(state), EXIT_CODE.blocked);
  if (state.state === 'held' && state.alive) return refuse(json, running(state), EXIT_CODE.blocked);
  const wanted = state.state === 'corrupt' ? DAMAGED : state.lock.run_id;
  const given = options.run ?? (await options.ask?.(`Type ${what(state)} to remove the lock`));
  if (given !== wanted) return refuse(json, notNamed(state, given), EXIT_CODE.usage);
  if (!(await world.lock.dropLock(file, text)))
    return refuse(
      json,
      { why: 'the lock is another one by now; it was left there', remedy: 'Look again.' },
      EXIT_CODE.blocked,
    );
  tell('Removed the lock. If its tick was interrupted, `relais recover` puts things in order.');
  if (json) printJson({ ok: true, removed: true, ...shown(state) });
  return EXIT_CODE.done;
}

type Found = Exclude<LockState, { state: 'free' }>;

function shown(state: LockState): object {
  if (state.state === 'free') return { state: 'free' };
  return state.state === 'corrupt'
    ? { state: state.state, why: state.why, content: state.content }
    : { state: state.state, why: state.why, lock: state.lock };
}

function lines(state: Found): string[] {
  if (state.state === 'corrupt')
    return [
      `The lock can't be read: ${state.why}`,
      `  content: ${visible(state.content.slice(0, MAX_SHOWN)) || '(none)'}`,
    ];
  const { run_id: run, pid, host, started_at: since } = state.lock;
  return [
    `The lock is ${state.state}: ${state.why}`,
    `  run ${visible(run)}, process ${pid} on ${visible(host)}, since ${visible(since)}`,
  ];
}

function what(state: Found): string {
  return state.state === 'corrupt' ? `the word "${DAMAGED}"` : `its run id, ${visible(state.lock.run_id)},`;
}

function notForced(state: Found): Problem {
  const id = state.state === 'corrupt' ? DAMAGED : visible(state.lock.run_id);
  return {
    why: 'the lock stays: it can’t be told that its tick is gone',
    remedy: `Make sure that no relais is running, there or in a container, then: relais unlock --force ${id}`,
  };
}

function running({ why, lock }: Extract<Found, { state: 'held' }>): Problem {
  return {
    why: `the lock stays: ${why}`,
    remedy: `End the tick first (Ctrl-C where it runs, or kill ${lock.pid}); it releases the lock itself.`,
  };
}

function notNamed(state: Found, given: string | undefined): Problem {
  return {
    why:
      given === undefined ? 'which lock is to be removed was not said' : `the lock is not that of "${visible(given)}"`,
    remedy: `Give ${what(state)} behind --force.`,
  };
}

/** Asks on the terminal, where there is one. */
export function askOnTerminal(): Pick<UnlockOptions, 'ask'> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return {};
  return {
    ask: async (message) => {
      const { isCancel, text } = await import('@clack/prompts');
      const answer = await text({ message, output: process.stderr });
      return isCancel(answer) ? undefined : answer;
    },
  };
}
