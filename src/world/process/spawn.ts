import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import type { ChildEnd, ChildRequest } from '../../model.js';
import { containment, findProgram, inNamespace, readTold, type Told } from './contain.js';
import { collect, readBack, untilFull, type Handle } from './output.js';
import { endLeftovers, endNamespace, signalGroup, signalInside, startTicks } from './leftovers.js';

export { containment } from './contain.js';

type Stopped = 'timed_out' | 'interrupted' | 'output_cap';
interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running child: the leader of its group, which is `unshare` where there is a namespace. */
interface Child {
  readonly pgid: number;
  readonly namespaced: boolean;
  readonly exited: Promise<Exit>;
}

const { SIGINT, SIGKILL, SIGPIPE } = os.constants.signals;
const DEFAULT_STOP = [['SIGTERM', 2000]] as const;
const DRAIN_MS = 1000;
/** Room for the numbers of some ten thousand processes. */
const MAX_TOLD = 100_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Marks of the children of this process that are running: none of them is another one's leftover. */
const running = new Set<string>();

/** Ends what an owner that died had started and that still runs; only where a marker can be read. */
export async function endOrphans(owner: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  return endLeftovers({ mark: `.${owner}.`, spared: new Set() });
}

/** Runs a program in its own process group and, where it can be had, its own PID namespace, and returns once it and everything it left behind are gone. */
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
  const namespaced = containment() === 'pidns';
  const found = namespaced ? findProgram(request) : { file: request.program };
  if ('error' in found) return notStarted('not_started', found.error);
  const child = start({ ...request, program: found.file }, mark, file, namespaced);
  const pgid = child.pid;
  if (pgid === undefined) {
    const result = await child;
    return notStarted('not_started', result.code ?? result.shortMessage ?? 'it could not be started');
  }
  const since = startTicks(pgid);
  // `exit`, not `close`: a grandchild that keeps the pipe open must not keep us waiting.
  const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  const stdout = collect(child.stdout, request.maxOutputBytes);
  const stderr = collect(namespaced ? child.stdio[3] : child.stderr, request.maxOutputBytes);
  const told = collect(namespaced ? child.stderr : undefined, MAX_TOLD);
  const input = feed(child.stdin, request.stdin);
  request.onStart?.(pgid);

  const { exit, stopped } = await untilExit(request, { pgid, namespaced, exited }, file);
  const spared = new Set([...running].filter((other) => other !== mark));
  const traces = { pgid, mark, spared, ...(folder && { folder }), ...(since !== undefined && { since }) };
  const ended = (await endLeftovers(traces)).filter((pid) => pid !== pgid);
  const drained = Promise.all([stdout.ended, stderr.ended, told.ended]);
  await Promise.race([drained, sleep(DRAIN_MS, undefined, { ref: false })]);
  for (const stream of child.stdio) stream?.destroy();

  const words = told.bytes().toString();
  const inside = namespaced ? readTold(words) : undefined;
  if (inside?.ready === false && stopped === undefined)
    return notStarted('not_started', `no PID namespace could be made: ${words.trim()}`);
  const onDisk = file && (await readBack(file, request.maxOutputBytes));
  const error = input();
  return {
    ...howItEnded(exit, inside),
    ...(stopped && { how: stopped }),
    durationMs: Math.round(performance.now() - startedMs),
    stdout: onDisk?.bytes ?? stdout.bytes(),
    stderr: stderr.bytes(),
    cut: stdout.cut() || stderr.cut() || (onDisk?.cut ?? false),
    ...(error !== undefined && { error }),
    escapees: [...(inside?.left ?? []), ...ended],
  };
}

function howItEnded({ code, signal }: Exit, inside: Told | undefined): Pick<ChildEnd, 'how' | 'exitCode'> {
  // Its first process never exits without a word: it was killed, and all others with it.
  if (inside && inside.left === undefined) return { how: 'signalled', exitCode: 128 + SIGKILL };
  if (signal !== null) return { how: 'signalled', exitCode: 128 + os.constants.signals[signal] };
  const exitCode = code ?? -1;
  // A shell makes a signal an exit code and names it, except for two of them.
  const named = inside?.signalNamed === true || [SIGINT, SIGPIPE].includes(exitCode - 128);
  return { how: inside && exitCode > 128 && named ? 'signalled' : 'exited', exitCode };
}

function start({ program, args, cwd, env }: ChildRequest, mark: string, file: Handle | undefined, namespaced: boolean) {
  const command = namespaced ? inNamespace(program, args) : { program, args };
  return execa(command.program, [...command.args], {
    cwd,
    env: { ...env, RELAIS_MARK: mark },
    extendEnv: false,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    // execa takes any descriptor; its types only know the standard ones.
    stdio: ['pipe', file === undefined ? 'pipe' : (file.fd as 1), 'pipe', ...(namespaced ? ['pipe' as const] : [])],
  });
}

/** Waits for the exit; a deadline, an abort or a full output file starts the stop sequence. */
async function untilExit(
  request: ChildRequest,
  child: Child,
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
    const first = await Promise.race([child.exited, ...reasons]);
    if (typeof first !== 'string') return { exit: first, stopped: undefined };
    // Whoever fills the disk is not given time to go on with it.
    const sequence = first === 'output_cap' ? [] : (request.stop ?? DEFAULT_STOP);
    return { exit: await stop(child, sequence), stopped: first };
  } finally {
    settled.abort();
  }
}

async function stop({ pgid, namespaced, exited }: Child, sequence: NonNullable<ChildRequest['stop']>): Promise<Exit> {
  for (const [signal, waitMs] of sequence) {
    if (namespaced) signalInside(pgid, signal);
    else signalGroup(pgid, signal);
    const timer = new AbortController();
    const waited = sleep(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
    const exit = await Promise.race([exited, waited]);
    timer.abort();
    if (exit) return exit;
  }
  if (namespaced) endNamespace(pgid);
  else signalGroup(pgid, 'SIGKILL');
  return exited;
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
