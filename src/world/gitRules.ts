import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { IndexEntry, Repository } from '../model.js';
import type { GitSettings } from './gitCall.js';
import { absolute } from './paths.js';

/** The settings with the user's own ignore and attribute files replaced by copies as they are now. */
export async function copyRules(settings: GitSettings, dir: string): Promise<GitSettings> {
  const { HOME: home = os.homedir(), XDG_CONFIG_HOME: folder = path.join(home, '.config') } = settings.env;
  const config = [...settings.config];
  for (const [key, name] of [
    ['core.excludesfile', 'ignore'],
    ['core.attributesfile', 'attributes'],
  ] as const) {
    const configured = settings.config.findLast(([known]) => known === key)?.[1];
    const file = configured?.replace(/^~(?=\/)/, home) ?? path.join(folder, 'git', name);
    const copy = path.join(dir, `user-${name}`);
    await writeFile(copy, (await ruleText(file)) ?? '', { encoding: 'latin1', mode: 0o600 });
    config.push([key, copy]);
  }
  return { ...settings, config };
}

/** The texts of all attributes files that count: in the tree, the repository's own, the user's, the system's. */
export async function attributeRules(
  repository: Repository,
  settings: GitSettings,
  entries: ReadonlyMap<string, IndexEntry>,
): Promise<string[]> {
  const home = settings.env['HOME'] || os.homedir();
  const folder = settings.env['XDG_CONFIG_HOME'] || path.join(home, '.config');
  const configured = settings.config.findLast(([key]) => key === 'core.attributesfile')?.[1];
  const users = configured ? configured.replace(/^~(?=\/)/, home) : path.join(folder, 'git', 'attributes');
  const files: (string | Buffer)[] = [
    path.join(repository.commonDir, 'info', 'attributes'),
    path.resolve(repository.workTree, users),
    '/etc/gitattributes',
  ];
  for (const file of entries.keys()) {
    if (file === '.gitattributes' || file.endsWith('/.gitattributes')) files.push(absolute(repository.workTree, file));
  }
  const texts = await Promise.all(files.map(ruleText));
  return texts.filter((text) => text !== undefined);
}

async function ruleText(file: string | Buffer): Promise<string | undefined> {
  try {
    return await readFile(file, 'latin1');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Not there, or a folder or dangling link: git reads no rules from it either.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' || code === 'ELOOP') return undefined;
    throw error;
  }
}
