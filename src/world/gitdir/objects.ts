import { chmodSync, createReadStream, linkSync } from 'node:fs';
import type { Entry, Inventory, Repository } from '../../model.js';
import { looseId, looseIsTrue, packIsTrue, sha256Of } from './objectFiles.js';
import { copyOf, proves, readRecord, scanObjects, type ObjectRecord } from './objectCopies.js';
import { absolute } from '../paths.js';
import { ancestors, lstatOf, makeFolder, openUp, removeAll, replaceFile, replaceLink } from '../keep/replace.js';
import type { Vault } from '../keep/vault.js';

/** Files git makes again or does not need: put back or removed without a word. */
const CACHE =
  /^pack\/(?:multi-pack-index(?:[.-].*)?|pack-[^/]*\.(?:rev|bitmap|keep|mtimes|promisor))$|(?:^|\/)(?:tmp_|\.tmp-)[^/]*$|^(?:incoming|tmp_objdir)-|\.lock$/;
const PACK = /^(pack\/pack-[0-9a-f]+)\.(pack|idx|promisor)$/;

interface Work {
  readonly dir: string;
  readonly repo: Repository;
  readonly vault: Vault;
  readonly record: ObjectRecord;
  readonly changed: Set<string>;
  readonly problems: string[];
}

/** The object folders of a repository and of its submodules, relative to the shared git folder. */
export function objectRoots(repo: Repository, metadata: Inventory): string[] {
  const roots = ['objects'];
  for (const name of metadata.keys()) {
    const match = /^(git|common)\/(modules\/.+)\/HEAD$/.exec(name);
    if (match === null || metadata.get(`${match[1]}/${match[2]}/objects`)?.kind !== 'dir') continue;
    const own = match[1] === 'git' ? repo.gitDir.slice(repo.commonDir.length + 1) : '';
    roots.push(`${own === '' ? '' : `${own}/`}${match[2]}/objects`);
  }
  return roots;
}

/**
 * Makes the object folders mean what they meant: recorded files are back, and what is new in them is what its name
 * says, or gone. Returns what somebody must have forged. Throws where a recorded file can't come back.
 */
export async function restoreObjects(repo: Repository, roots: readonly string[], vault: Vault): Promise<string[]> {
  const record = readRecord(vault);
  if (record === undefined) return [];
  const work: Work = { dir: repo.commonDir, repo, vault, record, changed: new Set(), problems: [] };
  let now = await scanObjects(work.dir, roots);
  if (openClosed(work, now)) now = await scanObjects(work.dir, roots);
  const own = [...record.files].filter(([name]) => roots.some((root) => name.startsWith(`${root}/`)));
  // What is missing first: a pack is only checked beside its index.
  for (const missing of [true, false]) {
    for (const [name, before] of own) {
      if (now.has(name) === missing) continue;
      await attempt(work, name, () => check(work, name, before, now.get(name)));
    }
  }
  for (const root of roots) await checkNew(work, root, now);
  if (work.problems.length > 0)
    throw new Error(`objects in ${work.dir} could not be put back: ${work.problems.slice(0, 20).join('; ')}`);
  return [...work.changed];
}

async function attempt(work: Work, name: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    work.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Folders that were closed are opened, so that they can be looked into. */
function openClosed(work: Work, now: ReadonlyMap<string, Entry>): boolean {
  let opened = false;
  for (const [name, entry] of now) {
    const stats = entry.unreadable ? lstatOf(work.dir, name) : undefined;
    if (stats?.isDirectory() && openUp(work.dir, name, stats)) {
      opened = true;
      work.changed.add(name);
    }
  }
  return opened;
}

async function check(work: Work, name: string, before: Entry, now: Entry | undefined): Promise<void> {
  const { dir, changed } = work;
  if (now !== undefined && now.kind !== before.kind) {
    removeAll(dir, name);
    changed.add(name);
  } else if (now !== undefined && before.kind === 'file') {
    if (proves(work.record, before, now)) return;
    if (await sameContent(work, name, before, now)) {
      if (now.mode === before.mode) return;
      chmodSync(absolute(dir, name), before.mode);
      changed.add(name);
      return;
    }
    if (!CACHE.test(inRoot(name))) changed.add(name);
  } else if (now !== undefined && before.target === now.target) {
    if (before.kind !== 'dir' || before.mode === now.mode) return;
    chmodSync(absolute(dir, name), before.mode);
    changed.add(name);
    return;
  }
  await putBack(work, name, before);
}

/** Git only renews the times of an object; what counts is the content. */
async function sameContent(work: Work, name: string, before: Entry, now: Entry): Promise<boolean> {
  const file = absolute(work.dir, name);
  const id = looseId(name);
  if (id !== undefined) return looseIsTrue(file, id, work.repo.objectFormat);
  if (before.size !== now.size) return false;
  if (before.hash !== undefined) return (await sha256Of(file)) === before.hash;
  const pack = PACK.exec(inRoot(name));
  return (
    pack !== null &&
    packIsTrue(`${work.dir}/${name.replace(/\.idx$/, '.pack')}`, work.repo.objectFormat, work.repo.workTree)
  );
}

function inRoot(name: string): string {
  return name.slice(name.lastIndexOf('objects/') + 'objects/'.length);
}

async function putBack(work: Work, name: string, entry: Entry): Promise<void> {
  const { dir, vault, record } = work;
  for (const folder of ancestors(name)) {
    if (makeFolder(dir, folder)) chmodSync(absolute(dir, folder), record.files.get(folder)?.mode ?? 0o755);
  }
  if (entry.kind === 'dir') {
    if (makeFolder(dir, name)) chmodSync(absolute(dir, name), entry.mode);
  } else if (entry.kind === 'link') replaceLink(dir, name, entry);
  else if (entry.kind !== 'file') throw new Error(`a ${entry.kind} cannot be made again`);
  else if (record.uncopied.has(name)) putBackLarge(work, name);
  else {
    const copy = copyOf(vault, name);
    const id = looseId(name);
    const whole =
      id === undefined ? (await sha256Of(copy)) === entry.hash : await looseIsTrue(copy, id, work.repo.objectFormat);
    if (!whole && id === undefined) throw new Error('its kept copy was altered');
    // A loose object that was broken before the tick comes back as broken as it was: nothing better is known.
    await replaceFile(dir, name, entry, createReadStream(copy));
  }
}

function putBackLarge({ dir, vault }: Work, name: string): void {
  if (lstatOf(dir, name) !== undefined)
    throw new Error(
      'it was written into, and it is too large to have been copied; fetch it anew or restore it from a backup',
    );
  linkSync(copyOf(vault, name), absolute(dir, name));
}

async function checkNew(work: Work, root: string, now: ReadonlyMap<string, Entry>): Promise<void> {
  const fresh = [...now].filter(([name]) => name.startsWith(`${root}/`) && !work.record.files.has(name));
  const removed: string[] = [];
  const packs = new Set<string>();
  for (const [name, entry] of fresh) {
    if (removed.some((folder) => name.startsWith(`${folder}/`))) continue;
    const rest = name.slice(root.length + 1);
    const pack = entry.kind === 'file' ? PACK.exec(rest)?.[1] : undefined;
    if (pack !== undefined) packs.add(pack);
    else if (!(await isWanted(work, name, rest, entry))) {
      await attempt(work, name, async () => removeAll(work.dir, name));
      removed.push(name);
      if (!CACHE.test(rest) || !['file', 'dir'].includes(entry.kind)) work.changed.add(name);
    }
  }
  for (const pack of packs) await attempt(work, pack, () => checkPack(work, `${root}/${pack}`, now));
}

async function isWanted(work: Work, name: string, rest: string, entry: Entry): Promise<boolean> {
  if (entry.kind === 'dir') return !entry.unreadable && /^(?:[0-9a-f]{2}|pack)$/.test(rest);
  const id = entry.kind === 'file' && rest.split('/').length === 2 ? looseId(name) : undefined;
  return id !== undefined && looseIsTrue(absolute(work.dir, name), id, work.repo.objectFormat);
}

/** A new pack stays if every object in it is what the index says. */
async function checkPack(work: Work, pack: string, now: ReadonlyMap<string, Entry>): Promise<void> {
  const { dir, repo, record } = work;
  const own = (end: string): boolean => !record.files.has(`${pack}.${end}`) && now.has(`${pack}.${end}`);
  const whole = now.get(`${pack}.pack`)?.kind === 'file' && now.get(`${pack}.idx`)?.kind === 'file';
  const isTrue = whole && (await packIsTrue(`${dir}/${pack}.pack`, repo.objectFormat, repo.workTree));
  const partial = [...record.files.keys()].some((name) => name.endsWith('.promisor'));
  for (const end of ['idx', 'pack', 'promisor']) {
    if (own(end) && !(isTrue && (end !== 'promisor' || partial))) removeAll(dir, `${pack}.${end}`);
  }
  // Half a pair is what an interrupted command leaves; git does not look at it.
  if (whole && !isTrue) work.changed.add(`${pack}.pack`);
}
