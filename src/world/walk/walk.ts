import { lstatSync, statfsSync } from 'node:fs';
import type { Entry, Inventory } from '../../model.js';
import { RACY_MS } from './look.js';
import { TreeInventory, type Store } from './columns.js';
import { Rows, unpack, WIDTH, type Rules } from './rows.js';
import { fill, foldersAgain, listInto, rowsAgain, type Again } from './shard.js';
import { threads, type Threads } from './threads.js';

/** So many folders are enough to share a walk fairly. */
const UNITS = 64;
/** Below this many entries another thread costs more than it gains. */
const ALONE = 5000;
/** File systems whose folders change their ctime with every name that comes or goes: ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs. */
const KEEPS_FOLDER_TIMES = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010]);

let walks = 0;
const idOf = new WeakMap<Store, { readonly id: number; readonly helpers: Threads }>();

/** Records a whole work tree like `walk`, in columns, and with several threads where it is large. */
export async function walkTree(root: string, rules: Rules, helpers?: Threads): Promise<TreeInventory> {
  const startedMs = Date.now();
  const rows = new Rows();
  rows.add('.', lstatSync(root));
  const units = [''];
  while (units.length > 0 && units.length < UNITS)
    for (const folder of listInto(rows, root, rules, units.shift() ?? '')) units.push(folder);
  const ownFolders = rows.folders.length;
  if (ownFolders === 0) throw new Error(`the folder ${root} cannot be listed`);
  const counter = new Int32Array(new SharedArrayBuffer(4));
  walks += 1;
  const id = walks;
  let others: Promise<unknown>[] | undefined;
  for (;;) {
    if (others === undefined && rows.paths.length + units.length >= ALONE) {
      helpers ??= threads();
      others = helpers.give({ do: 'walk', id, root, rules, units, counter });
    }
    const next = units[Atomics.add(counter, 0, 1)];
    if (next === undefined) break;
    fill(rows, root, rules, next);
  }
  const shards = [rows];
  for (const answer of await Promise.all(others ?? [])) {
    const packed = (answer as { rows?: Parameters<typeof unpack>[0] } | undefined)?.rows;
    // A thread that died has taken its folders along.
    if (packed === undefined) return walkTree(root, rules, { count: 0, give: () => [] });
    shards.push(unpack(packed));
  }
  const store = merge({ root, rules, startedMs, shards, ownFolders }, new Set(units));
  if (helpers !== undefined) idOf.set(store, { id, helpers });
  return new TreeInventory(store);
}

function merge(
  seen: Pick<Store, 'root' | 'rules' | 'startedMs' | 'shards' | 'ownFolders'>,
  units: ReadonlySet<string>,
): Store {
  const paths: string[] = [];
  const rowOf = new Map<string, number>();
  const special = new Map<string, Entry | undefined>();
  const total = seen.shards.reduce((sum, shard) => sum + shard.paths.length, 0);
  const stats = new Float64Array(total * WIDTH);
  for (const shard of seen.shards) {
    stats.set(shard.stats.subarray(0, shard.paths.length * WIDTH), paths.length * WIDTH);
    for (const path of shard.paths) rowOf.set(path, paths.push(path) - 1);
    for (const [path, entry] of shard.special) {
      special.set(path, entry);
      // The folder itself is among the first thread's rows.
      if (units.has(path)) seen.shards[0]?.special.set(path, entry);
    }
  }
  return { ...seen, paths, rowOf, stats, special };
}

/** Looks at the same work tree again: complete like a first walk, unless a glance is enough, but only what differs is recorded. */
export async function walkAgain(before: TreeInventory, { glance } = { glance: false }): Promise<TreeInventory> {
  const { store } = before;
  const { root, rules, shards, ownFolders } = store;
  const trusted = KEEPS_FOLDER_TIMES.has(statfsSync(root).type);
  const trustedUntilMs = trusted ? store.startedMs - RACY_MS : Number.NEGATIVE_INFINITY;
  const again: Again = { root, rules, trustedUntilMs, blocked: [], found: new Map(), glance };
  const [own = new Rows(), ...rest] = shards;
  foldersAgain(own, again, 0, ownFolders);
  const known = idOf.get(store);
  const others =
    rest.length === 0 || known === undefined
      ? []
      : known.helpers.give({ do: 'again', id: known.id, root, rules, trustedUntilMs, blocked: again.blocked, glance });
  foldersAgain(own, again, ownFolders, own.folders.length);
  rowsAgain(own, again);
  const answers = await Promise.all(others);
  for (const [at, shard] of rest.entries()) {
    const found = answers[at]?.found;
    if (found === undefined) {
      foldersAgain(shard, again, 0, shard.folders.length);
      rowsAgain(shard, again);
    } else for (const [path, entry] of found) again.found.set(path, entry);
  }
  return new TreeInventory(store, again.found);
}

/** Looks again where an earlier walk is known, else walks; a glance is for large trees only. */
export async function lookAt(
  root: string,
  rules: Rules,
  earlier: Inventory | undefined,
  options: { readonly glance: boolean },
): Promise<TreeInventory> {
  if (!(earlier instanceof TreeInventory) || earlier.store.root !== root) return walkTree(root, rules);
  return walkAgain(earlier, { glance: options.glance && earlier.store.paths.length > ALONE });
}
