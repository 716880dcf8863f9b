import { utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PREFLIGHT_ROWS } from '../../src/rules/preflight.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { ASKING, everything, HONEST, json, project, relais, sandbox, scripted } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

/** Same bytes, newer time: git would love to refresh its index. */
async function tempt({ repo }: Scratch): Promise<void> {
  await utimes(path.join(repo, 'src/greet.js'), new Date(), new Date());
}

describe('status writes nothing, in the repository or at home', () => {
  const prepared: [string, () => Promise<Scratch>][] = [
    ['a fresh repository', () => scripted(HONEST)],
    [
      'one that has seen a tick',
      async () => {
        const scratch = await scripted(HONEST);
        await relais(['run'], at(scratch));
        return scratch;
      },
    ],
    [
      'a dirty one with a broken lock and a damaged state',
      async () => {
        const scratch = await scripted(HONEST);
        await writeFile(path.join(scratch.repo, 'stray.txt'), '');
        await writeFile(path.join(scratch.repo, 'relais/lock.json'), '{');
        await writeFile(path.join(scratch.repo, 'relais/STATE.json'), '{');
        await writeFile(path.join(scratch.repo, 'relais/STATE.json.tmp'), '{');
        return scratch;
      },
    ],
  ];
  const commands = [['status', '--preflight'], ['status', '--preflight', '--json'], ['status'], ['doctor']];
  it.each(prepared)('%s', async (_title, prepare) => {
    const scratch = await prepare();
    await tempt(scratch);
    const before = await everything(scratch.root);
    for (const command of commands) {
      await relais(command, at(scratch));
      expect(await everything(scratch.root), command.join(' ')).toEqual(before);
    }
  });

  it('nor where there is no workspace, or no repository', async () => {
    const box = await sandbox();
    const repo = await project(box, { 'a.txt': '' }, { commit: true });
    const before = await everything(box.root);
    for (const cwd of [repo, path.join(box.root, 'tmp')]) {
      expect((await relais(['status', '--preflight'], { cwd, env: box.env })).code).toBe(3);
      expect((await relais(['status'], { cwd, env: box.env })).code).toBe(3);
    }
    expect(await everything(box.root)).toEqual(before);
  });
});

describe('status --preflight', () => {
  it('says that a tick could start', async () => {
    const end = await relais(['status', '--preflight'], at(await scripted(HONEST)));
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toContain('`relais run` can start');
  });

  it('shows every failing row in the table’s order, each with a remedy', async () => {
    const scratch = await scripted(HONEST, { budgets: { per_milestone: { max_ticks: 0 } }, history: { max_mb: 1 } });
    await writeFile(path.join(scratch.repo, 'stray.txt'), '');
    await writeFile(path.join(scratch.repo, 'relais/lock.json'), '{');
    await writeFile(path.join(scratch.repo, 'relais/TASK.json'), '{}');
    const end = await relais(['status', '--preflight', '--json'], at(scratch));
    expect(end.code).toBe(3);
    const { ready, failing } = json(end);
    expect(ready).toBe(false);
    const rows = failing.map(({ row }: { row: string }) => row);
    expect(rows).toEqual(['lock', 'dirty', 'crash_artifacts', 'budget']);
    expect(PREFLIGHT_ROWS.map(([id]) => id).filter((id) => rows.includes(id))).toEqual(rows);
    for (const { remedy, evidence } of failing) {
      expect(remedy).not.toBe('');
      expect(evidence).not.toEqual([]);
      expect(end.stderr).toContain(remedy);
    }
  });

  it('tells missing, unreadable and invalid configs apart', async () => {
    const box = await sandbox();
    const repo = await project(box, { 'a.txt': '' }, { commit: true });
    const said = async (): Promise<string> => {
      const end = await relais(['status', '--preflight', '--json'], { cwd: repo, env: box.env });
      const { failing } = json(end);
      expect(failing[0].code).toBe('BLOCKED_MISSING_CONFIG');
      return failing[0].evidence.join('\n');
    };
    expect(await said()).toContain('there is no relais.config.json');
    await writeFile(path.join(repo, 'relais.config.json'), '{ "version": ');
    expect(await said()).toContain('not JSON at 1:14');
    await writeFile(path.join(repo, 'relais.config.json'), Buffer.of(0xff, 0xfe));
    expect(await said()).toContain("relais.config.json can't be read: ");
    await writeFile(path.join(repo, 'relais.config.json'), '{"worksapce_dir": "relais"}');
    expect(await said()).toContain('did you mean "workspace_dir"?');
  });
});

describe('status', () => {
  it('shows the milestone, its budget and the last report', async () => {
    const scratch = await scripted(HONEST);
    const fresh = await relais(['status'], at(scratch));
    expect(fresh).toMatchObject({ code: 0, stderr: '' });
    expect(fresh.stdout).toContain('last run     none yet');
    expect(fresh.stdout).toContain('ticks: 0 of 200 used');
    const { run_id } = json(await relais(['run', '--json'], at(scratch)));
    const after = await relais(['status'], at(scratch));
    expect(after.stdout).toContain('ticks: 1 of 200 used');
    expect(after.stdout).toContain(`last report  SUCCESS, 1 file, +1/-0, 0 new (${run_id})`);
    const told = json(await relais(['status', '--json'], at(scratch)));
    expect(told).toMatchObject({
      ok: true,
      milestone_id: 'M1',
      counters: { ticks: 1, orchestrator_calls: 1, builder_calls: 1 },
      last_report: { run_id, verdict: 'success', code: 'SUCCESS' },
      lock: { state: 'free' },
      interrupted: null,
    });
  });

  it('shows a pending question with its choices and exits 1', async () => {
    const scratch = await scripted(ASKING);
    await relais(['run'], at(scratch));
    const end = await relais(['status'], at(scratch));
    expect(end.code).toBe(1);
    expect(end.stdout).toContain('Which greeting is wanted?\n  1. Hello\n  2. Hi\n');
    expect((await relais(['status', '--preflight'], at(scratch))).code).toBe(1);
  });

  it('names a damaged file and its remedy and exits 3', async () => {
    const scratch = await scripted(HONEST);
    await writeFile(path.join(scratch.repo, 'relais/STATE.json'), '{"version": 9}');
    const end = await relais(['status'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stdout).toMatch(/damaged +relais\/STATE\.json.*relais recover/);
  });
});
