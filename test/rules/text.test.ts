import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clean, cut, oneLine, visible } from '../../src/rules/text.js';
import { oneOf } from './samples.js';

// oxlint-disable-next-line no-control-regex
const ACTIVE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: oneOf('a `\\\n\r\t\u001b\u0085\u2028\u202e\u200b\u200d\u{e0041}é', '\ud800', '\udc80', '\udbff'),
  }),
);

describe('clean text', () => {
  test('keeps line breaks and tabs, makes all line breaks alike', () => {
    expect(clean('a\r\nb\rc\u2028d\u0085e\tf')).toBe('a\nb\nc\nd\ne\tf');
  });

  test('drops what a terminal or a reader’s eye would act on', () => {
    expect(clean('a\u001b[31mb\u0007\u009bc\u202ed\u200be\u{e0041}f')).toBe('a[31mbcdef');
  });

  test('shows bytes that are no text, and replaces halves of characters', () => {
    expect(clean('a\udcffb')).toBe('a\\xffb');
    expect(clean('a\ud800b\udfff')).toBe('a\ufffdb\ufffd');
    expect(clean('\u{1f600}')).toBe('\u{1f600}');
  });

  test('is well formed and without active characters, whatever came in', () => {
    fc.assert(
      fc.property(anything, (text) => {
        expect(clean(text)).not.toMatch(ACTIVE);
        expect(() => encodeURIComponent(clean(text))).not.toThrow();
        expect(clean(clean(text))).toBe(clean(text));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('every character that acts on its own', () => {
  const ranges = [
    [0x00, 0x08],
    [0x0b, 0x0c],
    [0x0e, 0x1f],
    [0x7f, 0x84],
    [0x86, 0x9f],
    [0xad, 0xad],
    [0x61c, 0x61c],
    [0x200b, 0x200b],
    [0x200e, 0x200f],
    [0x202a, 0x202e],
    [0x2060, 0x206f],
    [0xfeff, 0xfeff],
    [0xfff9, 0xfffb],
    [0xe0000, 0xe007f],
  ] as const;

  test('is dropped from text and escaped in a path', () => {
    for (const [first, last] of ranges) {
      for (let code = first; code <= last; code += 1) {
        const text = `a${String.fromCodePoint(code)}b`;
        expect(clean(text), code.toString(16)).toBe('ab');
        expect(visible(text), code.toString(16)).toMatch(/^a\\(x[0-9a-f]{2}|u\{[0-9a-f]+\})b$/);
      }
    }
  });
});

describe('one line', () => {
  test('has no break and no runs of white space', () => {
    expect(oneLine('  a \n\t b\r\n')).toBe('a b');
    fc.assert(fc.property(anything, (text) => !/[\n\r\t]| {2}|^ | $/.test(oneLine(text))));
  });
});

describe('a visible path', () => {
  test.each([
    ['a\nb', 'a\\x0ab'],
    ['a\tb', 'a\\x09b'],
    ['a\\b', 'a\\\\b'],
    ['a\u001bb', 'a\\x1bb'],
    ['a\udc80', 'a\\x80'],
    ['a\u202eb', 'a\\u{202e}b'],
    ['a\u200db', 'a\\u{200d}b'],
    ['a\u{e0041}b', 'a\\u{e0041}b'],
    ['é/ü', 'é/ü'],
  ])('%j is shown as %s', (path, shown) => {
    expect(visible(path)).toBe(shown);
  });

  test('two paths never become the same text', () => {
    const unit = oneOf('a\\x1b0{}u\n\t\u001b\u202e\u200d', '\udc80', '\udcff', 'é');
    const path = fc.string({ unit, maxLength: 6 });
    fc.assert(
      fc.property(path, path, (left, right) => {
        expect(visible(left) === visible(right)).toBe(left === right);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a cut', () => {
  test('fits, is marked, and splits no character', () => {
    expect(cut('abc', 3)).toBe('abc');
    expect(cut('abcd', 3)).toBe('ab…');
    expect(cut('a\u{1f600}b', 3)).toBe('a…');
    expect(cut('abc', 1)).toBe('…');
    expect(cut('abc', 0)).toBe('');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat({ max: 20 }), (text, max) => cut(text, max).length <= max),
    );
  });
});
