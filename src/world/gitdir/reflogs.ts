import type { Entry, Inventory, RefMap } from '../../model.js';
import { readSmall } from './refs.js';
import { ancestors, lstatOf, makeFolder, removeAll, replaceFile } from '../keep/replace.js';
import { pathBytes } from '../paths.js';
import type { Namespace, Vault } from '../keep/vault.js';

const MAX_LOG = 256 * 1024 * 1024;

/** One of git's logs of where a ref stood, or a folder of them. */
export function isLog(name: string): boolean {
  return /^(?:worktrees\/[^/]+\/)?logs(?:\/|$)/.test(name);
}

interface Logs {
  readonly part: Namespace;
  readonly dir: string;
  readonly vault: Vault;
  readonly refsBefore: RefMap;
  readonly refsNow: RefMap;
}

/**
 * Brings back what was cut from the logs, and keeps the lines that are new. Upkeep cuts logs, too, so only what is no
 * log at all is held against anybody, and named: through a link in its place git would write into another file.
 */
export async function restoreLogs(logs: Logs, before: Inventory, now: Inventory): Promise<string[]> {
  const { dir, part, vault } = logs;
  const planted = [...now]
    .filter(([name, { kind }]) => isLog(name) && !['file', 'dir', before.get(name)?.kind].includes(kind))
    .map(([name]) => name);
  for (const name of planted) removeAll(dir, name);
  for (const [name, old] of before) {
    if (!isLog(name) || old.kind !== 'file' || !vault.has(part, name) || !isWanted(logs, name)) continue;
    const current = now.get(name);
    if (current?.kind === 'file' && old.hash === undefined && sameStat(old, current)) continue;
    const bytes = await vault.bytes(part, name);
    const text = current?.kind === 'file' ? readSmall(dir, name, MAX_LOG) : undefined;
    const found = text === undefined ? Buffer.alloc(0) : pathBytes(text);
    if (text !== undefined && found.subarray(0, bytes.length).equals(bytes)) continue;
    for (const folder of ancestors(name)) makeFolder(dir, folder);
    if (lstatOf(dir, name)?.isDirectory()) removeAll(dir, name);
    await replaceFile(dir, name, old, Buffer.concat([bytes, newLines(bytes, found)]));
  }
  return planted;
}

/** The log of a ref that is gone would be in the way of new refs; the stash's log is the stash, and goes with its ref. */
function isWanted({ refsBefore, refsNow }: Logs, name: string): boolean {
  const ref = name.replace(/^(?:worktrees\/[^/]+\/)?logs\//, '');
  if (!ref.startsWith('refs/')) return true;
  return ref === 'refs/stash' ? refsNow.get(ref) === refsBefore.get(ref) : refsNow.has(ref);
}

function sameStat(old: Entry, now: Entry): boolean {
  return old.ino === now.ino && old.size === now.size && old.mtimeMs === now.mtimeMs && old.ctimeMs === now.ctimeMs;
}

/** Lines that were not there before; where one was cut, git rewrites the first id of the next, so that does not count. */
function newLines(old: Buffer, found: Buffer): Buffer {
  const lines = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n');
  const rest = (line: string): string => line.slice(line.indexOf(' ') + 1);
  const known = new Set(lines(old).map(rest));
  const fresh = lines(found).filter((line) => line !== '' && !known.has(rest(line)));
  return Buffer.from(fresh.map((line) => `${line}\n`).join(''), 'latin1');
}
