import { describe, expect, it } from 'vitest';
import { hasLongLines } from '../src/stages/lines.js';

const KB = 1024;
/** A text that grew by ten ordinary lines; every fact can be replaced. */
const change = (facts: Partial<Parameters<typeof hasLongLines>[0]> = {}): boolean =>
  hasLongLines({ bytesBefore: 100 * KB, bytesAfter: 101 * KB, linesAfter: 2010, added: 10, deleted: 0, ...facts });

describe('a text counts by its size instead of its lines', () => {
  it.each([
    ['a new file of one line', { bytesBefore: 0, bytesAfter: 14_000 * KB, linesAfter: 1, added: 1 }],
    ['a new file just above the size', { bytesBefore: 0, bytesAfter: 64 * KB + 1, linesAfter: 65, added: 65 }],
    [
      'a small file that becomes one endless line',
      { bytesBefore: 40, bytesAfter: 65 * KB, linesAfter: 1, added: 1, deleted: 2 },
    ],
    ['one word in an endless line', { linesAfter: 1, added: 1, deleted: 1 }],
    ['an endless line that is deleted', { bytesAfter: 0, linesAfter: 0, added: 0, deleted: 1 }],
    ['an endless line made small', { bytesAfter: 40, linesAfter: 2, added: 2, deleted: 1 }],
    ['an endless line among many short ones', { bytesAfter: 200 * KB, linesAfter: 2001, added: 1 }],
    ['an endless line taken out of many short ones', { bytesAfter: 4 * KB, linesAfter: 2000, added: 0, deleted: 1 }],
    [
      'an endless line where the lines of the file are not known',
      { bytesAfter: 200 * KB, linesAfter: Infinity, added: 1 },
    ],
  ])('%s', (_what, facts) => {
    expect(change(facts)).toBe(true);
  });

  it.each([
    ['ordinary lines', {}],
    ['a new file of ordinary lines', { bytesBefore: 0, bytesAfter: 14_000 * KB, linesAfter: 200_000, added: 200_000 }],
    ['one line that is short enough', { bytesBefore: 0, bytesAfter: 64 * KB, linesAfter: 1, added: 1 }],
    ['lines of just the length', { bytesBefore: 0, bytesAfter: 100_000, linesAfter: 100, added: 100 }],
    ['a deleted file of ordinary lines', { bytesAfter: 0, linesAfter: 0, added: 0, deleted: 2000 }],
    ['a few lines where the lines of the file are not known', { linesAfter: Infinity }],
    ['an endless line that is the same as before', { bytesAfter: 100 * KB, linesAfter: 1, added: 0 }],
  ])('but not %s', (_what, facts) => {
    expect(change(facts)).toBe(false);
  });
});
