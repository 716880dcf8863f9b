import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { json, relais, sandbox } from './relais.js';

describe('relais fixtures', () => {
  it('plays the ones named, in any folder, and leaves nothing behind', async () => {
    const box = await sandbox();
    const end = await relais(['fixtures', 'F005', 'F001'], { cwd: box.root, env: box.env });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const lines = end.stdout.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^ok {4}F001_one_tick_limits /);
    expect(lines[1]).toMatch(/^ok {4}F005_scope_violation_outside_allowed /);
    expect(lines[2]).toBe('2 passed, 0 failed');
    for (const folder of ['tmp', 'home', 'state']) expect(await readdir(path.join(box.root, folder))).toEqual([]);
  });

  it('--json prints one object', async () => {
    const box = await sandbox();
    const end = await relais(['fixtures', '--json', 'F036'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(0);
    expect(json(end)).toMatchObject({
      ok: true,
      passed: 1,
      failed: 0,
      fixtures: [{ name: 'F036_config_missing', problems: [] }],
    });
  });

  it('an unknown name exits 64, plays nothing and says which there are', async () => {
    const box = await sandbox();
    const end = await relais(['fixtures', '--json', 'F001', 'F999', 'nope'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(64);
    expect(json(end)).toMatchObject({ ok: false, why: 'no fixture begins with F999, nope' });
    expect(end.stderr).toContain('F001 to F0');
  });
});
