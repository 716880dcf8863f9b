import { readFileSync } from 'node:fs';
import type { Inventory, RefMap, Repository } from '../../model.js';
import { readPacked, readRefs, readSmall } from './refs.js';
import { ancestors, lstatOf, makeFolder, reachable, removeAll, removeIfEmpty, replaceFile } from '../keep/replace.js';
import type { Vault } from '../keep/vault.js';

/** Puts packed-refs back by bytes: without a readable one git answers nothing. */
export async function replacePacked(repo: Repository, before: Inventory, vault: Vault): Promise<string> {
  const part = repo.gitDir === repo.commonDir ? 'git' : 'common';
  const old = before.get(`${part}/packed-refs`);
  removeAll(repo.commonDir, 'packed-refs');
  if (old !== undefined) await replaceFile(repo.commonDir, 'packed-refs', old, await vault.bytes(part, 'packed-refs'));
  return 'packed-refs';
}

/** A replacing ref can also hide among the packed ones; those that are new there go. */
export async function dropPackedReplacements(repo: Repository, refs: RefMap): Promise<string[]> {
  const dir = repo.commonDir;
  const planted = [...readPacked(dir)]
    .filter(([ref, oid]) => ref.startsWith('refs/replace/') && refs.get(ref) !== oid)
    .map(([ref]) => ref);
  if (planted.length === 0) return [];
  const lines = readFileSync(`${dir}/packed-refs`, 'latin1').split('\n');
  const kept = lines.filter((line) => !planted.some((ref) => line.endsWith(` ${ref}`)));
  const mode = lstatOf(dir, 'packed-refs')?.mode ?? 0o644;
  const wanted = { mode: mode & 0o7777, mtimeMs: Date.now() };
  await replaceFile(dir, 'packed-refs', wanted, Buffer.from(kept.join('\n'), 'latin1'));
  return planted;
}

/** Makes the own branch mean the commit again, loose or packed as it was where that still works. */
export async function restoreBranch(repo: Repository, before: Inventory, ref: string, commit: string): Promise<void> {
  const dir = repo.commonDir;
  const old = before.get(`${dir === repo.gitDir ? 'git' : 'common'}/${ref}`);
  const open = reachable(dir, ref);
  if (open) removeAll(dir, `${ref}.lock`);
  const stats = open ? lstatOf(dir, ref) : undefined;
  if (stats?.isFile() && readSmall(dir, ref, 1024)?.trim() === commit) return;
  if (old === undefined && readPacked(dir).get(ref) === commit) {
    if (stats !== undefined) removeAll(dir, ref);
    return;
  }
  for (const folder of ancestors(ref)) makeFolder(dir, folder);
  if (lstatOf(dir, ref)?.isDirectory()) removeAll(dir, ref);
  await replaceFile(dir, ref, { mode: old?.mode ?? 0o644, mtimeMs: Date.now() }, Buffer.from(`${commit}\n`));
}

/** Removes what no ref can be: a pipe or a device, on which git would wait for ever, and a new folder nobody can look into. */
export function removeUnreadable(repo: Repository, before: Inventory, now: Inventory): string[] {
  const removed: string[] = [];
  for (const [name, entry] of now) {
    const match = /^(git|common)\/(refs\/.+)$/.exec(name);
    const known = before.get(name)?.kind === entry.kind;
    if (match?.[2] === undefined || known || (['file', 'link', 'dir'].includes(entry.kind) && !entry.unreadable))
      continue;
    const dir = match[1] === 'git' ? repo.gitDir : repo.commonDir;
    removeAll(dir, match[2]);
    for (const folder of ancestors(match[2]).toReversed())
      if (before.has(`${match[1]}/${folder}`) || !removeIfEmpty(dir, folder)) break;
    removed.push(match[2]);
  }
  return removed;
}

/** Writes every ref that does not mean what it meant; only for a folder whose refs were lost as a whole. */
export async function writeRefs(repo: Repository, refs: RefMap): Promise<void> {
  const now = await readRefs(repo);
  for (const [ref, value] of refs) {
    // In brackets stands what could not be read before either.
    if (value.startsWith('(') || now.get(ref) === value) continue;
    const dir = /^refs\/(bisect|worktree|rewritten)\//.test(ref) ? repo.gitDir : repo.commonDir;
    for (const folder of ancestors(ref)) makeFolder(dir, folder);
    if (lstatOf(dir, ref)?.isDirectory()) removeAll(dir, ref);
    await replaceFile(dir, ref, { mode: 0o644, mtimeMs: Date.now() }, Buffer.from(`${value}\n`));
  }
}
