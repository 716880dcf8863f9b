import { spawn } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/rehearse/overlay.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { packageRoot } from '../../src/world/packageRoot.js';
import { commitAll, git, HONEST, relais, scripted, SLEEPING, until } from './relais.js';

const PROGRAM = path.join(packageRoot(), 'dist', 'cli.js');
const at = (scratch: Scratch) => ({ cwd: scratch.repo, env: scratch.env });

interface Running {
  readonly pid: number;
  readonly ended: Promise<{ code: number | null; signal: string | null; stderr: string; stdout: string }>;
}

/** Starts a tick as the leader of a process group, as a terminal does. */
function inForeground({ repo, env }: Scratch): Running {
  const child = spawn(process.execPath, [PROGRAM, 'run', '--json'], { cwd: repo, env, detached: true });
  const out = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (out.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (out.stderr += text));
  const ended = new Promise<Awaited<Running['ended']>>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, ...out }));
  });
  return { pid: child.pid ?? 0, ended };
}

/** What Ctrl-C does: every process of the group gets the signal. */
function controlC({ pid }: Running, signal: NodeJS.Signals = 'SIGINT'): void {
  process.kill(-pid, signal);
}

/** A filter that says when git runs it, and takes its time. */
function slowGit({ root, repo }: Scratch): { asked: string } {
  const asked = path.join(root, 'git is at work');
  const filter = path.join(root, 'filter.sh');
  writeFileSync(filter, `#!/bin/sh\n[ -e '${root}/slow' ] && touch '${asked}' && sleep 1\nexec cat\n`);
  chmodSync(filter, 0o755);
  writeFileSync(path.join(repo, '.gitattributes'), 'src/*.js filter=slow\n');
  return { asked };
}

const CHECKING: JsonObject = {
  orchestrator: [{ task: { verification: { fast: ['hang'], slow: [] } } }],
  builder: [{ do: [{ append: 'src/greet.js', text: '// hello\n' }], result: {} }],
};

async function restored(scratch: Scratch, before: Awaited<ReturnType<typeof snapshot>>): Promise<void> {
  const after = await snapshot(scratch.repo, scratch.env);
  expect(differences(before, after).filter((name) => !name.startsWith('ref refs/relais/'))).toEqual([]);
  expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
}

describe('Ctrl-C on a terminal, where every process gets the signal,', () => {
  it('ends a tick while the Hands are at work', async () => {
    const scratch = await scripted(SLEEPING);
    const before = await snapshot(scratch.repo, scratch.env);
    const tick = inForeground(scratch);
    await until(path.join(scratch.repo, 'src/half.js'));
    controlC(tick);
    const end = await tick.ended;
    expect(end.code).toBe(130);
    expect(JSON.parse(end.stdout)).toMatchObject({ code: 'STOP_INTERRUPTED' });
    await restored(scratch, before);
  });

  it('ends a tick while a check runs', async () => {
    const scratch = await scripted(CHECKING);
    const before = await snapshot(scratch.repo, scratch.env);
    const tick = inForeground(scratch);
    await until(scratch.checkLog);
    controlC(tick);
    expect((await tick.ended).code).toBe(130);
    await restored(scratch, before);
    expect((await git(['for-each-ref', 'refs/relais/rejected'], scratch)).split('\n')).toHaveLength(1);
  });

  it('ends a tick while git stores what the Hands made, and does not hurt git', async () => {
    const scratch = await scripted(HONEST);
    const { asked } = slowGit(scratch);
    await git(['config', 'filter.slow.clean', `'${path.join(scratch.root, 'filter.sh')}'`], scratch);
    await commitAll(scratch);
    const before = await snapshot(scratch.repo, scratch.env);
    writeFileSync(path.join(scratch.root, 'slow'), '');
    const tick = inForeground(scratch);
    await until(asked);
    controlC(tick);
    const end = await tick.ended;
    expect(end.stderr).not.toContain('git hash-object');
    expect(end.code).toBe(130);
    await restored(scratch, before);
    expect(existsSync(path.join(scratch.repo, '.git/index.lock'))).toBe(false);
  });
});

const STUBBORN: JsonObject = {
  orchestrator: [{ task: {} }],
  builder: [
    // A stopped agent program does not hear what it is sent.
    { do: [{ sh: 'echo x >src/half.js; kill -STOP $PPID; sleep 60' }], result: {} },
    { do: [{ append: 'src/greet.js', text: '// hello\n' }], result: {} },
  ],
};

describe('a second and a third signal', () => {
  it('say what is still being done, and leave with the journal in place', async () => {
    const scratch = await scripted(STUBBORN);
    const before = await snapshot(scratch.repo, scratch.env);
    const tick = inForeground(scratch);
    await until(path.join(scratch.repo, 'src/half.js'));
    for (const wait of [0, 200, 200]) {
      await new Promise((done) => setTimeout(done, wait));
      controlC(tick);
    }
    const end = await tick.ended;
    expect(end.code).toBe(130);
    expect(end.stderr).toMatch(/still putting things in order \(.*\)/);
    expect(end.stderr).toContain('`relais recover`');
    const next = await relais(['run'], at(scratch));
    expect(next.code).toBe(3);
    expect(next.stdout).toContain('BLOCKED_CRASH_RECOVERY_REQUIRED');
    expect((await relais(['recover'], at(scratch))).code).toBe(0);
    await restored(scratch, before);
    const report = JSON.parse(await readFile(path.join(scratch.repo, 'relais/REPORT.json'), 'utf8'));
    expect(report).toMatchObject({ code: 'STOP_INTERRUPTED', verdict: 'stop' });
    expect((await relais(['rejected'], at(scratch))).stdout).toContain(report.run_id);
  });

  it('the second alone breaks nothing off', async () => {
    const scratch = await scripted(STUBBORN);
    const before = await snapshot(scratch.repo, scratch.env);
    const tick = inForeground(scratch);
    await until(path.join(scratch.repo, 'src/half.js'));
    controlC(tick, 'SIGTERM');
    await new Promise((done) => setTimeout(done, 200));
    controlC(tick);
    const end = await tick.ended;
    expect(end.code).toBe(143);
    await restored(scratch, before);
  });
});
