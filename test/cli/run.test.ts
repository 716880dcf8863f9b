import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { checkReport } from '../../src/schemas.js';
import { ASKING, git, HONEST, json, relais, scripted, SLEEPING, start, until } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

describe('relais run ends with the exit code of its verdict', () => {
  it('0 for SUCCESS, with one commit and a clean tree', async () => {
    const scratch = await scripted(HONEST);
    const base = await git(['rev-parse', 'HEAD'], scratch);
    const end = await relais(['run'], at(scratch));
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('SUCCESS\n');
    expect(end.stdout).toContain('blast radius: 1 file, +1/-0, 0 new');
    expect(await git(['rev-parse', 'HEAD^'], scratch)).toBe(base);
    const logs = path.join(scratch.repo, 'relais', 'logs');
    const log = await readFile(path.join(logs, (await readdir(logs))[0] ?? ''), 'utf8');
    expect(
      log
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { msg: string }).msg),
    ).toContain('ended');
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('tells of its phases on stderr, in their order, and on stdout of the verdict only', async () => {
    const scratch = await scripted(HONEST);
    const end = await relais(['run'], at(scratch));
    const phases = end.stderr.split('\n').map((line) => line.split(' ')[0]);
    expect([...new Set(phases)]).toEqual([
      'LOCK',
      'PREFLIGHT',
      'BASELINE',
      'ORCHESTRATE',
      'BUILD',
      'JUDGE',
      'VERIFY',
      'SETTLE',
      'REPORT',
    ]);
    expect(end.stdout).not.toContain('PREFLIGHT');
  });

  it('2 for STOP, with everything put back', async () => {
    const scratch = await scripted({
      orchestrator: [{ task: {} }],
      builder: [{ do: [{ append: 'package.json', text: '\n' }], result: {} }],
    });
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['run', '--json', '--quiet'], at(scratch));
    expect(end.code).toBe(2);
    const told = json(end);
    expect(told).toMatchObject({ verdict: 'stop', code: 'STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED', exit_code: 2 });
    expect(checkReport(told.report)).toMatchObject({ ok: true });
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
  });

  it('3 for BLOCKED, and the remedy is told', async () => {
    const scratch = await scripted(HONEST);
    await writeFile(path.join(scratch.repo, 'stray.txt'), '');
    const end = await relais(['run'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stdout).toContain('BLOCKED_DIRTY_WORKTREE');
    expect(end.stdout).toContain('stray.txt');
    expect(end.stdout).toMatch(/^next: .+/m);
  });

  it('3 without any config, and init is named', async () => {
    const scratch = await scripted(HONEST);
    await git(['rm', '-q', 'relais.config.json'], scratch);
    const end = await relais(['run', '--json'], at(scratch));
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ code: 'BLOCKED_MISSING_CONFIG', report: null });
    expect(end.stderr).toContain('relais init');
  });

  it('1 for a question, and 1 again while it is pending', async () => {
    const scratch = await scripted(ASKING);
    const first = await relais(['run', '--json'], at(scratch));
    expect(first.code).toBe(1);
    expect(json(first)).toMatchObject({ code: 'SUCCESS', pending_question: 'Which greeting is wanted?' });
    const second = await relais(['run'], at(scratch));
    expect(second.code).toBe(1);
    expect(second.stdout).toContain('BLOCKED_AWAITING_ANSWER');
    expect(second.stdout).toContain('relais answer');
  });
});

describe('relais run can be interrupted', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s puts everything back and exits %i', async (signal, code) => {
    const scratch = await scripted(SLEEPING);
    const before = await snapshot(scratch.repo, scratch.env);
    const child = start(['run', '--json'], at(scratch));
    await until(path.join(scratch.repo, 'src/half.js'));
    child.kill(signal);
    const { exitCode, stdout } = await child;
    expect(exitCode).toBe(code);
    expect(JSON.parse(stdout)).toMatchObject({ code: 'STOP_INTERRUPTED', exit_code: code });
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });

  it('a reader that leaves early does not end the tick in its middle', async () => {
    const scratch = await scripted(HONEST);
    const child = start(['run'], at(scratch));
    child.stderr.destroy();
    child.stdout.destroy();
    const { exitCode } = await child;
    expect(exitCode).toBe(0);
    const report = JSON.parse(await readFile(path.join(scratch.repo, 'relais/REPORT.json'), 'utf8'));
    expect(report.code).toBe('SUCCESS');
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });
});

it('--quiet leaves out the phases, --json prints one object', async () => {
  const scratch = await scripted(HONEST);
  const end = await relais(['run', '--quiet', '--json'], at(scratch));
  expect(json(end)).toMatchObject({ verdict: 'success', code: 'SUCCESS', blocked: null, pending_question: null });
  expect(end.stderr).not.toContain('PREFLIGHT');
});

it('a tick can be run from a subfolder', async () => {
  const scratch = await scripted(HONEST);
  const end = await relais(['run'], { cwd: path.join(scratch.repo, 'src'), env: scratch.env });
  expect(end.code).toBe(0);
  expect(existsSync(path.join(scratch.repo, 'relais/REPORT.json'))).toBe(true);
});
