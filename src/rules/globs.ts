import picomatch from 'picomatch';

const MAX_LENGTH = 400;
const MAX_STARS = 3;
const MAX_GROUPS = 2;
const CLOSING: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' };
// Characters that case-insensitive file systems leave out when they compare names.
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
const MAY_HAVE_TWIN = /[^\u0000-\u0040\u005b-\u007f]|[. ](\/|$)/; // oxlint-disable-line no-control-regex

/** What is wrong with a glob, or undefined. Whatever has a problem is refused, so that it can never widen a scope. */
export function globProblem(glob: string): string | undefined {
  if (glob === '') return 'a glob is empty';
  if (glob.length > MAX_LENGTH) return `a glob is longer than ${MAX_LENGTH} characters`;
  const why = shapeProblem(glob) ?? firstProblem(glob.split('/'));
  return why === undefined ? undefined : `glob ${JSON.stringify(glob)} ${why}`;
}

function shapeProblem(glob: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f-\u009f]/.test(glob)) return 'has control characters';
  if (/\p{Surrogate}/u.test(glob)) return 'is not valid Unicode';
  if (glob.startsWith('!')) return 'begins with "!"; negation is not supported';
  if (glob.startsWith('/') || glob.startsWith('~') || /^[A-Za-z]:/.test(glob))
    return 'is absolute; write it relative to the repository';
  if (glob.includes('\\')) return 'has a backslash';
  if (glob.endsWith('/')) return 'ends with "/"; write "/**" for everything in a folder';
  return undefined;
}

function firstProblem(segments: readonly string[]): string | undefined {
  for (const segment of segments) {
    const why = segmentProblem(segment);
    if (why !== undefined) return why;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'has an empty segment ("//")';
  if (segment === '..' || segment === '.') return `has the segment "${segment}"`;
  if (/[!+*]\(/.test(segment)) return 'has an extglob other than @(…) or ?(…)';
  if (segment.includes('(?')) return 'has "(?", which is no extglob';
  if (/[)\]}]\?(?!\()/.test(segment)) return 'has "?" right after a group';
  if (segment.includes('"') && /[*?[{(]/.test(segment)) return 'has a quote in a pattern';
  if ((segment.match(/\*/g) ?? []).length > MAX_STARS) return `has more than ${MAX_STARS} stars in one segment`;
  if ((segment.match(/[{(]/g) ?? []).length > MAX_GROUPS) return `has more than ${MAX_GROUPS} groups in one segment`;
  if (segment.includes('[!')) return 'has "[!"; write "[^"';
  if (/\[\^?\]/.test(segment)) return 'has a class without characters';
  const nesting = nestingProblem(segment);
  if (nesting !== undefined) return nesting;
  if (/\{[^}]*\.\.[^}]*\}/.test(segment)) return 'has a brace range';
  if (/\{[^,}]*\}/.test(segment)) return 'has braces without a comma';
  return compile(segment) === undefined ? 'is not a valid pattern' : undefined;
}

/** Groups and classes must close in the segment they open in, and hold no other group. */
function nestingProblem(segment: string): string | undefined {
  let open = '';
  for (const char of segment) {
    if (open === '') {
      if (Object.hasOwn(CLOSING, char)) open = char;
      else if ('})]'.includes(char)) return `has "${char}" without its opening bracket`;
    } else if (char === CLOSING[open]) open = '';
    else if (Object.hasOwn(CLOSING, char)) return 'has nested brackets, or brackets that do not close';
  }
  return open === '' ? undefined : `has "${open}" that does not close in its segment`;
}

type Segment = '**' | { readonly literal: string } | RegExp;

function compile(segment: string): Segment | undefined {
  if (segment === '**') return '**';
  if (!/[*?[{(]/.test(segment)) return { literal: segment };
  // One star is as good as two inside a segment.
  const pattern = escaped(segment).replace(/\*+/g, '*');
  // `u` because a character may be two units; picomatch escapes some that may not be escaped then.
  return expression(pattern, 'su') ?? expression(pattern, 's');
}

function expression(pattern: string, flags: string): RegExp | undefined {
  try {
    // `s` because a name may hold a line break.
    return picomatch.makeRe(pattern, { dot: true, nonegate: true, strictSlashes: true, debug: true, flags });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Escapes what picomatch would hand on to the regular expression as a quantifier, anchor or group. */
function escaped(segment: string): string {
  let open = '';
  let before = '';
  let result = '';
  for (const char of segment) {
    // Parentheses that are no extglob are part of a name, such as `app/(group)/page.tsx`.
    const bare = (char === '(' && before !== '@' && before !== '?') || (char === ')' && open === 'name');
    const active = '+$^'.includes(char) || (char === '|' && open !== '(');
    result += open !== '[' && (bare || active) ? `\\${char}` : char;
    if (open === '' && '{[('.includes(char)) open = bare ? 'name' : char;
    else if (open !== '' && char === (CLOSING[open] ?? ')')) open = '';
    before = char;
  }
  return result;
}

/**
 * Whether the segments match. Only the last `**` is ever taken back, so the time is at most the
 * product of both lengths, whatever the glob.
 */
function matches(pattern: readonly Segment[], names: readonly string[]): boolean {
  let at = 0;
  let star = -1;
  let retry = 0;
  let name = 0;
  while (name < names.length) {
    const segment = pattern[at];
    if (segment === '**') {
      star = at;
      retry = name;
      at += 1;
    } else if (segment !== undefined && fits(segment, names[name] ?? '')) {
      at += 1;
      name += 1;
    } else if (star >= 0) {
      retry += 1;
      name = retry;
      at = star + 1;
    } else return false;
  }
  while (pattern[at] === '**') at += 1;
  return at === pattern.length;
}

function fits(segment: Exclude<Segment, '**'>, name: string): boolean {
  return segment instanceof RegExp ? segment.test(name) : segment.literal === name;
}

/** A path with everything removed that a case-insensitive or normalising file system does not tell apart. */
export function fold(path: string): string {
  if (!MAY_HAVE_TWIN.test(path)) return path;
  const name = path.normalize('NFC').replace(IGNORABLE, '');
  // Small first, since the capital sharp s has a small form with other capitals; and which of the two
  // small sigmas comes out depends on the neighbours, of which a glob has others than a path.
  const folded = name.toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ');
  return folded.normalize('NFC').replace(/[. ]+(?=\/|$)/g, '');
}

interface Compiled {
  readonly glob: string;
  readonly segments: readonly Segment[];
  readonly twin: readonly Segment[];
}

/**
 * Finds the first of the globs that matches a path. With `twins`, names that only differ in case,
 * Unicode form or invisible characters match too. A glob with a problem throws: a filter that can't
 * be read must not let anything pass.
 */
export function matcher(
  globs: readonly string[],
  options: { readonly twins: boolean },
): (path: string) => string | undefined {
  const compiled = globs.map((glob): Compiled => {
    const problem = globProblem(glob);
    if (problem !== undefined) throw new Error(problem);
    const segments = compileAll(glob) ?? [];
    const twin = fold(glob);
    return { glob, segments, twin: (twin === glob ? undefined : compileAll(twin)) ?? segments };
  });
  return (path) => {
    const names = path.split('/');
    const folded = options.twins ? fold(path) : path;
    const twins = folded === path ? names : folded.split('/');
    return compiled.find(
      ({ segments, twin }) =>
        matches(segments, names) || (options.twins && (twins !== names || twin !== segments) && matches(twin, twins)),
    )?.glob;
  };
}

function compileAll(glob: string): readonly Segment[] | undefined {
  const segments = glob.split('/').map(compile);
  return segments.every((segment) => segment !== undefined) ? segments : undefined;
}
