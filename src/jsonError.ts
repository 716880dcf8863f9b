const SPACE = /[ \t\n\r]*/y;
// Unrolled, so that a string of megabytes needs no backtracking stack.
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y;

/** Where and why a text is not JSON, as `line:column: reason`; for texts that JSON.parse refused. */
export function jsonError(text: string): string {
  const { at, reason } = firstFault(text);
  const before = text.slice(0, at).split('\n');
  return `${before.length}:${(before.at(-1) ?? '').length + 1}: ${reason}`;
}

interface Fault {
  readonly at: number;
  readonly reason: string;
}

// A loop with its own stack: a model's text may nest deeper than the call stack.
function firstFault(text: string): Fault {
  const open: ('{' | '[')[] = [];
  let at = skip(SPACE, text, 0);
  let expect: 'value' | 'value or ]' | 'key' | 'key or }' | 'after' = 'value';
  for (;;) {
    const next = text[at];
    const inside = open.at(-1);
    if (expect === 'after') {
      if (inside === undefined) return { at, reason: describe(text, at, 'nothing more') };
      const close = inside === '{' ? '}' : ']';
      if (next === close) open.pop();
      else if (next === ',') expect = inside === '{' ? 'key' : 'value';
      else return { at, reason: describe(text, at, `',' or '${close}'`) };
      at += 1;
    } else if (expect === 'key' || expect === 'key or }') {
      if (expect === 'key or }' && next === '}') {
        open.pop();
        expect = 'after';
        at += 1;
      } else {
        const key = skip(STRING, text, at);
        if (key === at)
          return stringFault(text, at, expect === 'key' ? 'a key in double quotes' : `a key in double quotes or '}'`);
        const colon = skip(SPACE, text, key);
        if (text[colon] !== ':') return { at: colon, reason: describe(text, colon, `':'`) };
        at = colon + 1;
        expect = 'value';
      }
    } else if (next === '{' || next === '[') {
      open.push(next);
      expect = next === '{' ? 'key or }' : 'value or ]';
      at += 1;
    } else if (expect === 'value or ]' && next === ']') {
      open.pop();
      expect = 'after';
      at += 1;
    } else {
      const end = skip(next === '"' ? STRING : SCALAR, text, at);
      if (end === at) return stringFault(text, at, 'a value');
      at = end;
      expect = 'after';
    }
    at = skip(SPACE, text, at);
  }
}

function stringFault(text: string, at: number, expected: string): Fault {
  if (text[at] !== '"') return { at, reason: describe(text, at, expected) };
  return { at, reason: 'this string does not end on its line, or holds a wrong escape' };
}

function describe(text: string, at: number, expected: string): string {
  const found = text.codePointAt(at);
  if (found === undefined) return `expected ${expected}, but the text ends`;
  return `expected ${expected}, found ${JSON.stringify(String.fromCodePoint(found))}`;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
