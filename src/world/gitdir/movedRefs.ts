import type { Repository } from '../../model.js';
import type { Git } from '../git/git.js';
import { GitError } from '../git/call.js';
import { readSmall } from './refs.js';
import { ancestors, makeFolder, replaceFile } from '../keep/replace.js';
import type { Vault } from '../keep/vault.js';

const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const MAX_LOG = 256 * 1024 * 1024;

interface Moved {
  readonly ref: string;
  readonly before?: string;
  readonly after?: string;
}

interface Place {
  readonly git: Pick<Git, 'updateRef' | 'deleteRef'>;
  readonly repo: Repository;
  readonly vault: Vault;
  readonly runId: string;
}

/** The refs under which a tick keeps what other refs stood for. */
export function movedPrefix(runId: string): string {
  return `refs/relais/moved/${runId}/`;
}

/**
 * Keeps alive what other refs, and the entries of the stash, stood for before they moved. Nothing is moved back:
 * the answer holds, by ref, the commands that would.
 */
export async function keepMovedRefs(place: Place, moved: readonly Moved[]): Promise<Map<string, string[]>> {
  const commands = new Map<string, string[]>();
  for (const one of moved) {
    const { ref, before, after } = one;
    if (ref.startsWith('refs/relais/')) await putBack(place, one);
    else if (ref === 'refs/stash' && before !== undefined) commands.set(ref, await keepStash(place, before, after));
    else {
      if (before !== undefined && OID.test(before)) await keep(place, ref.slice('refs/'.length), before);
      if (before !== undefined && after === undefined) await keepLog(place, ref);
      commands.set(ref, backCommands(ref, before));
    }
  }
  return commands;
}

/** Relais' own refs are nobody else's to move: they stand again where they stood. */
async function putBack({ git }: Place, { ref, before, after }: Moved): Promise<void> {
  const from = after !== undefined && OID.test(after) ? after : undefined;
  if (before !== undefined && OID.test(before)) await git.updateRef(ref, before, from, 'relais: put back');
  else if (before === undefined && after !== undefined) await git.deleteRef(ref, after);
}

function backCommands(ref: string, before: string | undefined): string[] {
  if (before === undefined) return [`git update-ref --no-deref -d ${quote(ref)}`];
  if (OID.test(before)) return [`git update-ref --no-deref ${quote(ref)} ${before}`];
  const target = /^ref: *(\S+)$/.exec(before)?.[1];
  return target === undefined ? [] : [`git symbolic-ref ${quote(ref)} ${quote(target)}`];
}

async function keep({ git, runId }: Place, name: string, oid: string): Promise<void> {
  try {
    await git.updateRef(`${movedPrefix(runId)}${name}`, oid, undefined, 'relais: a ref that moved stood here');
  } catch (error) {
    // A ref that stood for nothing before, in a shallow or damaged repository, can't be kept.
    if (!(error instanceof GitError)) throw error;
  }
}

/** The log of a deleted ref goes with the kept one. */
async function keepLog({ repo, vault, runId }: Place, ref: string): Promise<void> {
  const part = repo.gitDir === repo.commonDir ? 'git' : 'common';
  if (!vault.has(part, `logs/${ref}`)) return;
  const name = `logs/${movedPrefix(runId)}${ref.slice('refs/'.length)}`;
  for (const folder of ancestors(name)) makeFolder(repo.commonDir, folder);
  const bytes = await vault.bytes(part, `logs/${ref}`);
  await replaceFile(repo.commonDir, name, { mode: 0o644, mtimeMs: Date.now() }, bytes);
}

/** Every entry of the stash that is no longer listed, the oldest first as `git stash store` wants them. */
async function keepStash(place: Place, before: string, after: string | undefined): Promise<string[]> {
  const { repo, vault } = place;
  const part = repo.gitDir === repo.commonDir ? 'git' : 'common';
  const log = vault.has(part, 'logs/refs/stash') ? (await vault.bytes(part, 'logs/refs/stash')).toString('utf8') : '';
  const entries = stashEntries(log);
  if (entries.length === 0) entries.push({ oid: before, message: 'a stash' });
  const now = after === undefined ? '' : (readSmall(repo.commonDir, 'logs/refs/stash', MAX_LOG) ?? '');
  const listed = new Set(stashEntries(now).map(({ oid }) => oid));
  const commands: string[] = [];
  for (const [at, { oid, message }] of entries.entries()) {
    if (listed.has(oid) || oid === after) continue;
    await keep(place, `stash/${entries.length - 1 - at}`, oid);
    commands.push(`git stash store -m ${quote(message)} ${oid}`);
  }
  return commands;
}

function stashEntries(log: string): { oid: string; message: string }[] {
  return log.split('\n').flatMap((line) => {
    const match = /^[0-9a-f]+ ([0-9a-f]{40}|[0-9a-f]{64}) [^\t]*\t?(.*)$/.exec(line);
    return match?.[1] === undefined ? [] : [{ oid: match[1], message: match[2] ?? '' }];
  });
}

/** As a shell reads it back. */
function quote(word: string): string {
  return /^[\w./@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
