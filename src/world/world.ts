import { createHash, randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import type { HostIdentity } from '../model.js';
import * as clockModule from './clock.js';
import * as files from './files.js';
import * as git from './git/git.js';
import * as gitdir from './gitdir/gitdir.js';
import * as hostModule from './host.js';
import * as inventory from './walk/inventory.js';
import * as lock from './lock.js';
import { openLog, type Log } from './log.js';
import { packageRoot } from './packageRoot.js';
import * as programs from './programs.js';
import * as restore from './keep/restore.js';
import { setAside } from './keep/setAside.js';
import * as spawn from './process/spawn.js';
import * as vault from './keep/vault.js';

/** What a tick tells whoever watches: the phase it is in and one sentence about it. */
export interface Progress {
  readonly phase: string;
  readonly text: string;
}

/** Every effect a tick may have. Only clock, host identity and run id are ever replaced in tests. */
export interface World {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: clockModule.Clock;
  readonly host: HostIdentity;
  /** Aborted by SIGINT or SIGTERM, with the signal's name as reason. */
  readonly signal: AbortSignal;
  readonly packageRoot: string;
  readonly files: typeof files;
  readonly git: typeof git;
  readonly gitdir: typeof gitdir;
  readonly inventory: typeof inventory;
  readonly lock: typeof lock;
  readonly log: Log;
  readonly programs: typeof programs;
  readonly restore: typeof restore;
  readonly setAside: typeof setAside;
  readonly spawn: typeof spawn;
  readonly vault: typeof vault;
  /** Tells whoever watches, and the log. */
  say(phase: string, text: string): void;
  newRunId(): string;
  newSessionId(): string;
  /** The private folder of one repository, outside of it. */
  privateDir(commonDir: string): string;
  sha256(text: string): string;
  join(...parts: string[]): string;
  /** Does something again and again until it is told to stop; it never keeps the process alive. */
  every(ms: number, act: () => Promise<void>): () => void;
  /** A signal that also fires, with reason 'deadline', after so many ms. */
  deadline(ms: number): { readonly signal: AbortSignal; readonly endsAtMs: number; clear(): void };
}

export interface WorldOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly clock?: clockModule.Clock;
}

/** The real world: real git, real files, real processes. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const clock = options.clock ?? clockModule.systemClock;
  const outer = options.signal ?? new AbortController().signal;
  const log = openLog(() => clock.now());
  return {
    cwd: options.cwd,
    env: options.env,
    clock,
    host: await hostModule.identity(),
    signal: outer,
    packageRoot: packageRoot(),
    files,
    git: {
      ...git,
      openRepository: (cwd) => git.openRepository(cwd, options.env),
      readSettings: (cwd) => git.readSettings(cwd, options.env),
    },
    gitdir,
    inventory,
    lock,
    log,
    programs,
    restore,
    setAside,
    spawn,
    vault,
    say: (phase, text) => {
      log.info(text, { phase });
      options.onProgress?.({ phase, text });
    },
    newRunId: () => clockModule.newRunId(clock.now(), () => randomBytes(4).toString('hex')),
    newSessionId: () => randomUUID(),
    privateDir: (commonDir) => path.join(hostModule.stateDir(options.env), sha256(commonDir).slice(0, 20)),
    sha256,
    join: path.join,
    every,
    deadline: (ms) => deadline(outer, clock, ms),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function every(ms: number, act: () => Promise<void>): () => void {
  const timer = setInterval(() => void act(), ms).unref();
  return () => clearInterval(timer);
}

function deadline(outer: AbortSignal, clock: clockModule.Clock, ms: number): ReturnType<World['deadline']> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort('deadline'), ms);
  const forward = (): void => controller.abort(outer.reason);
  if (outer.aborted) forward();
  else outer.addEventListener('abort', forward, { once: true });
  return {
    signal: controller.signal,
    endsAtMs: clock.monotonicMs() + ms,
    clear: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', forward);
    },
  };
}
