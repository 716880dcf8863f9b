import { clean } from '../rules/text.js';

/** Where a command runs, and whether stdout belongs to one JSON object. */
export interface CommandOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
}

/** Why a command can't do its work, and what the operator can do about it. */
export interface Problem {
  readonly why: string;
  readonly remedy: string;
}

/** A line about what is going on. */
export function progress(line: string): void {
  process.stderr.write(`${clean(line)}\n`);
}

/** Prints a command's result for people: on stdout, or on stderr where stdout belongs to the JSON object. */
export function speaker(json: boolean): (line: string) => void {
  return json ? progress : (line) => void process.stdout.write(`${clean(line)}\n`);
}

/** The one JSON object of a command. */
export function printJson(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Ends a command that can't do its work: both halves of the problem for people, and for `--json`. */
export function refuse(json: boolean, { why, remedy }: Problem, exitCode: number): number {
  progress(`relais: ${why}`);
  progress(`remedy: ${remedy}`);
  if (json) printJson({ ok: false, why: clean(why), remedy: clean(remedy) });
  return exitCode;
}
