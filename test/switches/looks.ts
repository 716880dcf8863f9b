import type { Meta } from '../../src/generated/types.js';
import type { Call, Seen, Situation, Switch } from './play.js';

type Role = 'orchestrator' | 'builder';

/** How the tick ended. */
export function code({ end }: Seen): string {
  return end.outcome.code;
}

/** How the tick ended, and whether its evidence has these words. */
export function because(words: string): (seen: Seen) => [string, boolean] {
  return ({ end }) => [end.outcome.code, end.outcome.evidence.some((line) => line.includes(words))];
}

/** The last call of a role. */
export function callOf({ calls, end }: Seen, role: Role): Call {
  const call = calls.findLast((one) => one.role === role);
  const { code, evidence } = end.outcome;
  if (call === undefined) throw new Error(`no ${role} was called: ${[code, ...evidence].join('; ')}`);
  return call;
}

/** The word after a flag on the command line of a role's call; undefined without that flag. */
export function flag(role: Role, name: string): (seen: Seen) => string | undefined {
  return (seen) => {
    const { argv } = callOf(seen, role);
    const at = argv.indexOf(name);
    return at < 0 ? undefined : argv[at + 1];
  };
}

/** What a role's request says after these words, up to the end of the line; undefined where they are not in it. */
export function told(role: Role, words: string): (seen: Seen) => string | undefined {
  return (seen) => {
    const line = callOf(seen, role)
      .prompt_tail.split('\n')
      .find((one) => one.includes(words));
    return line?.slice(line.indexOf(words) + words.length);
  };
}

/** Whether a request kept to so many characters, and whether it says that it was cut. */
export function cutTo(role: Role, chars: number): (seen: Seen) => { within: boolean; said: boolean } {
  return (seen) => {
    const { prompt_chars, prompt_tail } = callOf(seen, role);
    return { within: prompt_chars <= chars, said: prompt_tail.includes('characters cut') };
  };
}

/** Which of these paths are there after the tick. */
export function there(...paths: string[]): (seen: Seen) => string[] {
  return ({ files }) => paths.filter((name) => files[name] !== undefined);
}

/** The folder in which the tick is kept, and its meta.json. */
export function kept({ files }: Seen): { folder: string; meta: Meta } {
  const name = Object.keys(files).find((file) => file.endsWith('/meta.json'));
  if (name === undefined) throw new Error('the tick left no meta.json');
  return { folder: name.split('/').slice(0, -2).join('/'), meta: JSON.parse(files[name] ?? '') as Meta };
}

/** A switch that makes a tick that goes well end otherwise. */
export function ends(
  key: string,
  to: Switch['to'] & {},
  place: Situation,
  [verdict, words = '']: [string, string?],
): Switch {
  return {
    key,
    to,
    at: place,
    look: because(words),
    normal: ['SUCCESS', false],
    turned: [verdict, true],
  };
}
