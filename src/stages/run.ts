import type { AgentResult } from '../agents/agent.js';
import type { BuilderResult, Config, State, Task } from '../generated/types.js';
import type { Change, Entry, Head, Inventory, RefMap, Repository, TrackedFiles } from '../model.js';
import type { Outcome } from '../outcome.js';
import type { TouchedPath } from '../rules/judge.js';
import type { Git } from '../world/git/git.js';
import type { TreeChange } from '../world/git/write.js';
import type { Vault } from '../world/keep/vault.js';
import type { World } from '../world/world.js';

/** How the repository stood before any agent ran: what the Judge compares with and the rollback returns to. */
export interface Baseline {
  readonly head: Head;
  readonly tree: string;
  readonly inventory: Map<string, Entry>;
  readonly metadata: Inventory;
  readonly refs: RefMap;
  readonly index: TrackedFiles;
  /** Tracked paths whose bytes git could not give back: converted by attributes, or hidden by index flags. */
  readonly unfaithful: ReadonlySet<string>;
  /** The workspace in the main work tree, where the tick runs in another one. */
  readonly mainWorkspace?: Map<string, Entry>;
  /** Files that are protected but too large to be kept. */
  readonly notRestorable: readonly string[];
}

/** What an agent did to the repository, by measurement. */
export interface Measured {
  readonly inventory: Inventory;
  /** Judged changes: tracked, untracked, runner-owned, protected. */
  readonly changes: readonly Change[];
  readonly touched: readonly TouchedPath[];
  readonly ignoredChanged: readonly string[];
  readonly metadataChanged: readonly string[];
  readonly refsMoved: readonly { ref: string; before?: string; after?: string }[];
  /** Where the agent had left HEAD, when it moved. */
  readonly headMovedTo?: string;
  /** Base with the touched paths replaced, and what a tree can't hold. */
  readonly tree: string;
  /** Where the tree differs from base. */
  readonly held: readonly TreeChange[];
  readonly notInTree: readonly { path: string; why: string }[];
}

export interface VerifyRun {
  readonly template_id: string;
  readonly phase: 'fast' | 'slow';
  readonly cmd: string;
  readonly args: readonly string[];
  readonly exit_code: number;
  readonly duration_ms: number;
  readonly timed_out: boolean;
}

export interface CallRecord {
  readonly role: string;
  readonly result: AgentResult;
  readonly countedUsd: number;
}

/** Everything learned so far; whatever stops the tick, the report is made from this. */
export interface TickRecord {
  task?: Task;
  baseline?: Baseline;
  measured?: Measured;
  builderResult?: BuilderResult;
  builderOutputValid?: boolean;
  commit?: string;
  rejectedRef?: string;
  /** The private folder that holds refused work which no git tree can or may hold. */
  keptApart?: string;
  pendingQuestion?: { readonly prompt: string; readonly choices: readonly string[] };
  /** The run whose refused work this one judges again. */
  salvagedRunId?: string;
  handsStarted: boolean;
  settled: boolean;
  readonly calls: CallRecord[];
  readonly verifyRuns: VerifyRun[];
  readonly verifyLog: string[];
  readonly warnings: string[];
  readonly leftovers: string[];
}

/** One tick under way: the World, the place, and the record. */
export interface Run {
  readonly world: World;
  readonly id: string;
  readonly startedAt: Date;
  readonly startedMs: number;
  readonly endsAtMs: number;
  readonly signal: AbortSignal;
  readonly repository: Repository;
  readonly config: Config;
  readonly configText: string;
  /** The agent program, found before the Hands could put another in its place. */
  readonly agentProgram: string;
  readonly prompts: Prompts;
  readonly git: Git;
  readonly vault: Vault;
  /** This repository's private folder, and this tick's own folder inside it. */
  readonly privateDir: string;
  readonly scratch: string;
  /** The workspace folder that holds state and history, absolute. */
  readonly workspace: string;
  state: State;
  readonly record: TickRecord;
}

/** Who says what is to be done and who does it: agents, or for a salvage the record of an earlier tick. */
export interface Workers {
  plan(run: Run, baseline: Baseline): Promise<Task | Outcome>;
  /** The outcome, if any, is final only after judging. */
  work(run: Run, task: Task, baseline: Baseline): Promise<Outcome | undefined>;
  /** Has its say on what the Judge measured; the Judge's own verdict comes first. */
  compare?(run: Run): Outcome | undefined;
}

/** Prompts and schemas as they stood before any agent ran; read once. */
export interface Prompts {
  readonly orchestratorSystem: string;
  readonly orchestratorUser: string;
  readonly builderSystem: string;
  readonly builderUser: string;
  readonly taskSchema: string;
  readonly builderResultSchema: string;
  /** Schemas the user changed: they are asked besides the package's own and can only refuse more. */
  readonly changedSchemas: ReadonlySet<string>;
  readonly facts: string;
  readonly lastReport: string;
  readonly blocked: string;
}

/** A record of a tick in which nothing has happened yet. */
export function emptyRecord(): TickRecord {
  return { handsStarted: false, settled: false, calls: [], verifyRuns: [], verifyLog: [], warnings: [], leftovers: [] };
}

/** Milliseconds left of max_tick_seconds, never less than 1. */
export function timeLeft(run: Run): number {
  return Math.max(1, Math.floor(run.endsAtMs - run.world.clock.monotonicMs()));
}

/** The path of a workspace file relative to the work tree, where state lives in this work tree. */
export function workspacePath(run: Run, name: string): string {
  return `${run.config.workspace_dir}/${name}`;
}

/**
 * Writes a runner-owned file and takes note of it, so that the Judge can tell the runner's own
 * writes from an agent's.
 */
export async function writeOwned(run: Run, name: string, text: string): Promise<void> {
  await run.world.files.writeAtomic(run.world.join(run.workspace, name), text);
  const { baseline } = run.record;
  if (baseline === undefined) return;
  const { mainWorkspace } = baseline;
  if (mainWorkspace === undefined)
    await takeNote(
      run,
      { ns: 'tree', root: run.repository.workTree, entries: baseline.inventory },
      workspacePath(run, name),
    );
  else await takeNote(run, { ns: 'main', root: run.workspace, entries: mainWorkspace }, name);
}

async function takeNote(
  run: Run,
  seen: { readonly ns: 'tree' | 'main'; readonly root: string; readonly entries: Map<string, Entry> },
  path: string,
): Promise<void> {
  const entry = await run.world.inventory.entryAt(seen.root, path);
  if (entry === undefined) seen.entries.delete(path);
  else seen.entries.set(path, entry);
  await run.vault.keep(seen.ns, seen.root, [path], seen.entries);
}

/** Stores the state; the counters are on disk before whatever they count begins. */
export async function saveState(run: Run, state: State): Promise<void> {
  run.state = state;
  await writeOwned(run, 'STATE.json', `${JSON.stringify(state, null, 2)}\n`);
}
