import { statfsSync } from 'node:fs';
import type { Entry } from '../../model.js';
import { fsPath } from '../paths.js';
import { isCache } from './caches.js';
import { entryOf, list, look, RACY_MS, statOf } from './look.js';
import { closedFolder, explore, markUnreadable } from './plain.js';
import { sameNumbers, WIDTH, type WalkRecord } from './record.js';

/** File systems whose folders change their ctime with every name that comes or goes: ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs. */
const KEEPS_FOLDER_TIMES = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010]);

/** Asks git which files of a record differ by lstat; undefined where it cannot tell. */
export type Ask = (record: WalkRecord) => Promise<string[] | undefined>;

/** What a second look found other than recorded; undefined: it is gone. */
export type Differences = Map<string, Entry | undefined>;

interface Again {
  readonly record: WalkRecord;
  readonly found: Differences;
  /** Folders that are none any more: what lies behind them is not in the tree. */
  readonly blocked: string[];
  /** Folders that changed later than this are listed again whatever their times say. */
  readonly trustedUntilMs: number;
  readonly glance: boolean;
}

/**
 * Looks at a recorded work tree again and says what differs. Every file is asked for, by git or by us; a glance
 * asks for all folders and for the files of those that changed.
 */
export async function differencesSince(
  record: WalkRecord,
  { glance, ask }: { readonly glance: boolean; readonly ask?: Ask | undefined },
): Promise<Differences> {
  const { root, startedMs } = record.parts;
  const local = KEEPS_FOLDER_TIMES.has(statfsSync(root).type);
  // Git works while we look at the folders. Where clocks may not agree, seconds are not enough.
  const asked = glance || !local ? undefined : ask?.(record);
  const again: Again = {
    record,
    found: new Map(),
    blocked: [],
    trustedUntilMs: local ? startedMs - RACY_MS : Number.NEGATIVE_INFINITY,
    glance,
  };
  try {
    foldersAgain(again);
    for (const [path, before] of record.parts.special) specialAgain(again, path, before);
  } finally {
    await asked;
  }
  const named = await asked;
  // Behind a folder that is none any more even a glance has to say what is gone.
  if (glance && again.blocked.length === 0) return again.found;
  if (named !== undefined && again.blocked.length === 0)
    for (const path of named) fileAgain(again, path, record.rowOf(path));
  else for (let row = 0; row < record.size; row += 1) fileAgain(again, record.pathAt(row), row);
  return again.found;
}

/** Looks at the recorded folders: one with the same times has the same names in it. */
function foldersAgain(again: Again): void {
  const { record, blocked, found } = again;
  const { root, folders, folderStats } = record.parts;
  const paths = record.folderPaths();
  for (const [row, folder] of folders.entries()) {
    const stats = isBlocked(blocked, folder) ? undefined : statOf(paths[row] ?? '');
    if (stats === undefined || stats === 'unreachable' || !stats.isDirectory()) {
      if (folder === '') throw new Error(`the folder ${root} cannot be listed`);
      blocked.push(folder);
      const now = stats === undefined ? undefined : look(root, folder);
      if (now === 'unreachable') closed(again, folder);
      else found.set(folder, now);
      continue;
    }
    const same = sameNumbers(folderStats, row * WIDTH, stats);
    if (!same) found.set(folder === '' ? '.' : folder, entryOf(stats));
    if (same && stats.ctimeMs <= again.trustedUntilMs) continue;
    listAgain(again, folder);
    if (again.glance) for (const file of record.rowsIn(folder)) fileAgain(again, record.pathAt(file), file);
  }
}

function listAgain({ record, blocked, found }: Again, folder: string): void {
  const { root, rules } = record.parts;
  const names = list(root, folder);
  if (names === undefined) {
    if (folder === '') throw new Error(`the folder ${root} cannot be listed`);
    found.set(folder, closedFolder(root, folder));
    blocked.push(folder);
    return;
  }
  const base = folder === '' ? '' : `${folder}/`;
  const fresh = names.filter((name) => !record.knows(base + name));
  if (fresh.length === 0) return;
  const own = found.get(folder) ?? look(root, folder);
  if (own !== undefined && own !== 'unreachable' && folder !== '') found.set(folder, own);
  explore(root, [folder, fresh], { skip: () => false, prune: (path) => isCache(path, rules) }, found);
}

function fileAgain(again: Again, path: string, row: number): void {
  const { record, blocked, found } = again;
  const { root, stats } = record.parts;
  if (blocked.length > 0 && isBlocked(blocked, path)) {
    found.set(path, undefined);
    return;
  }
  const now = statOf(fsPath(`${root}/${path}`));
  if (now === undefined) found.set(path, undefined);
  else if (now === 'unreachable') closed(again, path);
  else if (!sameNumbers(stats, row * WIDTH, now)) differs(again, path, undefined);
}

function specialAgain(again: Again, path: string, before: Entry | undefined): void {
  const { record, blocked, found } = again;
  // A folder that was listed is looked at as one.
  if (record.folderRow(path) !== undefined && before?.unreadable !== true) return;
  if (blocked.length > 0 && isBlocked(blocked, path)) {
    found.set(path, undefined);
    return;
  }
  const now = statOf(fsPath(`${record.parts.root}/${path}`));
  if (now === undefined) found.set(path, undefined);
  else if (now === 'unreachable') closed(again, path);
  else differs(again, path, before);
}

function closed({ record, found }: Again, path: string): void {
  const { root } = record.parts;
  found.set(path, undefined);
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  if (folder === '') throw new Error(`the folder ${root} cannot be searched`);
  const own = found.get(folder) ?? look(root, folder);
  if (own === undefined || own === 'unreachable') return;
  found.set(folder, own);
  markUnreadable(found, folder, root);
}

function differs({ record, found }: Again, path: string, before: Entry | undefined): void {
  const { root, rules } = record.parts;
  if (found.has(path)) return;
  const now = look(root, path);
  if (now === undefined || now === 'unreachable') {
    found.set(path, undefined);
    return;
  }
  const pruned = now.kind === 'dir' && isCache(path, rules);
  if (before !== undefined && !before.unreadable && sameEntry(before, now)) return;
  found.set(path, pruned ? { ...now, pruned } : now);
  // Where a file was there may be a folder now, and a folder that was closed may be open.
  const enter =
    now.kind === 'dir' &&
    !pruned &&
    path !== '.git' &&
    (before === undefined || before.unreadable || before.kind !== 'dir');
  if (!enter) return;
  const names = list(root, path);
  if (names === undefined) found.set(path, closedFolder(root, path));
  else explore(root, [path, names], { skip: () => false, prune: (inside) => isCache(inside, rules) }, found);
}

function sameEntry(one: Entry, other: Entry): boolean {
  return (
    one.kind === other.kind &&
    one.mode === other.mode &&
    one.ino === other.ino &&
    one.nlink === other.nlink &&
    one.size === other.size &&
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs &&
    one.target === other.target
  );
}

/** Whether a path lies in one of these folders. */
function isBlocked(blocked: readonly string[], path: string): boolean {
  return blocked.some((folder) => path.startsWith(folder) && path[folder.length] === '/');
}
