import type { Change } from '../model.js';
import type { Baseline, Run } from './run.js';
import { frozenRoot, HUGE_BYTES } from './tree.js';

const NEWLINE = 0x0a;
const BYTES_PER_LINE = 80;
/** Above this size, lines that are longer than this on average are no lines anybody reads. */
const LONG_FILE_BYTES = 64 * 1024;
const LONG_LINE_BYTES = 1000;

interface Lines {
  readonly added: number;
  readonly deleted: number;
}

export interface LineCount extends Lines {
  readonly estimated: boolean;
}

/** What is known of a text that changed, by sizes and lines. */
interface TextChange extends Lines {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Infinite where it is not known. */
  readonly linesAfter: number;
}

/** Lines added and deleted per path; a binary or huge file, or one of very long lines, counts its size divided by 80. */
export async function countLines(
  run: Run,
  baseline: Baseline,
  changes: readonly Change[],
  tree: string,
): Promise<Map<string, LineCount>> {
  const counts = new Map<string, LineCount>();
  const numstat = tree === baseline.tree ? new Map<string, Lines>() : await run.git.numstat(baseline.tree, tree);
  for (const change of changes) {
    const counted = numstat.get(change.path);
    if (counted !== undefined && (await isCountable(run, change, counted)))
      counts.set(change.path, { ...counted, estimated: false });
    else if (sizeOf(change.before) + sizeOf(change.after) > 0 && contentDiffers(change, counted)) {
      counts.set(change.path, {
        added: Math.ceil(sizeOf(change.after) / BYTES_PER_LINE),
        deleted: Math.ceil(sizeOf(change.before) / BYTES_PER_LINE),
        estimated: true,
      });
    }
  }
  return counts;
}

function sizeOf(entry: Change['before']): number {
  return entry?.kind === 'file' ? entry.size : 0;
}

function contentDiffers({ before, after }: Change, counted: Lines | undefined): boolean {
  // Git has compared the bytes; times and sizes can be made to look untouched.
  if (counted !== undefined) return counted.added + counted.deleted > 0;
  return (
    before === undefined ||
    after === undefined ||
    before.kind !== after.kind ||
    before.size !== after.size ||
    before.ino !== after.ino ||
    before.mtimeMs !== after.mtimeMs
  );
}

async function isCountable(run: Run, change: Change, counted: Lines): Promise<boolean> {
  const bytes = { bytesBefore: sizeOf(change.before), bytesAfter: sizeOf(change.after) };
  if (change.after?.kind !== 'file') return !hasLongLines({ ...bytes, linesAfter: counted.added, ...counted });
  // An attributes file is stored from its bytes, and its frozen copy replaced by the old one.
  if (/(^|\/)\.gitattributes$/.test(change.path)) return !hasLongLines({ ...bytes, linesAfter: Infinity, ...counted });
  if (change.after.size > HUGE_BYTES) return false;
  const frozen = await run.world.files.readBytes(run.world.inventory.absolute(frozenRoot(run), change.path));
  return !frozen.includes(0) && !hasLongLines({ ...bytes, linesAfter: linesIn(frozen), ...counted });
}

/** True when either side, or what was added to it or taken away, is too long for its lines. */
export function hasLongLines({ bytesBefore, bytesAfter, linesAfter, added, deleted }: TextChange): boolean {
  if (added + deleted === 0) return false;
  const tooLong = (bytes: number, lines: number): boolean => bytes > LONG_FILE_BYTES && bytes > lines * LONG_LINE_BYTES;
  const linesBefore = linesAfter - added + deleted;
  return (
    tooLong(bytesAfter, linesAfter) ||
    tooLong(bytesBefore, linesBefore) ||
    // Many short lines around it would hide one endless line from the average.
    tooLong(bytesAfter - bytesBefore, added) ||
    tooLong(bytesBefore - bytesAfter, deleted)
  );
}

function linesIn(bytes: Buffer): number {
  let lines = bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0;
  for (const byte of bytes) if (byte === NEWLINE) lines += 1;
  return lines;
}
