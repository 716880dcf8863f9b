import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Entry, Inventory, Repository } from '../../model.js';
import { absolute, parentOf } from '../paths.js';

/** What all work trees share; the rest of a shared folder belongs to the main work tree, where somebody else may be at work. */
const SHARED = new Set([
  'config',
  'config.worktree',
  'packed-refs',
  'shallow',
  'hooks',
  'info',
  'refs',
  'branches',
  'remotes',
  'logs',
  'objects',
  'worktrees',
  'modules',
]);
/** What git itself reads: no git command may run while one of these is not as it was. */
const STEERING =
  /^(?:HEAD|config|config\.worktree|packed-refs|shallow|index|sharedindex\.[^/]*|commondir|gitdir|SQUASH_MSG|AUTO_MERGE|(?:MERGE|CHERRY_PICK|REVERT|REBASE|BISECT|NOTES_MERGE)_.*|(?:hooks|info|refs|reftable|branches|remotes|logs|rebase-merge|rebase-apply|sequencer|objects|worktrees|modules)(?:\/.*)?)$/;
const OTHER_WORK_TREE = /^worktrees\/[^/]+(\/(config\.worktree|gitdir|commondir|(hooks|logs)(\/.*)?))?$/;
const MODULE_NOISE = /\/(index|COMMIT_EDITMSG|ORIG_HEAD|FETCH_HEAD|gc\.log|gc\.pid|[^/]*\.lock)$/;
/** Stores of other tools: large, or written at any time by a program of the user's. What lies in them is not looked at. */
const TOOL_FOLDER =
  /^(?:lfs|annex|fsmonitor--daemon|branchless|gitbutler|ai|cursor|entire-sessions|gk|magit|lint-staged[^/]*)$/;
const TOOL_FILE =
  /^(?:fsmonitor--daemon[^/]*|\.watchman-cookie-[^/]*|\.graphite_[^/]*|gitk\.cache|qgit_cache\.dat|sourcetreeconfig[^/]*|opencode|(?:\d+\.)?tags|lint-staged[^/]*|\.?COMMIT_EDITMSG[.~][^/]*|\.DS_Store)$/;
/** Caches git makes again: without a copy it is enough that a changed one goes. */
const CACHE =
  /^(?:objects\/info\/(?:packs(?:_[^/]*)?|commit-graph(?:\.lock)?|commit-graphs(?:\/.*)?)|info\/refs(?:_[^/]{6})?)$/;
/** Put back, but not held against anybody: honest git commands and their automatic upkeep write them. */
const EXEMPT = [
  CACHE,
  /^(?:HEAD|index|sharedindex\.[^/]*|ORIG_HEAD|FETCH_HEAD|gc\.log|gc\.pid|packed-refs\.new)$/,
  /^(?:COMMIT|TAG|NOTES)_EDITMSG$|^(?:EDIT_DESCRIPTION|ADD_EDIT\.patch|addp-hunk-edit\.diff)$/,
  /^(?:HEAD|index|ORIG_HEAD|FETCH_HEAD|MERGE_RR|AUTO_MERGE|packed-refs|shallow|gc\.log|gc\.pid|next-index-\d+|refs\/.*)\.lock$/,
  /^index\.stash\.\d+(?:\.lock)?$|^sharedindex_[^/]*$|^(?:rr-cache|lost-found)(?:\/.*)?$/,
];

/** Which names of a git folder are not recorded. */
export function skipper(repo: Repository, dir: string): (name: string) => boolean {
  const own = path.relative(dir, repo.gitDir);
  return (name) => {
    const top = name.includes('/') ? name.slice(0, name.indexOf('/')) : name;
    // Its HEAD's log belongs to the main work tree, like HEAD itself.
    if (dir !== repo.gitDir && (!SHARED.has(top) || name === 'logs/HEAD')) return true;
    if (top === 'objects') return name !== top && !/^objects\/info(\/|$)/.test(name);
    if (top === 'worktrees') return name !== top && (name === own || !OTHER_WORK_TREE.test(name));
    if (top === 'modules') return skipInModules(dir, name);
    return name !== top && TOOL_FOLDER.test(top);
  };
}

/** A module may itself be named `objects` or `logs`; only beside a HEAD are those git's own folders. */
function skipInModules(dir: string, name: string): boolean {
  if (MODULE_NOISE.test(name)) return true;
  const folder = parentOf(name);
  const base = path.posix.basename(name);
  if (base === 'logs' || TOOL_FOLDER.test(base)) return isGitFolder(dir, folder);
  return folder.endsWith('/objects') && base !== 'info' && isGitFolder(dir, parentOf(folder));
}

function isGitFolder(dir: string, folder: string): boolean {
  return existsSync(absolute(dir, `${folder}/HEAD`));
}

/** Other branches and tags: compared by value, never put back. A replacing ref is no branch: it changes what every object means. */
export function isRef(name: string): boolean {
  if (name === 'packed-refs' || name === 'refs') return true;
  return name.startsWith('refs/') && !name.endsWith('.lock') && !/^refs\/replace(\/|$)/.test(name);
}

/** Whether a difference is put back without a word. */
export function isExempt(name: string): boolean {
  return EXEMPT.some((names) => names.test(name));
}

/** A name of another tool's, of which no copy is kept. */
export function isTools(name: string): boolean {
  return TOOL_FOLDER.test(name) || TOOL_FILE.test(name);
}

/** Whether a difference at another tool's name is that tool's business: through a link or a second name it would write elsewhere. */
export function isToolsWork(name: string, before: Entry | undefined, now: Entry | undefined): boolean {
  if (!isTools(name)) return false;
  if (now === undefined) return before?.kind !== 'link';
  if (now.unreadable || (before !== undefined && before.kind !== now.kind)) return false;
  if (now.kind === 'dir') return TOOL_FOLDER.test(name);
  return TOOL_FILE.test(name) && (now.kind === 'socket' || (now.kind === 'file' && now.nlink === 1));
}

/** Whether git works as before although this file can't come back. */
export function isDispensable(name: string): boolean {
  return CACHE.test(name) || !STEERING.test(name);
}

/** Whether a file may stay away without a word: git or its tool makes it again. */
export function isRemade(name: string): boolean {
  return CACHE.test(name) || isTools(name);
}

/** A work tree that was added meanwhile may be somebody else's: it is told of, and left whole. */
export function isNewWorkTree(name: string, before: Inventory): boolean {
  const [top, tree] = name.split('/');
  return top === 'worktrees' && tree !== undefined && !before.has(`worktrees/${tree}`);
}
