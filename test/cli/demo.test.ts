import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { everything, git, json, relais, sandbox, start } from './relais.js';

describe('relais demo', () => {
  it('shows one tick that is kept and one that is stopped, and leaves nothing behind', async () => {
    const box = await sandbox();
    const before = [...(await everything(box.root)).keys()];
    const end = await relais(['demo'], { cwd: box.root, env: box.env });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    for (const phase of ['LOCK', 'PREFLIGHT', 'ORCHESTRATE', 'BUILD', 'JUDGE', 'VERIFY', 'SETTLE', 'REPORT'])
      expect(end.stdout).toContain(`  ${phase}`);
    expect(end.stdout).toContain('  SUCCESS\n  blast radius: 1 file, +1/-1, 0 new');
    expect(end.stdout).toContain('STOP  STOP_SCOPE_VIOLATION_FORBIDDEN');
    expect(end.stdout).toContain('because: ');
    expect(end.stdout).toContain('relais/REPORT.md of tick 2:');
    expect(end.stdout).toContain('What to try next');
    expect([...(await everything(box.root)).keys()]).toEqual(before);
  });

  it('--keep keeps the repository and says where it is', async () => {
    const box = await sandbox();
    const end = await relais(['demo', '--keep'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(0);
    const repo = /^Kept: (.+)$/m.exec(end.stdout)?.[1] ?? '';
    expect(repo.startsWith(path.join(box.root, 'tmp'))).toBe(true);
    expect(await readdir(repo)).toContain('relais.config.json');
    const log = await git(['log', '--format=%s'], { repo, env: box.env });
    expect(log.split('\n')).toHaveLength(2);
    expect(await readdir(path.join(box.root, 'home'))).toEqual([]);
  });

  it('--json prints one object with both ticks', async () => {
    const box = await sandbox();
    const end = await relais(['demo', '--json'], { cwd: box.root, env: box.env });
    expect(json(end)).toMatchObject({
      ok: true,
      repository: null,
      ticks: [{ code: 'SUCCESS' }, { code: 'STOP_SCOPE_VIOLATION_FORBIDDEN' }],
    });
  });

  it('leaves nothing behind when it is interrupted', async () => {
    const box = await sandbox();
    const before = [...(await everything(box.root)).keys()];
    const child = start(['demo'], { cwd: box.root, env: box.env });
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => {
        if (String(chunk).includes('BUILD')) resolve();
      });
    });
    child.kill('SIGINT');
    const { exitCode } = await child;
    expect(exitCode).toBe(130);
    expect([...(await everything(box.root)).keys()]).toEqual(before);
  });
});
