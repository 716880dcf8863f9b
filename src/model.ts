/**
 * The words every room shares: what a path looked like, how a child process ended, what the
 * effects can do. Types only, so that rules/ and world/ never have to meet.
 *
 * A path is relative to the work tree, with `/`, no leading `./`. Bytes that are not UTF-8 are
 * carried as lone surrogates U+DC80–U+DCFF (see world/paths.ts), so a path is always one string.
 */
import type { Lock } from './generated/types.js';

export type Kind = 'file' | 'dir' | 'link' | 'fifo' | 'socket' | 'block' | 'char';

/** One path as lstat saw it. `hash` is the git blob id of the raw bytes, where it was computed. */
export interface Entry {
  readonly kind: Kind;
  readonly ino: number;
  readonly nlink: number;
  readonly size: number;
  /** Permission bits, `mode & 0o7777`. */
  readonly mode: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  /** The link's target, for kind `link`. */
  readonly target?: string;
  readonly hash?: string;
  /** A folder the walk did not enter (an installed-dependencies folder without tracked files). */
  readonly pruned?: true;
  /** A folder that could not be listed. */
  readonly unreadable?: true;
}

export type Inventory = ReadonlyMap<string, Entry>;

/** A difference between two inventories at one path; an absent side means it was not there. */
export interface Change {
  readonly path: string;
  readonly before?: Entry;
  readonly after?: Entry;
}

/** Where a repository's parts are, resolved before anybody else could write. All absolute. */
export interface Repository {
  readonly workTree: string;
  /** This work tree's own git folder. */
  readonly gitDir: string;
  /** The folder shared by all work trees. */
  readonly commonDir: string;
  /** The main work tree, or this one where the repository is bare. State lives there. */
  readonly mainTree: string;
  readonly objectFormat: 'sha1' | 'sha256';
}

/** HEAD read by bytes: a branch (full ref name) or detached at a commit. */
export interface Head {
  readonly ref?: string;
  readonly commit: string;
}

export type RefMap = ReadonlyMap<string, string>;

/** One index entry of the user's index as it stood before the Hands. */
export interface IndexEntry {
  readonly mode: string;
  readonly oid: string;
  /** assume-unchanged or skip-worktree was set: git would not look at the file. */
  readonly flagged: boolean;
}

/** The user's index by path, with the questions that are asked about all of it. */
export interface TrackedFiles extends ReadonlyMap<string, IndexEntry> {
  /** Paths that git was told not to look at. */
  readonly flagged: readonly string[];
  readonly submodules: readonly string[];
  /** Paths whose last part is this name. */
  named(name: string): string[];
  containing(text: string): string[];
  /** Whether a tracked path lies in this folder, at any depth. */
  hasInside(folder: string): boolean;
  /** Tells of path after path, given as bytes in ascending order, whether it is tracked. */
  ascending(): (bytes: Buffer, from: number, to: number) => boolean;
}

/** How a child process ended. A failed child is a fact, not an exception. */
export interface ChildEnd {
  readonly how: 'exited' | 'signalled' | 'timed_out' | 'interrupted' | 'not_started' | 'output_cap';
  /** 0–255; 128+n for a signal; -1 where there was none (not started). */
  readonly exitCode: number;
  readonly durationMs: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Output beyond the cap was dropped. */
  readonly cut: boolean;
  /** Why it did not start (ENOENT …). */
  readonly error?: string;
  /** Who had to be ended after the child itself was gone, by pid; in a namespace by the numbers inside. */
  readonly escapees: readonly number[];
}

export interface ChildRequest {
  /** Absolute path or a bare name for PATH. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. The marker is added by spawn. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  /** Ended after this many ms with `timed_out`. */
  readonly timeoutMs: number;
  /** Aborted → `interrupted`, or `timed_out` when signal.reason is the string 'deadline'. */
  readonly signal?: AbortSignal;
  /** Stdout goes straight to this file (created 0600); it is read back, up to the cap, at the end. */
  readonly stdoutFile?: string;
  readonly maxOutputBytes: number;
  /** Signals in order with the wait after each, before SIGKILL to all; a full output file means SIGKILL at once. */
  readonly stop?: readonly (readonly [NodeJS.Signals, number])[];
  /** Becomes part of the marker, so that another process can find what this one left behind. */
  readonly owner?: string;
  /** Called with the pid of the group's leader as soon as there is one. */
  readonly onStart?: (pid: number) => void;
}

/** What is known about a lock file. Every doubt is `held`. */
export type LockState =
  | { readonly state: 'free' }
  | { readonly state: 'stale'; readonly lock: Lock; readonly why: string }
  /** `alive`: its process runs here and now; else nobody can tell. */
  | { readonly state: 'held'; readonly lock: Lock; readonly why: string; readonly alive: boolean }
  | { readonly state: 'corrupt'; readonly content: string; readonly why: string };

export type LockTaken =
  | { readonly taken: true; readonly lock: Lock; readonly reclaimed?: Lock; release(): Promise<void> }
  | { readonly taken: false; readonly found: LockState };

/** Missing, unreadable and present are three different answers. */
export type FileRead =
  | { readonly found: 'text'; readonly text: string }
  | { readonly found: 'missing' }
  | { readonly found: 'unreadable'; readonly why: string };

export interface HostIdentity {
  readonly pid: number;
  /** Start time of this process in the kernel's own clock, or '' where it can't be told. */
  readonly pid_start: string;
  readonly boot_id: string;
  readonly host: string;
  readonly pid_namespace: string;
}
