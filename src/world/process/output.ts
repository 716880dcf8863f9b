import type { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

export type Handle = Awaited<ReturnType<typeof open>>;

const SIZE_POLL_MS = 50;

/** Keeps the first bytes of a stream and drops the rest, but always reads on: a full pipe would stop the child. */
export function collect(
  stream: Readable | null | undefined,
  maxBytes: number,
): { bytes: () => Buffer; cut: () => boolean; ended: Promise<void> } {
  const chunks: Buffer[] = [];
  let length = 0;
  let cut = false;
  const ended = new Promise<void>((resolve) => {
    if (!stream) return resolve();
    stream.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, Math.max(0, maxBytes - length));
      if (kept.length > 0) chunks.push(kept);
      length += kept.length;
      cut ||= kept.length < chunk.length;
    });
    // An error ends a pipe like its end does; what had been read counts.
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve());
  });
  return { bytes: () => Buffer.concat(chunks), cut: () => cut, ended };
}

/** Resolves once a file is longer than it may be. */
export function untilFull(file: Handle, maxBytes: number, settled: AbortSignal): Promise<'output_cap'> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      if (settled.aborted) return;
      file.stat().then(
        ({ size }) => size > maxBytes && resolve('output_cap'),
        (error: unknown) => settled.aborted || reject(error as Error),
      );
    }, SIZE_POLL_MS);
    settled.addEventListener('abort', () => clearInterval(timer));
  });
}

/** Reads a file's beginning; what is beyond the cap is not kept on disk either. */
export async function readBack(file: Handle, maxBytes: number): Promise<{ bytes: Buffer; cut: boolean }> {
  const { size } = await file.stat();
  if (size > maxBytes) await file.truncate(maxBytes);
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return { bytes: bytes.subarray(0, length), cut: size > maxBytes };
}
