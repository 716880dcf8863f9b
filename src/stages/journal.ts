import type { Task } from '../generated/types.js';
import type { Head, RefMap } from '../model.js';
import { parseJson } from '../schemas.js';
import type { World } from '../world/world.js';
import type { Conclusion } from './conclusion.js';
import type { Baseline, Run } from './run.js';

export type JournalPhase = 'orchestrate' | 'build' | 'judge' | 'verify' | 'commit' | 'rollback' | 'report';

/** What a later process needs to finish or undo this tick. Lies in the private folder. */
export interface Journal {
  readonly version: 1;
  readonly run_id: string;
  readonly phase: JournalPhase;
  /** An agent that may write has been started. */
  readonly hands_started: boolean;
  readonly work_tree: string;
  readonly started_at: string;
  readonly head: Head;
  readonly tree: string;
  readonly unfaithful: readonly string[];
  readonly not_restorable: readonly string[];
  readonly refs: readonly (readonly [string, string])[];
  /** The commit about to become the branch's tip, once there is one. */
  readonly commit?: string;
  readonly commit_ref?: string;
  /** What the Hands were asked to do. */
  readonly task?: Task;
  /** The ending, ready to be written, once nothing can change it any more. */
  readonly conclusion?: Conclusion;
}

/** What a phase adds to the journal. */
export interface PhaseNotes {
  readonly commit?: { readonly oid: string; readonly ref: string };
  readonly conclusion?: Conclusion;
}

/** A tick that did not end, as its journal tells. */
export interface Interrupted {
  readonly journal: Journal;
  readonly privateDir: string;
  /** Changes later than this are not the tick's. */
  readonly aliveUntil: number;
}

const ALIVE_MS = 1000;
const MAX_LOG = 1024 * 1024;
const MAX_JOURNAL = 64 * 1024 * 1024;
const FILE = 'journal.json';
const TREE_INVENTORY = 'baseline.tree';
const GIT_INVENTORY = 'baseline.git';

/** Puts the baseline on disk, complete before the first agent starts. */
export async function openJournal(run: Run, baseline: Baseline): Promise<void> {
  const { files, inventory, join } = run.world;
  await files.writeAtomic(join(run.privateDir, TREE_INVENTORY), inventory.serialize(baseline.inventory), 0o600);
  await files.writeAtomic(join(run.privateDir, GIT_INVENTORY), inventory.serialize(baseline.metadata), 0o600);
  await run.vault.save();
  await writePhase(run, 'orchestrate');
}

/** Moves the journal on; on disk before the phase begins. */
export async function writePhase(run: Run, phase: JournalPhase, notes: PhaseNotes = {}): Promise<void> {
  const { baseline, handsStarted, task } = run.record;
  const { commit, conclusion } = notes;
  if (baseline === undefined) throw new Error('the journal needs a baseline');
  const journal: Journal = {
    version: 1,
    run_id: run.id,
    phase,
    hands_started: handsStarted,
    work_tree: run.repository.workTree,
    started_at: run.startedAt.toISOString(),
    head: baseline.head,
    tree: baseline.tree,
    unfaithful: [...baseline.unfaithful],
    not_restorable: baseline.notRestorable,
    refs: [...baseline.refs],
    ...(commit && { commit: commit.oid, commit_ref: commit.ref }),
    ...(task && { task }),
    ...(conclusion && { conclusion: withShortLog(conclusion) }),
  };
  await run.world.files.writeAtomic(run.world.join(run.privateDir, FILE), JSON.stringify(journal), 0o600);
}

/** What checks print may be long; for a crash its beginning is enough. */
function withShortLog(conclusion: Conclusion): Conclusion {
  const { history } = conclusion;
  const log = history?.verify_log;
  if (history === undefined || log === undefined || log.length <= MAX_LOG) return conclusion;
  const cut = `${log.slice(0, MAX_LOG)}\n=== cut: the tick was interrupted before all of it was written\n`;
  return { ...conclusion, history: { ...history, verify_log: cut } };
}

/** Shows that the tick is alive: what changed after the last sign was not changed by it. */
export function keepAlive({ world, privateDir }: Run): () => void {
  const { clock, files } = world;
  let latest = clock.now();
  return world.every(ALIVE_MS, () => {
    const now = clock.now();
    // A clock that was set back must not make what was done before look like the user's work.
    if (now > latest) latest = now;
    return files.touch(world.join(privateDir, FILE), latest);
  });
}

/** When the tick of the journal was last known to be alive. */
export async function lastAlive(world: World, privateDir: string): Promise<number> {
  const written = await world.files.modifiedMs(world.join(privateDir, FILE));
  return (written ?? world.clock.now().getTime()) + 2 * ALIVE_MS;
}

/** The tick is over and nothing is left to finish. */
export async function closeJournal(world: World, privateDir: string): Promise<void> {
  await world.files.removeFile(world.join(privateDir, FILE));
}

/** The journal of a tick that did not end, if there is one and it can be read. */
export async function readJournal(
  world: World,
  privateDir: string,
): Promise<{ readonly journal?: Journal; readonly damaged?: string }> {
  const file = world.join(privateDir, FILE);
  const read = await world.files.readText(file, MAX_JOURNAL);
  if (read.found === 'missing') return {};
  if (read.found === 'unreadable') return { damaged: `${file}: ${read.why}` };
  const parsed = parseJson(read.text);
  if (!parsed.ok) return { damaged: `${file}: ${parsed.errors.join('; ')}` };
  const value = parsed.value as Partial<Journal> | null;
  if (value?.version !== 1 || typeof value.run_id !== 'string' || value.head === undefined)
    return { damaged: `${file}: not a journal of this version` };
  return { journal: value as Journal };
}

/** Puts a journal nobody can read out of the way, without deleting it. */
export async function setJournalAside(world: World, privateDir: string): Promise<string> {
  const file = world.join(privateDir, FILE);
  await world.files.move(file, `${file}.broken`);
  return `${file}.broken`;
}

/** The baseline as the interrupted tick had recorded it. Git's metadata must be back before `index` is read. */
export async function readBaseline(
  world: World,
  privateDir: string,
  journal: Journal,
): Promise<Omit<Baseline, 'index'>> {
  const { files, inventory, join } = world;
  const tree = inventory.deserialize(await files.readBytes(join(privateDir, TREE_INVENTORY)));
  const metadata = inventory.deserialize(await files.readBytes(join(privateDir, GIT_INVENTORY)));
  const refs: RefMap = new Map(journal.refs);
  return {
    head: journal.head,
    tree: journal.tree,
    inventory: new Map(tree),
    metadata,
    refs,
    unfaithful: new Set(journal.unfaithful),
    notRestorable: journal.not_restorable,
  };
}
