import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { putBackFolder } from '../../src/world/gitdir/folder.js';
import { entryOf } from '../../src/world/walk/look.js';

let root: string;
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('a git folder in a restored copy stays, although a folder in it has the number it had', () => {
  root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'relais-folder-')));
  const [repo, privateDir] = [path.join(root, 'repo'), path.join(root, 'private')];
  execFileSync('git', ['init', '--quiet', repo]);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@b', ...args], { cwd: repo });
  git('commit', '--quiet', '--allow-empty', '-m', 'Start');
  const dir = path.join(repo, '.git');
  // It holds a HEAD of its own.
  const before = { ...entryOf(statSync(dir)), ino: statSync(path.join(dir, 'logs')).ino };
  expect(putBackFolder(dir, before, repo, privateDir)).toEqual({ state: 'there' });
  expect(existsSync(path.join(dir, 'config'))).toBe(true);
  expect(existsSync(privateDir)).toBe(false);
});
