import { describe, expect, test } from 'vitest';
import { suggest } from '../../src/rules/suggest.js';

describe('a suggestion', () => {
  test.each([
    ['max_tick_second', 'max_tick_seconds'],
    ['MAX_TICK_SECONDS', 'max_tick_seconds'],
    ['lockfle', 'lockfile'],
    ['lokcfile', 'lockfile'],
    ['ib', 'id'],
  ])('%s was meant as %s', (word, meant) => {
    expect(suggest(word, ['require_git', 'lockfile', 'max_tick_seconds', 'id'])).toBe(meant);
  });

  test('the closest one wins, and of equals the first', () => {
    expect(suggest('test', ['tests', 'test', 'text'])).toBe('test');
    expect(suggest('tesx', ['test', 'tesy'])).toBe('test');
  });

  test.each(['zzzzzzzz', 'q', 'zz', ''])('%j resembles nothing', (word) => {
    expect(suggest(word, ['lockfile', 'id', 'cmd'])).toBeUndefined();
  });

  test('there is none without candidates', () => {
    expect(suggest('x', [])).toBeUndefined();
  });
});
