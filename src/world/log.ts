import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { ensureDir } from './files.js';

type Level = 'info' | 'warn' | 'error';

/** What the runner did, for the person who has to find out why; nothing in it decides anything. */
export interface Log {
  info(message: string, data?: Readonly<Record<string, unknown>>): void;
  warn(message: string, data?: Readonly<Record<string, unknown>>): void;
  error(message: string, data?: Readonly<Record<string, unknown>>): void;
  /** Appends the lines so far to the day's file in a folder. */
  flush(dir: string): Promise<void>;
}

const SECRET_KEY = /api[-_]?key|token|secret|passw(?:or)?d|authorization|credential|cookie/i;
const SECRET_VALUE = new RegExp(
  [
    'sk-[\\w-]{16,}',
    'gh[pousr]_\\w{20,}',
    'github_pat_\\w{20,}',
    'glpat-[\\w-]{16,}',
    'AKIA[0-9A-Z]{16}',
    'AIza[\\w-]{30,}',
    'xox[abprs]-[\\w-]{10,}',
    'eyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]+',
    '(?<=bearer )[\\w.~+/=-]{12,}',
    '(?<=://[^/\\s:@]{0,80}:)[^/\\s@]{1,200}(?=@)',
  ].join('|'),
  'gi',
);

/** Opens a log: lines stay in memory, secrets blanked, until flush writes them. */
export function openLog(now: () => Date): Log {
  let lines: { level: Level; message: string; fields: object }[] = [];
  const add = (level: Level) => (message: string, data?: Readonly<Record<string, unknown>>) => {
    const fields = { time: now().toISOString(), ...(data && (redact(data, 0) as object)) };
    lines.push({ level, message: redact(message, 0) as string, fields });
  };
  return {
    info: add('info'),
    warn: add('warn'),
    error: add('error'),
    async flush(dir) {
      if (lines.length === 0) return;
      const due = lines;
      lines = [];
      const text: string[] = [];
      // Loaded here so that commands that log nothing start without it.
      const { default: pino } = await import('pino');
      const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void text.push(line) });
      for (const line of due) logger[line.level](line.fields, '%s', line.message);
      await append(dir, `${now().toISOString().slice(0, 10)}.log`, text.join(''));
    },
  };
}

/** The same value with everything that looks like a credential blanked, by key name and by shape. */
export function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.replaceAll(SECRET_VALUE, '[redacted]');
  if (value instanceof Error) return redact(value.stack ?? value.message, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 8) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const pairs = Object.entries(value).map(([key, item]): [string, unknown] => {
    if (typeof item === 'string' && SECRET_KEY.test(key)) return [key, '[redacted]'];
    return [key, redact(item, depth + 1)];
  });
  return Object.fromEntries(pairs);
}

async function append(dir: string, name: string, text: string): Promise<void> {
  await ensureDir(dir);
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const handle = await open(path.join(dir, name), flags, 0o600);
  try {
    await handle.appendFile(text);
  } finally {
    await handle.close();
  }
}
