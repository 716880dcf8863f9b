import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { RefMap, Repository } from '../../model.js';
import { walk } from '../walk/inventory.js';
import { absolute, decodePath } from '../paths.js';
import { lstatOf } from '../keep/replace.js';

const SMALL = 64 * 1024;
const PACKED_LINE = /^(#.*|\^[0-9a-f]{40,64}|[0-9a-f]{40,64} refs\/.+)$/;
const MAX_PACKED = 256 * 1024 * 1024;

/**
 * Every ref by its own value, read without git: an object id, `ref: name` for a symbolic one, or a
 * description in brackets where no ref could be read. A loose ref wins over a packed one.
 */
export async function readRefs(repo: Repository): Promise<RefMap> {
  const refs = new Map(readPacked(repo.commonDir));
  for (const dir of new Set([repo.commonDir, repo.gitDir])) {
    if (!lstatOf(dir, 'refs')?.isDirectory()) continue;
    for (const [path, entry] of await walk(`${dir}/refs`, { skip: () => false, prune: () => false })) {
      const name = `refs/${path}`;
      if (entry.kind === 'dir' ? !entry.unreadable : name.endsWith('.lock')) continue;
      refs.set(
        name,
        entry.kind === 'link'
          ? `(link to ${entry.target ?? ''})`
          : entry.kind === 'file'
            ? readValue(dir, name)
            : `(${entry.kind})`,
      );
    }
  }
  return refs;
}

function readValue(dir: string, name: string): string {
  const text = readSmall(dir, name, SMALL);
  return text === undefined ? '(unreadable)' : text.trim() === '' ? '(empty)' : text.trim();
}

/** Why the refs of a repository can't be read without git; undefined if they can. */
export function refsProblem(repo: Repository): string | undefined {
  return lstatOf(repo.commonDir, 'reftable') === undefined
    ? undefined
    : `${repo.commonDir} keeps its refs in the reftable format, which Relais can't read`;
}

/** Whether `packed-refs` is something git would refuse to read. */
export function packedRefsBroken(commonDir: string): boolean {
  const stats = lstatOf(commonDir, 'packed-refs');
  if (stats === undefined) return false;
  const text = readSmall(commonDir, 'packed-refs', MAX_PACKED);
  return text === undefined || text.split('\n').some((line) => line !== '' && !PACKED_LINE.test(line));
}

/** The refs of `packed-refs` alone. */
export function readPacked(commonDir: string): RefMap {
  const refs = new Map<string, string>();
  const text = readSmall(commonDir, 'packed-refs', MAX_PACKED);
  for (const line of (text ?? '').split('\n')) {
    const match = /^([0-9a-f]{40}|[0-9a-f]{64}) (refs\/.+)$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined) refs.set(match[2], match[1]);
  }
  return refs;
}

/** HEAD by its bytes: a branch, a commit, or neither where it is damaged; `raw` is what stands there. */
export async function readHead(repo: Repository): Promise<{ ref?: string; commit?: string; raw: string }> {
  const raw = readSmall(repo.gitDir, 'HEAD', SMALL) ?? '';
  const ref = /^ref:\s*(\S.*?)\s*$/.exec(raw)?.[1];
  if (ref !== undefined) return { ref, raw };
  const commit = /^([0-9a-f]{40}|[0-9a-f]{64})\s*$/.exec(raw)?.[1];
  return commit === undefined ? { raw } : { commit, raw };
}

/** Refs that were created, moved or deleted, without the given branch and without those the given run made. */
export function changedRefs(
  before: RefMap,
  after: RefMap,
  own: { readonly ref?: string | undefined; readonly runId?: string } = {},
): { ref: string; before?: string; after?: string }[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return names
    .filter((ref) => before.get(ref) !== after.get(ref) && ref !== own.ref && !isMadeBy(ref, own.runId))
    .map((ref) => {
      const [old, now] = [before.get(ref), after.get(ref)];
      return { ref, ...(old !== undefined && { before: old }), ...(now !== undefined && { after: now }) };
    });
}

function isMadeBy(ref: string, runId: string | undefined): boolean {
  const [, relais, , owner] = ref.split('/');
  return relais === 'relais' && runId !== undefined && owner === runId;
}

/** The text of a regular file, or undefined where it is missing, of another kind, too large or not to be read. */
export function readSmall(dir: string, path: string, maxBytes: number): string | undefined {
  let fd: number;
  try {
    fd = openSync(absolute(dir, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
  try {
    const stats = fstatSync(fd);
    return stats.isFile() && stats.size <= maxBytes ? decodePath(readFileSync(fd)) : undefined;
  } finally {
    closeSync(fd);
  }
}
