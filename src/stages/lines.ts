import type { Change } from '../model.js';
import type { Baseline, Run } from './run.js';
import { frozenRoot, HUGE_BYTES } from './tree.js';

const BYTES_PER_LINE = 80;

export interface LineCount {
  readonly added: number;
  readonly deleted: number;
  readonly estimated: boolean;
}

/** Lines added and deleted per path; a binary or huge file counts its size divided by 80. */
export async function countLines(
  run: Run,
  baseline: Baseline,
  changes: readonly Change[],
  tree: string,
): Promise<Map<string, LineCount>> {
  const counts = new Map<string, LineCount>();
  const numstat =
    tree === baseline.tree
      ? new Map<string, { added: number; deleted: number }>()
      : await run.git.numstat(baseline.tree, tree);
  for (const change of changes) {
    const counted = numstat.get(change.path);
    const textual = counted !== undefined && !(await looksBinary(run, change));
    if (textual) counts.set(change.path, { ...counted, estimated: false });
    else if (sizeOf(change.before) + sizeOf(change.after) > 0 && contentDiffers(change)) {
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

function contentDiffers({ before, after }: Change): boolean {
  return (
    before === undefined ||
    after === undefined ||
    before.kind !== after.kind ||
    before.size !== after.size ||
    before.ino !== after.ino ||
    before.mtimeMs !== after.mtimeMs
  );
}

async function looksBinary(run: Run, change: Change): Promise<boolean> {
  // An attributes file is stored from its bytes, and its frozen copy replaced by the old one.
  if (change.after?.kind !== 'file' || /(^|\/)\.gitattributes$/.test(change.path)) return false;
  if (change.after.size > HUGE_BYTES) return true;
  const bytes = await run.world.files.readBytes(run.world.inventory.absolute(frozenRoot(run), change.path));
  return bytes.includes(0);
}
