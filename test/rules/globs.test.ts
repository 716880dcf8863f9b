import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { fold, globProblem, matcher } from '../../src/rules/globs.js';
import { oneOf } from './samples.js';

function matches(glob: string, path: string): boolean {
  return matcher([glob], { twins: false })(path) !== undefined;
}

function matchesTwin(glob: string, path: string): boolean {
  return matcher([glob], { twins: true })(path) !== undefined;
}

describe('what a glob matches', () => {
  test.each([
    ['src/**', 'src/a.ts'],
    ['src/**', 'src/a/b/c.ts'],
    ['src/**', 'src'],
    ['**', 'a/b'],
    ['**/*.ts', 'a.ts'],
    ['**/*.ts', 'a/.b/c.ts'],
    ['**/.env*', '.env'],
    ['**/.env*', 'a/.env.local'],
    ['*', '.hidden'],
    ['?env', '.env'],
    ['*', 'line\nbreak'],
    ['a/**/z', 'a/z'],
    ['a/**/z', 'a/b/z/z'],
    ['**/a/**/b/**', 'x/a/y/b'],
    ['[a-c]x', 'bx'],
    ['[^a]x', 'bx'],
    ['{a,b}.ts', 'b.ts'],
    ['{,x}a', 'a'],
    ['@(a|b*)c', 'bbc'],
    ['?(a)b', 'b'],
    ['app/(group)/page.tsx', 'app/(group)/page.tsx'],
    ['app/(*)/page.tsx', 'app/(x)/page.tsx'],
    ['c++/*', 'c++/x'],
    ['$id/*.tsx', '$id/x.tsx'],
    ['?.txt', '\u{1f600}.txt'],
    ['?.txt', '\udcff.txt'],
    ['a@b*', 'a@bc'],
    ['README.md', 'README.md'],
    ['a b/*', 'a b/c'],
  ])('%j matches %j', (glob, path) => {
    expect(globProblem(glob)).toBeUndefined();
    expect(matches(glob, path)).toBe(true);
  });

  test.each([
    ['src/**', 'srcx/a.ts'],
    ['src/**', 'lib/src/a.ts'],
    ['src/*', 'src/a/b'],
    ['src/*', 'src'],
    ['*.ts', 'a/b.ts'],
    ['?', 'ab'],
    ['a?b', 'a/b'],
    ['a.ts', 'axts'],
    ['c+', 'cc'],
    ['^a*', 'a'],
    ['a|b*', 'a'],
    ['(a|b)*', 'a'],
    ['README.md', 'readme.md'],
    ['@(a|b){x,y}', 'a'],
    ['a**b', 'a/b'],
    ['src/**', 'src\n/a'],
    ['[^a]x', 'ax'],
  ])('%j does not match %j', (glob, path) => {
    expect(matches(glob, path)).toBe(false);
  });

  test('the first glob that matches is named', () => {
    const match = matcher(['a/**', '**/b', 'a/b'], { twins: false });
    expect(match('a/b')).toBe('a/**');
    expect(match('x/b')).toBe('**/b');
    expect(match('x')).toBeUndefined();
  });

  test('no globs match nothing', () => {
    expect(matcher([], { twins: true })('a')).toBeUndefined();
  });
});

describe('what is refused', () => {
  test.each([
    ['', 'empty'],
    ['!src/**', 'negation'],
    ['/etc/**', 'absolute'],
    ['~/x', 'absolute'],
    ['C:/x', 'absolute'],
    ['../x', 'segment ".."'],
    ['a/../b', 'segment ".."'],
    ['./a', 'segment "."'],
    ['a\\b', 'backslash'],
    ['src/', 'ends with "/"'],
    ['a//b', 'empty segment'],
    ['{1..9}', 'brace range'],
    ['{a,b..c}', 'brace range'],
    ['{a}', 'braces without a comma'],
    ['{a,{b,c}}', 'nested'],
    ['@(a|@(b|c))', 'nested'],
    ['[[:alpha:]]', 'nested'],
    ['+(a)', 'extglob'],
    ['*(a)', 'extglob'],
    ['a!(b)', 'extglob'],
    ['@(?!a)x', '"(?"'],
    ['@(?:a|b)', '"(?"'],
    ['?(?=a)b', '"(?"'],
    ['@(a|b)?', '"?" right after'],
    ['{a,b}?', '"?" right after'],
    ['[ab]?', '"?" right after'],
    ['a"b*', 'quote'],
    ['[!a]', 'write "[^"'],
    ['[]', 'class without characters'],
    ['[^]x', 'class without characters'],
    ['[z-a]', 'not a valid pattern'],
    ['[a', 'does not close'],
    ['{a,b', 'does not close'],
    ['a)', 'without its opening'],
    ['*a*b*c*', 'more than 3 stars'],
    ['{a,b}{c,d}{e,f}', 'more than 2 groups'],
    ['a\u0000', 'control characters'],
    ['a\n', 'control characters'],
    ['a\u0085', 'control characters'],
    ['a\udc80', 'not valid Unicode'],
    ['a'.repeat(401), 'longer than 400'],
  ])('%j', (glob, why) => {
    expect(globProblem(glob)).toContain(why);
    expect(() => matcher([glob], { twins: false })).toThrow(why);
  });

  test('a matcher with one bad glob among good ones throws instead of letting things pass', () => {
    expect(() => matcher(['src/**', '!x'], { twins: true })).toThrow('negation');
  });
});

describe('twins', () => {
  test.each([
    ['relais/**', 'RELAIS/STATE.json'],
    ['relais/**', 'Relais/x'],
    ['**/.env*', 'a/.ENV'],
    ['Secret', 'sEcReT'],
    ['caf\u00e9', 'cafe\u0301'],
    ['stra\u00dfe', 'STRASSE'],
    ['k', '\u212a'],
    ['relais/x', 're\u200clais/x'],
    ['relais/x', 'relais./x'],
    ['relais/x', 'relais/x. '],
    ['*Σ.txt', 'ΑΣ.txt'],
    ['*Σ.txt', 'ας.txt'],
    ['[A-C]x', 'bx'],
    ['{Foo,Bar}', 'bar'],
  ])('%j catches %j', (glob, path) => {
    expect(matchesTwin(glob, path)).toBe(true);
  });

  test('without twins they are different names', () => {
    expect(matches('relais/**', 'RELAIS/x')).toBe(false);
    expect(matches('caf\u00e9', 'cafe\u0301')).toBe(false);
  });

  test('twins only ever add matches', () => {
    fc.assert(
      fc.property(globs, fc.oneof(paths, fc.string({ unit: 'binary', minLength: 1 })), (glob, path) => {
        fc.pre(globProblem(glob) === undefined);
        expect([matches(glob, path), matchesTwin(glob, path)]).not.toEqual([true, false]);
      }),
    );
  });

  test('folding twice changes nothing more', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        expect(fold(fold(path))).toBe(fold(path));
      }),
      { numRuns: 2000 },
    );
  });

  test('a name and its capitals fold to the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: oneOf('aZéßΣσς.ıſ/') }), (path) => {
        expect(fold(path.toUpperCase())).toBe(fold(path));
      }),
    );
  });
});

const names = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-'), minLength: 1, maxLength: 4 });
const paths = fc
  .array(
    names.filter((name) => name !== '.' && name !== '..'),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => parts.join('/'));
const plain = fc.constantFrom('a', 'b', '.', '-', 'ab');
const token = fc.oneof(
  { weight: 4, arbitrary: plain },
  fc.constantFrom('*', '?', '[ab]', '[^a]', '[a-b]', '{a,b}', '{,a}', '{ab,*}', '@(a|b)', '?(a)', '@(a|b*)'),
);
const segments = fc.oneof(
  { weight: 1, arbitrary: fc.constant('**') },
  { weight: 4, arbitrary: fc.array(token, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')) },
);
const globs = fc.array(segments, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));

describe('against other judges', () => {
  test('a matcher written the slow way agrees on every glob that is accepted', () => {
    fc.assert(
      fc.property(globs, paths, (glob, path) => {
        fc.pre(globProblem(glob) === undefined);
        expect(matches(glob, path), `${glob} on ${path}`).toBe(slow(glob.split('/'), path.split('/')));
      }),
      { numRuns: 5000 },
    );
  });

  test('picomatch agrees on single segments and on one ** at either end', () => {
    const segment = fc.array(token, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
    const simple = fc.oneof(
      segment,
      segment.map((text) => `**/${text}`),
      segment.map((text) => `${text}/**`),
    );
    fc.assert(
      fc.property(simple, paths, (glob, path) => {
        // picomatch lets `a/**` match `a`, but not `*/**`, and takes a `?` after a group for a quantifier.
        fc.pre(!/[)}]\?/.test(glob) && (!glob.endsWith('/**') || path.includes('/')));
        fc.pre(globProblem(glob) === undefined);
        expect(matches(glob, path), `${glob} on ${path}`).toBe(picomatch.isMatch(path, glob, { dot: true }));
      }),
      { numRuns: 2000 },
    );
  });

  test('a glob without wildcards matches itself and nothing else', () => {
    const literal = fc.string({ unit: oneOf('ab.+$^|"\'@#%~,;= -é/'), minLength: 1 });
    fc.assert(
      fc.property(literal, literal, (glob, path) => {
        fc.pre(globProblem(glob) === undefined);
        expect(matches(glob, glob)).toBe(true);
        expect(matches(glob, path)).toBe(glob === path);
      }),
      { numRuns: 2000 },
    );
  });

  test('whatever text comes in, a glob is either refused or usable', () => {
    const wild = fc.string({ unit: oneOf('ab*?[](){}^!@+|,.-/\\"$~ \n'), maxLength: 12 });
    fc.assert(
      fc.property(wild, paths, (glob, path) => {
        const problem = globProblem(glob);
        expect(outcomeOf(() => matches(glob, path))).toBe(problem ?? 'usable');
      }),
      { numRuns: 5000 },
    );
  });

  test('a hostile glob on a long name comes to an end', () => {
    expect(matches('*a*a*b', 'a'.repeat(255))).toBe(false);
    expect(matches('@(a*|*a)@(a*|aa)b', 'a'.repeat(255))).toBe(false);
    expect(matches(`${'**/a/'.repeat(40)}b`, Array.from({ length: 400 }, () => 'a').join('/'))).toBe(false);
  });
});

function outcomeOf(action: () => unknown): string {
  try {
    action();
    return 'usable';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Matches by trying everything, segment by segment and character by character. */
function slow(glob: readonly string[], path: readonly string[]): boolean {
  const [first, ...rest] = glob;
  if (first === undefined) return path.length === 0;
  if (first === '**') return path.some((_, at) => slow(rest, path.slice(at))) || slow(rest, []);
  const [name, ...below] = path;
  return name !== undefined && slowSegment(first, name) && slow(rest, below);
}

function slowSegment(glob: string, name: string): boolean {
  if (glob === '') return name === '';
  const group = /^(?:\{(?<braces>[^}]*)\}|@\((?<one>[^)]*)\)|\?\((?<maybe>[^)]*)\))(?<rest>.*)$/.exec(glob)?.groups;
  if (group !== undefined) {
    const { braces, one, maybe, rest = '' } = group;
    const choices = braces?.split(',') ?? (one ?? maybe ?? '').split('|');
    return [...choices, ...(maybe === undefined ? [] : [''])].some((choice) => slowSegment(choice + rest, name));
  }
  const char = name[0];
  if (glob.startsWith('*'))
    return slowSegment(glob.slice(1), name) || (name !== '' && slowSegment(glob, name.slice(1)));
  if (char === undefined) return false;
  const set = /^\[(\^?)([^\]]+)\](.*)$/.exec(glob);
  if (set !== null) {
    const [, not, inside = '', rest = ''] = set;
    return new RegExp(`[${inside}]`).test(char) === (not === '') && slowSegment(rest, name.slice(1));
  }
  return (glob.startsWith('?') || glob[0] === char) && slowSegment(glob.slice(1), name.slice(1));
}
