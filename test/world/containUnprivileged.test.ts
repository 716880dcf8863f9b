import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { containment } from '../../src/world/process/contain.js';
import { escape, ESCAPES, expectQuiet, makeGround } from './escapes.js';

const NOBODY = 65534;
let dir: string;

// This file has a process of its own, so nobody else is affected.
beforeAll(() => {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
});
beforeEach(async () => {
  dir = await makeGround();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe.runIf(process.platform === 'linux')('without root', () => {
  it('a namespace is used wherever one can be had', () => {
    const args = ['--user', '--map-current-user', '--pid', '--fork', '--mount-proc', 'true'];
    const { status } = spawnSync('/usr/bin/unshare', args, { stdio: 'ignore', cwd: dir });
    expect(containment()).toBe(status === 0 ? 'pidns' : 'group+marker');
  });

  it.each(ESCAPES)('%s is gone when the child is', async (_name, script, found) => {
    expect(process.getuid?.()).not.toBe(0);
    if (!found && containment() !== 'pidns') return;
    const end = await escape(dir, script);
    expect(end).toMatchObject({ how: 'exited', exitCode: 0 });
    expect(end.escapees.length).toBeGreaterThan(0);
    await expectQuiet(dir);
  });
});
