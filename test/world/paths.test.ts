import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { absolute, decodePath, fsPath, parentOf, pathBytes, splitZ } from '../../src/world/paths.js';

describe('paths', () => {
  it('gives back the same bytes for any name', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (array) => {
        const bytes = Buffer.from(array);
        expect(pathBytes(decodePath(bytes)).equals(bytes)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves well-formed names alone, emoji and a byte order mark included', () => {
    for (const name of ['a/b', 'é', '😀/ü', '\ufeffx', '\ufffd']) {
      expect(decodePath(Buffer.from(name))).toBe(name);
      expect(fsPath(name)).toBe(name);
    }
  });

  it('tells different ill-formed names apart', () => {
    expect(decodePath(Buffer.of(0x61, 0xff))).toBe('a\udcff');
    expect(decodePath(Buffer.of(0x61, 0xfe))).not.toBe(decodePath(Buffer.of(0x61, 0xff)));
    expect(fsPath('a\udcff')).toEqual(Buffer.of(0x61, 0xff));
    expect(decodePath(Buffer.of(0xed, 0xb2, 0x80))).toBe('\udced\udcb2\udc80');
  });

  it('refuses a surrogate that stands for no byte', () => {
    expect(() => pathBytes('a\ud800b')).toThrow(/d800/);
  });

  it('splits NUL-terminated lists', () => {
    expect(splitZ(Buffer.from('a\0b c\n\0'))).toEqual(['a', 'b c\n']);
    expect(splitZ(Buffer.alloc(0))).toEqual([]);
  });

  it('joins below a root', () => {
    expect(absolute('/r', 'a/b')).toBe('/r/a/b');
    expect(absolute('/r', '\udcff')).toEqual(Buffer.from([0x2f, 0x72, 0x2f, 0xff]));
    expect([parentOf('a/b/c'), parentOf('a')]).toEqual(['a/b', '']);
  });
});
