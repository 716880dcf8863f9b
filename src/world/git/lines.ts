import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Repository } from '../../model.js';
import { GitError, type GitCall } from './call.js';
import { splitZ } from '../paths.js';

/** Lines added and deleted per path between two trees; every file counts as text, whatever attributes or bytes say. */
export async function numstat(
  git: GitCall,
  repository: Repository,
  from: string,
  to: string,
): Promise<Map<string, { added: number; deleted: number }>> {
  const args = ['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-ext-diff', '--no-textconv', from, to];
  const shadow = await mkdtemp(path.join(os.tmpdir(), 'relais-lines-'));
  try {
    await makeShadow(shadow, repository);
    const env = { GIT_DIR: shadow, GIT_OBJECT_DIRECTORY: path.join(repository.commonDir, 'objects') };
    const counts = new Map<string, { added: number; deleted: number }>();
    for (const record of splitZ((await git(args, { env })).stdout)) {
      const match = /^(\d+)\t(\d+)\t/.exec(record);
      if (!match) throw new GitError(args, 0, `a record nobody knows: ${record.slice(0, 80)}`);
      counts.set(record.slice(match[0].length), { added: Number(match[1]), deleted: Number(match[2]) });
    }
    return counts;
  } finally {
    await rm(shadow, { recursive: true, force: true });
  }
}

/** A git folder of our own on the same objects: --text has no say in --numstat, but info/attributes outranks every other rule. */
async function makeShadow(shadow: string, { objectFormat }: Repository): Promise<void> {
  const extension = objectFormat === 'sha256' ? '[extensions]\n\tobjectFormat = sha256\n' : '';
  await Promise.all([
    mkdir(path.join(shadow, 'refs')),
    mkdir(path.join(shadow, 'info')).then(() => writeFile(path.join(shadow, 'info', 'attributes'), '* diff\n')),
    writeFile(path.join(shadow, 'HEAD'), 'ref: refs/heads/none\n'),
    writeFile(
      path.join(shadow, 'config'),
      `[core]\n\trepositoryformatversion = ${extension === '' ? 0 : 1}\n${extension}`,
    ),
  ]);
}
