import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { identity } from '../../src/world/host.js';
import { HONEST, json, relais, scripted, SLEEPING, start, until } from './relais.js';

const RUN = '20260101T000000Z-0a1b2c3d';
const at = (scratch: Scratch) => ({ cwd: scratch.repo, env: scratch.env });
const lockOf = ({ repo }: Scratch): string => path.join(repo, 'relais/lock.json');

async function locked(changes: object): Promise<Scratch> {
  const scratch = await scripted(HONEST);
  const lock = { ...(await identity()), run_id: RUN, started_at: '2026-01-01T00:00:00.000Z', ...changes };
  await writeFile(lockOf(scratch), JSON.stringify(lock));
  return scratch;
}

describe('relais unlock', () => {
  it('has nothing to say without a lock', async () => {
    const end = await relais(['unlock'], at(await scripted(HONEST)));
    expect(end).toMatchObject({ code: 0, stdout: 'There is no lock.' });
  });

  it('shows a lock from elsewhere, and removes it only for its run id', async () => {
    const scratch = await locked({ host: 'elsewhere' });
    const blocked = await relais(['run'], at(scratch));
    expect(blocked.code).toBe(3);
    expect(blocked.stdout).toContain('BLOCKED_LOCK_HELD');
    expect(blocked.stdout).toContain('relais unlock');
    const seen = await relais(['unlock'], at(scratch));
    expect(seen.code).toBe(3);
    expect(seen.stdout).toContain('another host, elsewhere');
    expect(seen.stderr).toContain(`relais unlock --force ${RUN}`);
    for (const wrong of [['--force'], ['--force', '20260101T000000Z-00000000'], ['--force', 'damaged']]) {
      const end = await relais(['unlock', ...wrong], at(scratch));
      expect(end.code).toBe(64);
      expect(end.stderr).toContain(RUN);
      expect(existsSync(lockOf(scratch))).toBe(true);
    }
    const end = await relais(['unlock', '--force', RUN, '--json'], at(scratch));
    expect(end.code).toBe(0);
    expect(json(end)).toMatchObject({ ok: true, removed: true, state: 'held', lock: { run_id: RUN } });
    expect(existsSync(lockOf(scratch))).toBe(false);
    expect((await relais(['run'], at(scratch))).code).toBe(0);
  });

  it('shows what a damaged lock holds, and removes it for a word', async () => {
    const scratch = await scripted(HONEST);
    await writeFile(lockOf(scratch), 'half a lo\u001b[2Jck');
    const blocked = await relais(['run'], at(scratch));
    expect(blocked.stdout).toContain('relais unlock');
    expect(await readFile(lockOf(scratch), 'utf8')).toContain('half');
    const seen = await relais(['unlock'], at(scratch));
    expect(seen.code).toBe(3);
    expect(seen.stdout).toContain('half a lo');
    expect(seen.stdout).not.toContain('\u001b');
    expect((await relais(['unlock', '--force', RUN], at(scratch))).code).toBe(64);
    expect((await relais(['unlock', '--force', 'damaged'], at(scratch))).code).toBe(0);
    expect((await relais(['run'], at(scratch))).code).toBe(0);
  });

  it('leaves a lock that was left behind to the next command', async () => {
    const scratch = await locked({ pid_start: '1' });
    const end = await relais(['unlock', '--json'], at(scratch));
    expect(json(end)).toMatchObject({ ok: true, removed: false, state: 'stale' });
    expect(existsSync(lockOf(scratch))).toBe(true);
    expect((await relais(['run'], at(scratch))).code).toBe(0);
  });

  it('never takes the lock from a tick that runs', async () => {
    const scratch = await scripted(SLEEPING);
    const child = start(['run'], at(scratch));
    await until(path.join(scratch.repo, 'src/half.js'));
    const { run_id: run } = JSON.parse(await readFile(lockOf(scratch), 'utf8'));
    const end = await relais(['unlock', '--force', run], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('is running');
    expect(existsSync(lockOf(scratch))).toBe(true);
    child.kill('SIGINT');
    expect((await child).exitCode).toBe(130);
  });
});
