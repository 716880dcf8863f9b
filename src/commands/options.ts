import { InvalidArgumentError } from 'commander';

/** A choice: a number from 1 on. */
export function positive(value: string): number {
  if (!/^[1-9]\d{0,2}$/.test(value)) throw new InvalidArgumentError('A number from 1 on is needed.');
  return Number(value);
}

/** A limit: a whole number. */
export function number(value: string): number {
  if (!/^\d{1,5}$/.test(value)) throw new InvalidArgumentError('A whole number is needed.');
  return Number(value);
}

/** An option that can be repeated. */
export function collect(value: string, before: string[]): string[] {
  return [...before, value];
}
