import type { Entry, Inventory } from '../../model.js';
import { differencesSince, type Ask } from './again.js';
import type { Rules } from './caches.js';
import { TreeInventory } from './columns.js';
import { askGit, loadRecord, recordId, saveRecord, type Head } from './keptRecord.js';
import { look as lookAtOne } from './look.js';
import { recordTree, type Marks } from './recordTree.js';

/** Below this many files a glance, a record on disk or another process cost more than they gain. */
const FEW = 5000;
/** A record that so much has changed since is made anew. */
const MUCH = 2000;

/** Where a record is kept between ticks, and how git is asked about it. */
export interface Keeper {
  readonly dir: string;
  differing(indexFile: string, gitDir: string): Promise<string[] | undefined>;
}

export interface LookOptions {
  /** Asked for after a look has begun: whoever has to wait for them need not wait before it. */
  rules(): Promise<Rules>;
  readonly marks: Marks;
  readonly keeper?: Keeper;
}

/** Looks at a whole work tree for the first time in a tick: every file is asked for, and compared with the last record if there is one. */
export async function lookAt(root: string, { rules, marks, keeper }: LookOptions): Promise<TreeInventory> {
  const isWanted = (head: Head): boolean => head.root === root && head.marks === marks.key;
  const kept = keeper && loadRecord(keeper.dir, isWanted);
  if (keeper !== undefined && kept !== undefined) {
    const asked: string[] = [];
    const ask: Ask = async (record) => {
      const named = await askGit(record, keeper.dir, keeper.differing);
      if (named !== undefined) asked.push(...named);
      return named;
    };
    const found = await differencesSince(kept, { glance: false, ask });
    const sameRules = JSON.stringify(kept.parts.rules) === JSON.stringify(await rules());
    if (sameRules && found.size + asked.length <= MUCH)
      return new TreeInventory(kept, found, { id: recordId(kept), paths: new Set([...asked, ...found.keys()]) });
  }
  const record = recordTree(root, await rules(), marks);
  if (keeper === undefined || record.size < FEW) return new TreeInventory(record);
  saveRecord(keeper.dir, record, marks.key);
  return new TreeInventory(record, [], { id: recordId(record), paths: new Set() });
}

/** Looks again at a work tree whose inventory is known, or only takes a glance; what differs is recorded. */
export async function walkAgain(
  before: TreeInventory,
  { glance, keeper }: { readonly glance: boolean; readonly keeper?: Keeper | undefined },
): Promise<TreeInventory> {
  const { record } = before;
  const ask: Ask | undefined = keeper && ((seen) => askGit(seen, keeper.dir, keeper.differing));
  const found = await differencesSince(record, { glance, ask });
  // A glance leaves files out, and what differed from the record already must not seem to be as recorded again.
  if (glance)
    for (const path of before.changed().keys())
      if (!found.has(path)) found.set(path, reachable(record.parts.root, path));
  return new TreeInventory(record, found, before.resumed);
}

function reachable(root: string, path: string): Entry | undefined {
  const entry = lookAtOne(root, path);
  return entry === 'unreachable' ? undefined : entry;
}

/** Looks again where an earlier inventory is known in columns, else for the first time; a small tree is looked at whole, by ourselves. */
export async function look(
  root: string,
  earlier: Inventory | undefined,
  options: LookOptions & { readonly glance: boolean },
): Promise<TreeInventory> {
  if (!(earlier instanceof TreeInventory) || earlier.record.parts.root !== root) return lookAt(root, options);
  return walkAgain(earlier, earlier.record.size >= FEW ? options : { glance: false });
}
