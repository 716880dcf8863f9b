import { constants } from 'node:fs';
import type { Entry } from '../../model.js';
import { fsPath } from '../paths.js';
import { entryOf, list, look, statOf, withTarget } from './look.js';
import { closedFolder, explore, markUnreadable } from './plain.js';
import { isCache, sameNumbers, WIDTH, type Rows, type Rules } from './rows.js';

/** Records a folder, which was seen to be one, and what is directly in it; names the folders to go on with. */
export function listInto(rows: Rows, root: string, rules: Rules, folder: string): string[] {
  const base = folder === '' ? '' : `${folder}/`;
  const own = statOf(fsPath(`${root}/${folder}`));
  const names = own === undefined || own === 'unreachable' || !own.isDirectory() ? undefined : list(root, folder);
  if (names === undefined) {
    rows.special.set(folder, closedFolder(root, folder));
    return [];
  }
  rows.odd ||= names.some((name) => fsPath(name) !== name);
  rows.open(folder, own as Exclude<typeof own, string | undefined>);
  const inside: string[] = [];
  for (const name of names) {
    const path = base + name;
    const at = rows.odd ? fsPath(`${root}/${path}`) : `${root}/${path}`;
    const stats = statOf(at);
    if (stats === undefined) continue;
    const kind = stats === 'unreachable' ? 0 : stats.mode & constants.S_IFMT;
    if (stats === 'unreachable') {
      if (folder === '') throw new Error(`the folder ${root} cannot be searched`);
      rows.special.set(folder, { ...entryOf(own as Exclude<typeof own, string | undefined>), unreadable: true });
    } else if (kind === constants.S_IFREG) rows.add(path, stats);
    else {
      const entry = withTarget(at, entryOf(stats));
      if (entry === undefined || entry === 'unreachable') continue;
      rows.add(path, stats);
      if (entry.kind !== 'dir' || path === '.git') rows.special.set(path, entry);
      else if (isCache(path, rules)) rows.special.set(path, { ...entry, pruned: true });
      else inside.push(path);
    }
  }
  rows.close();
  return inside;
}

/** Records a folder and everything under it. */
export function fill(rows: Rows, root: string, rules: Rules, folder: string): void {
  const pending = [folder];
  for (let next = pending.pop(); next !== undefined; next = pending.pop())
    for (const inside of listInto(rows, root, rules, next)) pending.push(inside);
}

/** What a second look found other than recorded; undefined: it is gone. */
export type Differences = Map<string, Entry | undefined>;

export interface Again {
  readonly root: string;
  readonly rules: Rules;
  /** Folders that changed later than this are listed again whatever their times say. */
  readonly trustedUntilMs: number;
  /** Folders that are none any more: what lies behind them is not in the tree. */
  readonly blocked: string[];
  readonly found: Differences;
  /** Files are looked at only where their folder shows that something happened in it. */
  readonly glance: boolean;
}

/** Looks again at some of the folders: one with the same times has the same names in it. */
export function foldersAgain(rows: Rows, again: Again, from: number, to: number): void {
  const { root, blocked, found } = again;
  for (let at = from; at < to; at += 1) {
    const folder = rows.folders[at] ?? '';
    const key = folder === '' ? '.' : folder;
    const stats = isBlocked(blocked, folder) ? undefined : statOf(fsPath(folder === '' ? root : `${root}/${folder}`));
    if (stats === undefined || stats === 'unreachable' || !stats.isDirectory()) {
      if (folder === '') throw new Error(`the folder ${root} cannot be listed`);
      blocked.push(folder);
      const now = stats === undefined ? undefined : look(root, folder);
      if (now === 'unreachable') closed(again, folder);
      else found.set(folder, now);
      continue;
    }
    const same = sameNumbers(rows.folderStats, at * WIDTH, stats);
    if (!same) found.set(key, entryOf(stats));
    if (same && stats.ctimeMs <= again.trustedUntilMs) continue;
    listAgain(rows, again, at);
    const start = rows.spans[at * 2] ?? 0;
    if (again.glance) filesAgain(rows, again, start, start + (rows.spans[at * 2 + 1] ?? 0));
  }
}

function listAgain(rows: Rows, { root, rules, blocked, found }: Again, at: number): void {
  const folder = rows.folders[at] ?? '';
  const names = list(root, folder);
  if (names === undefined) {
    if (folder === '') throw new Error(`the folder ${root} cannot be listed`);
    found.set(folder, closedFolder(root, folder));
    blocked.push(folder);
    return;
  }
  const start = rows.spans[at * 2] ?? 0;
  const known = new Set(rows.paths.slice(start, start + (rows.spans[at * 2 + 1] ?? 0)));
  const base = folder === '' ? '' : `${folder}/`;
  const fresh = names.filter((name) => !known.has(base + name));
  if (fresh.length === 0) return;
  const own = found.get(folder) ?? look(root, folder);
  if (own !== undefined && own !== 'unreachable' && folder !== '') found.set(folder, own);
  explore(root, [folder, fresh], { skip: () => false, prune: (path) => isCache(path, rules) }, found);
}

/** Looks again at everything recorded but the listed folders; after `foldersAgain`, which knows what is closed. */
export function rowsAgain(rows: Rows, again: Again): void {
  // Behind a folder that is none any more even a glance has to say what is gone.
  if (!again.glance || again.blocked.length > 0) filesAgain(rows, again, 0, rows.paths.length);
}

function filesAgain(rows: Rows, again: Again, from: number, to: number): void {
  const { root, blocked, found } = again;
  const { paths, stats, special } = rows;
  const prefix = `${root}/`;
  for (let row = from; row < to; row += 1) {
    const path = paths[row] ?? '';
    const at = row * WIDTH;
    const plain = ((stats[at] ?? 0) & constants.S_IFMT) === constants.S_IFREG;
    if (!plain && !special.has(path)) continue;
    if (blocked.length > 0 && isBlocked(blocked, path)) {
      found.set(path, undefined);
      continue;
    }
    const now = statOf(rows.odd ? fsPath(prefix + path) : prefix + path);
    if (now === undefined) found.set(path, undefined);
    else if (now === 'unreachable') closed(again, path);
    else if (!plain || !sameNumbers(stats, at, now)) differs(again, path, special.get(path));
  }
}

function closed({ root, found }: Again, path: string): void {
  found.set(path, undefined);
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  if (folder === '') throw new Error(`the folder ${root} cannot be searched`);
  const own = found.get(folder) ?? look(root, folder);
  if (own === undefined || own === 'unreachable') return;
  found.set(folder, own);
  markUnreadable(found, folder, root);
}

function differs(again: Again, path: string, before: Entry | undefined): void {
  const { root, found, rules } = again;
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
