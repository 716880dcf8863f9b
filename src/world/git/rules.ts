import { readFile, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Repository } from '../../model.js';
import type { GitSettings } from './call.js';
import { absolute } from '../paths.js';

const USERS_OWN = [
  ['core.excludesfile', 'ignore'],
  ['core.attributesfile', 'attributes'],
] as const;

/** The settings with the user's own ignore and attribute files replaced by copies as they are now. */
export async function copyRules(settings: GitSettings, workTree: string, dir: string): Promise<GitSettings> {
  const config = [...settings.config];
  for (const [key, name] of USERS_OWN) {
    const copy = path.join(dir, `user-${name}`);
    const text = await ruleText(usersFile(settings, workTree, key, name));
    await writeFile(copy, text ?? '', { encoding: 'latin1', mode: 0o600 });
    config.push([key, copy]);
  }
  return { ...settings, config };
}

/** The texts of all attributes files that count: in the tree, the repository's own, the user's, the system's. */
export async function attributeRules(
  repository: Repository,
  settings: GitSettings,
  inTree: readonly string[],
): Promise<string[]> {
  const files: (string | Buffer)[] = [
    path.join(repository.commonDir, 'info', 'attributes'),
    usersFile(settings, repository.workTree, 'core.attributesfile', 'attributes'),
    '/etc/gitattributes',
  ];
  for (const file of inTree) files.push(absolute(repository.workTree, file));
  const texts = await Promise.all(files.map(ruleText));
  return texts.filter((text): text is string => text !== undefined && text !== '');
}

/** Where git looks for the user's own rules: as configured, or in its folder of settings. */
function usersFile(settings: GitSettings, workTree: string, key: string, name: string): string {
  const home = settings.env['HOME'] || os.homedir();
  const folder = settings.env['XDG_CONFIG_HOME'] || path.join(home, '.config');
  const configured = settings.config.findLast(([known]) => known === key)?.[1];
  return configured ? path.resolve(workTree, configured.replace(/^~(?=\/)/, home)) : path.join(folder, 'git', name);
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
