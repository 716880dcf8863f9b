import { createHash, randomBytes } from 'node:crypto';
import { link, open, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock } from '../generated/types.js';
import type { HostIdentity, LockState, LockTaken } from '../model.js';
import { checkLock, parseJson } from '../schemas.js';
import { readText, removeFile, syncFolder } from './files.js';
import { processStart } from './host.js';

const MAX_LOCK_BYTES = 65_536;
const ATTEMPTS = 200;

/** A lock as somebody saw it. */
export interface Seen {
  readonly state: LockState;
  /** The file's text, where it could be read. */
  readonly text?: string;
}

/** Looks at a lock without touching it; every doubt is `held`. */
export async function inspectLock(file: string, me: HostIdentity): Promise<LockState> {
  return (await look(file, me)).state;
}

/** Takes the lock if it is free or provably left behind; of many callers exactly one gets it. */
export async function takeLock(file: string, me: HostIdentity, runId: string, startedAt: string): Promise<LockTaken> {
  const lock: Lock = { ...me, run_id: runId, started_at: startedAt };
  const text = `${JSON.stringify(lock, null, 2)}\n`;
  let seen = await look(file, me);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (seen.state.state === 'held' || seen.state.state === 'corrupt') return { taken: false, found: seen.state };
    if (seen.state.state === 'free') {
      if (await linkNew(file, text)) return await holding(file, lock, text, me);
    } else {
      const reclaimed = await reclaim(file, text, lock, seen.text ?? '', me);
      if (reclaimed) return { ...(await holding(file, lock, text, me)), reclaimed: seen.state.lock };
      await sleep(5 + Math.random() * 10);
    }
    seen = await look(file, me);
  }
  if (seen.state.state !== 'stale') return { taken: false, found: seen.state };
  const why = `${seen.state.why}, but another process is reclaiming it`;
  return { taken: false, found: { state: 'held', lock: seen.state.lock, why, alive: true } };
}

/** Removes the lock if it still says what it was seen to say; false when it is another one by now. */
export async function dropLock(file: string, seenText: string): Promise<boolean> {
  const aside = `${file}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  await rename(file, aside);
  const now = await readText(aside, MAX_LOCK_BYTES);
  const same = now.found === 'text' ? now.text === seenText : seenText === '';
  // Somebody else's, taken in between: back with it, unless there is yet another.
  if (!same) await link(aside, file);
  await removeFile(aside);
  await syncFolder(path.dirname(file));
  return same;
}

/** The lock as it is, with its text where that could be read. */
export async function readLock(file: string, me: HostIdentity): Promise<Seen> {
  return look(file, me);
}

async function look(file: string, me: HostIdentity): Promise<Seen> {
  const read = await readText(file, MAX_LOCK_BYTES);
  if (read.found === 'missing') return { state: { state: 'free' } };
  if (read.found === 'unreadable') return { state: { state: 'corrupt', content: '', why: read.why } };
  const { text } = read;
  const json = parseJson(text);
  const checked = json.ok ? checkLock(json.value) : json;
  if (!checked.ok) {
    return { text, state: { state: 'corrupt', content: text.slice(0, 2000), why: checked.errors.join('; ') } };
  }
  return { text, state: await judge(checked.value, me) };
}

async function judge(lock: Lock, me: HostIdentity): Promise<LockState> {
  const held = (why: string, alive = false): LockState => ({ state: 'held', lock, why, alive });
  const stale = (why: string): LockState => ({ state: 'stale', lock, why });
  if (lock.host !== me.host) return held(`taken on another host, ${lock.host}`);
  if (lock.boot_id !== '' && me.boot_id !== '' && lock.boot_id !== me.boot_id) {
    return stale('this machine was restarted since it was taken');
  }
  if (lock.pid_namespace !== me.pid_namespace)
    return held('taken in another PID namespace, whose processes cannot be seen');
  const start = await processStart(lock.pid);
  if (start === undefined) return stale(`process ${lock.pid} is gone`);
  if (start === '' || lock.pid_start === '')
    return held(`a process ${lock.pid} exists, and its start time cannot be told`);
  if (start !== lock.pid_start) return stale(`process ${lock.pid} is another one by now`);
  return held(`process ${lock.pid} is running`, true);
}

/** Puts a complete lock over a stale one, alone: under a claim that is itself a lock, on exactly those bytes. */
async function reclaim(file: string, text: string, lock: Lock, staleText: string, me: HostIdentity): Promise<boolean> {
  const digest = createHash('sha256').update(staleText).digest('hex').slice(0, 16);
  const claim = await takeLock(`${file}.reclaim.${digest}`, me, lock.run_id, lock.started_at);
  if (!claim.taken) return false;
  try {
    const now = await readText(file, MAX_LOCK_BYTES);
    if (now.found !== 'text' || now.text !== staleText) return false;
    return await viaTemp(file, text, (temp) => rename(temp, file));
  } finally {
    await claim.release();
  }
}

/** Creates the lock complete and exclusively: link(2) fails when the name is taken. */
async function linkNew(file: string, text: string): Promise<boolean> {
  return viaTemp(file, text, (temp) => link(temp, file));
}

async function viaTemp(file: string, text: string, place: (temp: string) => Promise<void>): Promise<boolean> {
  const temp = `${file}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  const handle = await open(temp, 'wx', 0o644);
  try {
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(temp);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EEXIST: somebody was faster. ENOENT: somebody cleaned our temp file away.
    if (code === 'EEXIST' || code === 'ENOENT') return false;
    throw error;
  } finally {
    await removeFile(temp);
  }
  await syncFolder(path.dirname(file));
  return true;
}

async function holding(file: string, lock: Lock, text: string, me: HostIdentity): Promise<LockTaken & { taken: true }> {
  if (!file.includes('.reclaim.')) await dropDeadClaims(file, me);
  const release = async (): Promise<void> => {
    const now = await readText(file, MAX_LOCK_BYTES);
    if (now.found !== 'text' || now.text !== text) return;
    await removeFile(file);
    await syncFolder(path.dirname(file));
  };
  return { taken: true, lock, release };
}

/** A claim whose maker crashed is about bytes that are no longer the lock's: it guards nothing. */
async function dropDeadClaims(file: string, me: HostIdentity): Promise<void> {
  const folder = path.dirname(file);
  const prefix = `${path.basename(file)}.reclaim.`;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || name.endsWith('.tmp')) continue;
    const claim = path.join(folder, name);
    if ((await inspectLock(claim, me)).state === 'stale') await removeFile(claim);
  }
}
