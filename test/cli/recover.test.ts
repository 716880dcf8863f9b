import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { everything, git, HONEST, json, relais, sandbox, scripted, SLEEPING, start } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

/** A repository whose tick was killed while its Hands were at work. */
async function killed(): Promise<Scratch> {
  const scratch = await scripted(SLEEPING);
  const child = start(['run'], at(scratch));
  while (!existsSync(path.join(scratch.repo, 'src/half.js'))) await wait(20);
  child.kill('SIGKILL');
  await child;
  return scratch;
}

describe('relais recover after a killed tick', () => {
  it('is what run, status and doctor ask for; then everything is as it was', async () => {
    const scratch = await killed();
    const blocked = await relais(['run', '--json'], at(scratch));
    expect(blocked.code).toBe(3);
    expect(json(blocked)).toMatchObject({ code: 'BLOCKED_CRASH_RECOVERY_REQUIRED' });
    expect(blocked.stderr).toContain('relais recover');
    expect((await relais(['status'], at(scratch))).stdout).toMatch(/interrupted .*relais recover/);
    const { checks } = json(await relais(['doctor', '--json'], at(scratch)));
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'journal', status: 'failed', remedy: 'Run relais recover.' }),
    );

    const end = await relais(['recover', '--json'], at(scratch));
    expect(end.code).toBe(0);
    expect(json(end)).toMatchObject({ ok: true, dry_run: false, left: [] });
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
    expect(await git(['for-each-ref', '--format=%(refname)', 'refs/relais/rejected'], scratch)).not.toBe('');
    expect((await relais(['status', '--preflight'], at(scratch))).code).toBe(0);
    expect((await relais(['recover'], at(scratch))).stdout).toContain('nothing to do');
  });

  it('--dry-run says what it would do and writes nothing', async () => {
    const scratch = await killed();
    const before = await everything(scratch.root);
    const end = await relais(['recover', '--dry-run'], at(scratch));
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(/^relais recover would:\n {2}- undo /);
    expect(await everything(scratch.root)).toEqual(before);
  });
});

describe('relais recover', () => {
  it('does nothing where nothing was interrupted', async () => {
    const scratch = await scripted(HONEST);
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['recover', '--json'], at(scratch));
    expect(end.code).toBe(0);
    expect(json(end)).toMatchObject({ ok: true, steps: [], left: [] });
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    expect(await readdir(path.join(scratch.repo, 'relais'))).not.toContain('lock.json');
  });

  it('sets a damaged STATE.json aside, keeps its bytes and rebuilds it', async () => {
    const scratch = await scripted(HONEST);
    await relais(['run'], at(scratch));
    await writeFile(path.join(scratch.repo, 'relais/STATE.json'), '{"half');
    const end = await relais(['recover'], at(scratch));
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('STATE.json');
    const broken = (await readdir(path.join(scratch.repo, 'relais'))).filter((name) => name.includes('broken'));
    expect(broken).toHaveLength(1);
    expect(await readFile(path.join(scratch.repo, 'relais', broken[0] ?? ''), 'utf8')).toBe('{"half');
    const { counters } = json(await relais(['status', '--json'], at(scratch)));
    expect(counters.ticks).toBe(1);
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('leaves a lock it does not understand alone and says what to do', async () => {
    const scratch = await scripted(HONEST);
    const lock = path.join(scratch.repo, 'relais/lock.json');
    await writeFile(lock, '{');
    const end = await relais(['recover'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toMatch(/remedy: .*`relais unlock`/);
    expect(await readFile(lock, 'utf8')).toBe('{');
  });

  it('refuses outside of a repository', async () => {
    const box = await sandbox();
    const end = await relais(['recover', '--json'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ ok: false, remedy: expect.stringContaining('relais status --preflight') });
  });
});
