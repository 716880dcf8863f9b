import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  unlinkSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';
import type { Entry } from '../../model.js';
import { readSmall } from './refs.js';

const MAX_FOLDERS = 200_000;
const GONE = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG'];

/** What had become of a git folder, and what was done about it. */
export type FolderState =
  | { readonly state: 'there' }
  | { readonly state: 'moved back'; readonly from: string }
  | { readonly state: 'made anew' };

/**
 * Puts a git folder that was moved, or replaced by a link, a file or another folder, back in its place. One that is
 * nowhere to be found is made anew, empty. A stranger in its place goes into the private folder.
 */
export function putBackFolder(
  dir: string,
  before: Entry | undefined,
  workTree: string,
  privateDir: string,
): FolderState {
  const now = statOf(dir);
  if (now?.isDirectory() && (before === undefined || now.ino === before.ino)) return { state: 'there' };
  const from = before === undefined ? undefined : find(dir, before.ino, workTree, now);
  if (now?.isDirectory()) {
    // By its bytes a stranger can be made the same; only the lost original is worth more.
    if (from === undefined || !setAside(dir, privateDir)) return { state: 'there' };
  } else if (now !== undefined) unlinkSync(dir);
  if (from !== undefined) {
    renameSync(from, dir);
    return { state: 'moved back', from };
  }
  mkdirSync(dir, { recursive: true });
  chmodSync(dir, before?.mode ?? 0o755);
  return { state: 'made anew' };
}

function statOf(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function setAside(dir: string, privateDir: string): boolean {
  try {
    renameSync(dir, path.join(privateDir, `stranger-${randomBytes(6).toString('hex')}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EXDEV') return false;
    throw error;
  }
}

/** Where the folder is now: where the link or git's own pointer file says, in the work tree, or beside it. */
function find(dir: string, ino: number, workTree: string, now: Stats | undefined): string | undefined {
  const { dev } = lstatSync(nearest(path.dirname(dir)));
  const is = (candidate: string): boolean => {
    // Nothing in what stands here now can be what stood here: in a restored copy numbers mean other folders.
    if (candidate.startsWith(dir + path.sep)) return false;
    const stats = statOf(candidate);
    // A number may be given again to another folder: what it holds has to look like git's, too.
    return stats?.isDirectory() === true && stats.ino === ino && stats.dev === dev && looksLikeGit(candidate);
  };
  const pointed = now?.isSymbolicLink() ? resolved(dir) : now?.isFile() ? pointer(dir) : undefined;
  if (pointed !== undefined && is(pointed)) return pointed;
  return folders(path.dirname(workTree), 1).find(is) ?? folders(workTree, Infinity).find(is);
}

function nearest(folder: string): string {
  return statOf(folder)?.isDirectory() ? folder : nearest(path.dirname(folder));
}

function looksLikeGit(folder: string): boolean {
  return ['HEAD', 'objects', 'config', 'commondir'].some((name) => statOf(path.join(folder, name)) !== undefined);
}

function resolved(link: string): string | undefined {
  try {
    return realpathSync(link);
  } catch (error) {
    if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

function pointer(file: string): string | undefined {
  const to = /^gitdir: (.+?)\s*$/.exec(readSmall(path.dirname(file), path.basename(file), 8192) ?? '')?.[1];
  return to === undefined ? undefined : path.resolve(path.dirname(file), to);
}

/** Folders below one, nearest first, links not followed. */
function folders(root: string, depth: number): string[] {
  const found: string[] = [];
  let level = [root];
  for (let at = 0; at < depth && level.length > 0 && found.length < MAX_FOLDERS; at += 1) {
    level = level.flatMap((folder) => inside(folder));
    found.push(...level);
  }
  return found;
}

function inside(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(folder, entry.name));
  } catch (error) {
    if (GONE.includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
