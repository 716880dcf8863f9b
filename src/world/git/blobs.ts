import type { GitCall } from './call.js';
import { GitError } from './call.js';

/** Reads blobs one after the other through one process. */
export interface BlobReader {
  read(oid: string): Promise<Buffer>;
  close(): Promise<void>;
}

const ARGS = ['cat-file', '--batch'];

/** Reads blobs; the process starts with the first question. */
export function openBlobs(git: GitCall): BlobReader {
  const objects = openObjects(git);
  return { read: (oid) => objects.read(oid, 'blob'), close: () => objects.close() };
}

/** Reads objects of any kind, by whatever name git knows them, one after the other through one process. */
export function openObjects(git: GitCall): {
  read(name: string, kind: 'blob' | 'tree'): Promise<Buffer>;
  close(): Promise<void>;
} {
  let talk: ReturnType<GitCall['talk']> | undefined;
  let chunks: AsyncIterator<Buffer> | undefined;
  let pending: Buffer = Buffer.alloc(0);
  const more = async (): Promise<void> => {
    const next = await chunks?.next();
    if (next === undefined || next.done) throw new GitError(ARGS, -1, 'it ended before it had answered');
    pending = pending.length === 0 ? next.value : Buffer.concat([pending, next.value]);
  };
  const take = async (length: number): Promise<Buffer> => {
    while (pending.length < length) await more();
    const bytes = pending.subarray(0, length);
    pending = pending.subarray(length);
    return bytes;
  };
  return {
    async read(name, kind) {
      talk ??= git.talk(ARGS);
      chunks ??= talk.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      talk.stdin.write(`${name}\n`);
      while (!pending.includes(10)) await more();
      const header = (await take(pending.indexOf(10) + 1)).toString('latin1').trimEnd();
      const [, found, size] = / (blob|tree|commit|tag) (\d+)$/.exec(header) ?? [];
      if (found !== kind) throw new GitError(ARGS, 0, header);
      const bytes = Buffer.from(await take(Number(size)));
      await take(1);
      return bytes;
    },
    async close() {
      talk?.stdin.end();
      await talk?.ended;
    },
  };
}
