/** Lines that are no event; a flood is given up, a torn line or a stray warning is passed over. */
const MOST_OTHER_LINES = 10_000;
/** Values in all events together, and how deep they may stand: parsing more would fill the memory. */
const MOST_VALUES = 1_000_000;
const DEEPEST = 1000;

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

export type Json = Readonly<Record<string, unknown>>;

/** What the events on stdout say, whether they came as one object, an array or a stream. */
export interface Output {
  /** Missing also where there are several: nobody can tell which one is the program's own. */
  readonly result: Json | undefined;
  readonly version: string | undefined;
  /** The error word of the last synthetic message. */
  readonly synthetic: string | undefined;
  readonly rateLimit: Json | undefined;
  /** Why there is no result though there is output, where more can be said than that. */
  readonly problem: string | undefined;
}

/** Reads the events in an output of any size, in memory and time bounded by its length. */
export function readOutput(stdout: Buffer): Output {
  const output: { -readonly [key in keyof Output]: Output[key] } = {
    result: undefined,
    version: undefined,
    synthetic: undefined,
    rateLimit: undefined,
    problem: undefined,
  };
  let results = 0;
  for (const event of events(stdout)) {
    if (typeof event === 'string') return { ...output, result: undefined, problem: event };
    if (event['type'] === 'result') {
      results += 1;
      output.result = event;
    }
    if (event['type'] === 'rate_limit_event' && isObject(event['rate_limit_info']))
      output.rateLimit = event['rate_limit_info'];
    if (event['type'] === 'system' && event['subtype'] === 'init') {
      const version = event['claude_code_version'] ?? event['version'];
      if (typeof version === 'string') output.version = version;
    }
    const message = event['message'];
    if (event['type'] === 'assistant' && isObject(message) && message['model'] === '<synthetic>') {
      const word = event['error'] ?? message['error'];
      if (typeof word === 'string') output.synthetic = word;
    }
  }
  return results > 1 ? { ...output, result: undefined, problem: `it holds ${results} results` } : output;
}

/** One object, an array of events, or one event a line; a text instead of an event says why it is given up. */
function* events(stdout: Buffer): Generator<Json | string, void> {
  const whole = mayBeJson(stdout) && weightOf(stdout) <= MOST_VALUES ? parse(stdout) : undefined;
  if (whole === undefined) yield* eventsByLine(stdout);
  else yield* (Array.isArray(whole) ? whole : [whole]).filter(isObject);
}

function* eventsByLine(stdout: Buffer): Generator<Json | string, void> {
  let others = 0;
  let weight = 0;
  for (let start = 0; start < stdout.length;) {
    const newline = stdout.indexOf(NEWLINE, start);
    const end = newline === -1 ? stdout.length : newline;
    const line = stdout.subarray(start, end);
    start = end + 1;
    const candidate = mayBeJson(line);
    if (candidate) weight += weightOf(line);
    const event = candidate && weight <= MOST_VALUES ? parse(line) : undefined;
    if (isObject(event)) yield event;
    else others += 1;
    const problem = floodIn(weight, others);
    if (problem === undefined) continue;
    yield problem;
    break;
  }
}

function floodIn(weight: number, others: number): string | undefined {
  if (weight > MOST_VALUES) return 'it holds more values than any call gives';
  return others > MOST_OTHER_LINES ? `more than ${MOST_OTHER_LINES} lines of it are no events` : undefined;
}

function mayBeJson(bytes: Buffer): boolean {
  return OPENING.includes(bytes[firstInk(bytes)] ?? 0);
}

/** True when there is nothing but white space. */
export function isBlank(bytes: Buffer): boolean {
  return firstInk(bytes) === bytes.length;
}

function firstInk(bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length && (bytes[at] ?? 0) <= SPACE) at += 1;
  return at;
}

/** About how many values a JSON text holds; without limit where it is too deep. Looks no further than it must. */
function weightOf(bytes: Buffer): number {
  let weight = 0;
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length && weight <= MOST_VALUES; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA) weight += 1;
    else if (OPENING.includes(byte)) {
      weight += 1;
      depth += 1;
    } else if (CLOSING.includes(byte)) depth -= 1;
    if (depth > DEEPEST) return Infinity;
  }
  return weight;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
