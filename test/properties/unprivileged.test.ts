import { spawnSync } from 'node:child_process';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { git, makeGround, playTick, type Ground } from './ground.js';
import { differences, walkTree } from './oracle.js';

const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
/** Whether nobody may read this checkout: without that nothing could be run as nobody. */
const canDrop =
  isRoot &&
  spawnSync(process.execPath, ['-e', 'fs.readdirSync(process.argv[1])', import.meta.dirname], {
    uid: NOBODY,
    gid: NOBODY,
    stdio: 'ignore',
  }).status === 0;

let made: Ground;

beforeAll(async () => {
  // A closed file or folder is no obstacle to root. This file has a process of its own, so nobody else is affected.
  if (canDrop) {
    process.setgid?.(NOBODY);
    process.setuid?.(NOBODY);
  }
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  made = await makeGround();
  vi.stubEnv('HOME', made.home);
});

afterAll(async () => {
  await made.dispose();
  vi.unstubAllEnvs();
});

const CLOSED = [
  'chmod 000 src/plain.js',
  'chmod 000 docs/guide.md',
  'printf x > src/new.js; chmod 000 src/new.js',
  'printf x > docs/new.js; chmod 000 docs/new.js',
  'chmod 000 src/deep',
  'chmod 300 src/deep',
  'chmod 600 src/deep',
  'chmod 300 docs',
  'mkdir src/n; printf x > src/n/a; chmod 000 src/n',
  'mkdir src/n; printf x > src/n/a; chmod 300 src/n',
  'mkdir docs/n; printf x > docs/n/a; chmod 000 docs/n',
  'chmod 000 .git/hooks',
  'chmod 000 .git/config',
  'chmod 500 .git',
  'chmod 000 relais',
  'chmod 500 .',
  'printf y >> .env; chmod 000 .env',
];

describe.skipIf(isRoot && !canDrop)('what the Hands close to the Judge is stopped and put back', () => {
  it.each(CLOSED)('%s', async (edit) => {
    const slot = await made.take();
    try {
      const before = walkTree(slot.repo, ['.git', 'relais']);
      const roots = ['.', '.git', 'relais', '.git/hooks', '.git/config'];
      const modes = (): number[] => roots.map((name) => lstatSync(path.join(slot.repo, name)).mode);
      const modesBefore = modes();
      const phases: string[] = [];
      const { outcome } = await playTick(slot, {
        task: { scope: { allow_new_files: true }, verification: { fast: ['pass'], slow: [] } },
        hands: Buffer.from(`${edit}\n`),
        watch: (phase) => phases.push(phase),
      });
      expect(phases).toContain('JUDGE');
      expect(`${outcome.verdict} ${outcome.code}: ${outcome.evidence.join('; ')}`).toMatch(/^stop STOP_/);
      expect(modes()).toEqual(modesBefore);
      expect(await git(slot, 'status', '--porcelain', '-uall')).toBe('');
      expect(differences(before, walkTree(slot.repo, ['.git', 'relais'])).map((one) => one.path)).toEqual([]);
    } finally {
      made.give(slot);
    }
  });
});
