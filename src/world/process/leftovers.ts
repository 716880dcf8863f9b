import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { statFields } from '../host.js';

const PATIENCE_MS = 5000;
/** They take in whoever has lost its parent, besides the first process of all. */
const ADOPTERS = new Set(['systemd', 'init', 'launchd', 'tini', 'dumb-init', 'docker-init', 'containerd-shim']);

/** How the processes of one child are recognised once the child itself is gone. */
export interface Traces {
  readonly pgid?: number;
  /** The value of RELAIS_MARK that only this child and its offspring carry. */
  readonly mark: string;
  /** Marks of children that are still wanted: theirs are not leftovers. */
  readonly spared: ReadonlySet<string>;
  /** A work tree: whoever started in it after the child counts as its offspring. */
  readonly folder?: string;
  /** The child's start in clock ticks since boot. */
  readonly since?: number;
}

interface Seen {
  readonly pid: number;
  readonly name: string;
  readonly ppid: number;
  readonly pgid: number;
  readonly start: number;
}

/** Sends a signal to a process group; false when there is none left. */
export function signalGroup(pgid: number, signal: NodeJS.Signals | 0): boolean {
  return kill(-pgid, signal);
}

/**
 * Sends a signal to the group in a namespace, but not to the two processes around the program: `unshare`, which some signals
 * would end and with it everything, and the namespace's first process.
 */
export function signalInside(unshare: number, signal: NodeJS.Signals): void {
  for (const { pid, ppid, pgid } of allProcesses().values())
    if (pgid === unshare && pid !== unshare && ppid !== unshare) kill(pid, signal);
}

/** Ends a namespace by its first process: `unshare` returns when the kernel has ended all the others. */
export function endNamespace(unshare: number): void {
  const first = [...allProcesses().values()].find(({ ppid }) => ppid === unshare);
  kill(first?.pid ?? unshare, 'SIGKILL');
}

/** When a process started, in clock ticks since boot; undefined where it can't be told. */
export function startTicks(pid: number): number | undefined {
  return process.platform === 'linux' ? readProcess(pid)?.start : undefined;
}

/** Ends every process a finished child left behind and waits until they are gone; says which there were. */
export async function endLeftovers(traces: Traces): Promise<number[]> {
  if (process.platform !== 'linux') return traces.pgid === undefined ? [] : endGroup(traces.pgid);
  const ended = new Set<number>();
  const until = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = leftovers(traces);
    if (left.length === 0) return [...ended];
    for (const pid of left) {
      ended.add(pid);
      kill(pid, 'SIGKILL');
    }
    if (performance.now() > until) throw new Error(`processes ${left.join(', ')} could not be ended`);
    await sleep(10);
  }
}

async function endGroup(pgid: number): Promise<number[]> {
  if (!kill(-pgid, 'SIGKILL')) return [];
  const until = performance.now() + PATIENCE_MS;
  while (kill(-pgid, 0)) {
    if (performance.now() > until) throw new Error(`process group ${pgid} could not be ended`);
    await sleep(10);
  }
  return [pgid];
}

function leftovers(traces: Traces): number[] {
  const all = allProcesses();
  return [...all.values()]
    .filter((seen) => seen.pid !== process.pid && isLeftover(seen, all, traces))
    .map((seen) => seen.pid);
}

function allProcesses(): Map<number, Seen> {
  const all = new Map<number, Seen>();
  for (const name of readdirSync('/proc')) {
    const seen = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (seen) all.set(seen.pid, seen);
  }
  return all;
}

function isLeftover(seen: Seen, all: ReadonlyMap<number, Seen>, traces: Traces): boolean {
  // Ids are reused: nothing older than the child can come from it.
  if (traces.since !== undefined && seen.start < traces.since) return false;
  if (seen.pgid === traces.pgid) return true;
  const environ = gone(() => readFileSync(`/proc/${seen.pid}/environ`, 'latin1')) ?? '';
  if (marked(environ, traces.mark)) return true;
  if (traces.folder === undefined || traces.since === undefined) return false;
  if ([...traces.spared].some((mark) => marked(environ, mark)) || isOurs(seen, all)) return false;
  if (hasOlderParent(seen, all, traces.since)) return false;
  const cwd = gone(() => readlinkSync(`/proc/${seen.pid}/cwd`));
  return cwd !== undefined && `${cwd}/`.startsWith(`${traces.folder}${path.sep}`);
}

/** A marker only counts where it is one: a run id may stand in other variables, too. */
function marked(environ: string, mark: string): boolean {
  return environ.split('\0').some((line) => line.startsWith('RELAIS_MARK=') && line.includes(mark));
}

/** A descendant of this very process: a git call of ours. What a child leaves behind is adopted by init instead. */
function isOurs(seen: Seen, all: ReadonlyMap<number, Seen>): boolean {
  if (process.pid === 1) return false;
  let at: Seen | undefined = seen;
  for (let depth = 0; at !== undefined && depth < 100; depth += 1) {
    if (at.ppid === process.pid) return true;
    at = all.get(at.ppid);
  }
  return false;
}

/**
 * Started by somebody who was there before the child: the user's editor, say. An escapee has lost its parents and
 * was adopted by a process that adopts.
 */
function hasOlderParent(seen: Seen, all: ReadonlyMap<number, Seen>, since: number): boolean {
  let at = all.get(seen.ppid);
  for (let depth = 0; at !== undefined && at.pid !== 1 && !ADOPTERS.has(at.name) && depth < 100; depth += 1) {
    if (at.start < since) return true;
    at = all.get(at.ppid);
  }
  return false;
}

function readProcess(pid: number): Seen | undefined {
  const stat = gone(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (stat === undefined) return undefined;
  const fields = statFields(stat);
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
  return { pid, name, ppid: Number(fields[1]), pgid: Number(fields[2]), start: Number(fields[19]) };
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    // EPERM: macOS says so about a group of zombies.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Undefined for a process that ended meanwhile or belongs to somebody else. */
function gone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
