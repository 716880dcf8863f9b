import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { ChildEnd, ChildRequest } from '../model.js';
import { endLeftovers, signalGroup, startTicks } from './processes.js';

type Handle = Awaited<ReturnType<typeof open>>;
type Stopped = 'timed_out' | 'interrupted' | 'output_cap';
interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const DEFAULT_STOP = [['SIGTERM', 2000]] as const;
const SIZE_POLL_MS = 50;
const DRAIN_MS = 1000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Marks of the children of this process that are running: none of them is another one's leftover. */
const running = new Set<string>();

/** How far the processes of a child can be found: by group and marker, or by group alone. */
export function containment(): string {
  return process.platform === 'linux' ? 'group+marker' : 'group';
}

/** Ends what an owner that died had started and that still runs; only where a marker can be read. */
export async function endOrphans(owner: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  return endLeftovers({ mark: `.${owner}.`, spared: new Set() });
}

/** Runs a program in its own process group, and returns once it and everything it left behind are gone. */
export async function run(request: ChildRequest): Promise<ChildEnd> {
  if (request.signal?.aborted) return notStarted(request.signal.reason === 'deadline' ? 'timed_out' : 'interrupted');
  if ([request.program, ...request.args].some((text) => text.includes('\0')))
    return notStarted('not_started', 'an argument holds a NUL byte');
  // Opened exclusively: a planted link or an older file is an error, not a target.
  const file = request.stdoutFile === undefined ? undefined : await open(request.stdoutFile, 'wx+', 0o600);
  // A nested runner's children carry the outer mark as well.
  const mark = `${process.env['RELAIS_MARK'] ?? ''}.${request.owner ?? ''}.${randomBytes(12).toString('hex')}`;
  running.add(mark);
  try {
    return await runMarked(request, mark, file);
  } finally {
    running.delete(mark);
    await file?.close();
  }
}

async function runMarked(request: ChildRequest, mark: string, file: Handle | undefined): Promise<ChildEnd> {
  const folder = workTree(request.cwd);
  const startedMs = performance.now();
  const child = start(request, mark, file);
  const pgid = child.pid;
  if (pgid === undefined) {
    const result = await child;
    return notStarted('not_started', result.code ?? result.shortMessage ?? 'it could not be started');
  }
  const since = startTicks(pgid);
  // `exit`, not `close`: a grandchild that keeps the pipe open must not keep us waiting.
  const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  const stdout = collect(child.stdout, request.maxOutputBytes);
  const stderr = collect(child.stderr, request.maxOutputBytes);
  const input = feed(child.stdin, request.stdin);
  request.onStart?.(pgid);

  const { exit, stopped } = await untilExit(request, pgid, exited, file);
  const spared = new Set([...running].filter((other) => other !== mark));
  const escapees = await endLeftovers({
    pgid,
    mark,
    spared,
    ...(folder && { folder }),
    ...(since !== undefined && { since }),
  });
  await Promise.race([Promise.all([stdout.ended, stderr.ended]), sleep(DRAIN_MS, undefined, { ref: false })]);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();

  const onDisk = file && (await readBack(file, request.maxOutputBytes));
  const error = input();
  return {
    how: stopped ?? (exit.signal === null ? 'exited' : 'signalled'),
    exitCode: exit.signal === null ? (exit.code ?? -1) : 128 + os.constants.signals[exit.signal],
    durationMs: Math.round(performance.now() - startedMs),
    stdout: onDisk?.bytes ?? stdout.bytes(),
    stderr: stderr.bytes(),
    cut: stdout.cut() || stderr.cut() || (onDisk?.cut ?? false),
    ...(error !== undefined && { error }),
    escapees: escapees.filter((pid) => pid !== pgid),
  };
}

function start({ program, args, cwd, env }: ChildRequest, mark: string, file: Handle | undefined) {
  return execa(program, [...args], {
    cwd,
    env: { ...env, RELAIS_MARK: mark },
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    stdin: 'pipe',
    // execa takes any descriptor; its types only know the standard ones.
    stdout: file === undefined ? 'pipe' : (file.fd as 1),
    stderr: 'pipe',
  });
}

/** Waits for the exit; a deadline, an abort or a full output file starts the stop sequence. */
async function untilExit(
  request: ChildRequest,
  pgid: number,
  exited: Promise<Exit>,
  file: Handle | undefined,
): Promise<{ exit: Exit; stopped: Stopped | undefined }> {
  const settled = new AbortController();
  const reasons: Promise<Stopped>[] = [
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve('timed_out'), Math.min(Math.max(request.timeoutMs, 1), LONGEST_TIMER_MS));
      settled.signal.addEventListener('abort', () => clearTimeout(timer));
    }),
    new Promise((resolve) => {
      const { signal } = request;
      const onAbort = (): void => resolve(signal?.reason === 'deadline' ? 'timed_out' : 'interrupted');
      signal?.addEventListener('abort', onAbort, { once: true, signal: settled.signal });
      if (signal?.aborted) onAbort();
    }),
  ];
  if (file) reasons.push(untilFull(file, request.maxOutputBytes, settled.signal));
  try {
    const first = await Promise.race([exited, ...reasons]);
    if (typeof first !== 'string') return { exit: first, stopped: undefined };
    return { exit: await stop(pgid, exited, request.stop ?? DEFAULT_STOP), stopped: first };
  } finally {
    settled.abort();
  }
}

async function stop(pgid: number, exited: Promise<Exit>, sequence: NonNullable<ChildRequest['stop']>): Promise<Exit> {
  for (const [signal, waitMs] of sequence) {
    signalGroup(pgid, signal);
    const timer = new AbortController();
    const waited = sleep(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
    const exit = await Promise.race([exited, waited]);
    timer.abort();
    if (exit) return exit;
  }
  signalGroup(pgid, 'SIGKILL');
  return exited;
}

function untilFull(file: Handle, maxBytes: number, settled: AbortSignal): Promise<Stopped> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      if (settled.aborted) return;
      file.stat().then(
        ({ size }) => size > maxBytes && resolve('output_cap'),
        (error: unknown) => settled.aborted || reject(error as Error),
      );
    }, SIZE_POLL_MS);
    settled.addEventListener('abort', () => clearInterval(timer));
  });
}

/** Keeps the first bytes of a stream and drops the rest, but always reads on: a full pipe would stop the child. */
function collect(
  stream: Readable | null | undefined,
  maxBytes: number,
): { bytes: () => Buffer; cut: () => boolean; ended: Promise<void> } {
  const chunks: Buffer[] = [];
  let length = 0;
  let cut = false;
  const ended = new Promise<void>((resolve) => {
    if (!stream) return resolve();
    stream.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, Math.max(0, maxBytes - length));
      if (kept.length > 0) chunks.push(kept);
      length += kept.length;
      cut ||= kept.length < chunk.length;
    });
    // An error ends a pipe like its end does; what had been read counts.
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve());
  });
  return { bytes: () => Buffer.concat(chunks), cut: () => cut, ended };
}

/** Writes stdin and always ends it; a child that does not read it is no error. Returns what else went wrong. */
function feed(
  stdin: NodeJS.WritableStream | null | undefined,
  text: string | Buffer | undefined,
): () => string | undefined {
  let problem: string | undefined;
  stdin?.on('error', (error: NodeJS.ErrnoException) => {
    if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? ''))
      problem = error.message;
  });
  stdin?.end(text ?? '');
  return () => problem;
}

async function readBack(file: Handle, maxBytes: number): Promise<{ bytes: Buffer; cut: boolean }> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return { bytes: bytes.subarray(0, length), cut: size > maxBytes };
}

/** The folder by which stray processes are recognised: only a work tree, never a folder everybody works in. */
function workTree(cwd: string): string | undefined {
  return existsSync(path.join(cwd, '.git')) ? realpathSync(cwd) : undefined;
}

function notStarted(how: ChildEnd['how'], error?: string): ChildEnd {
  const nothing = Buffer.alloc(0);
  return {
    how,
    exitCode: -1,
    durationMs: 0,
    stdout: nothing,
    stderr: nothing,
    cut: false,
    ...(error !== undefined && { error }),
    escapees: [],
  };
}
