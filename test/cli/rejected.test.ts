import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGit, openRepository, readSettings } from '../../src/world/git/git.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { createWorld } from '../../src/world/world.js';
import { everything, git, HONEST, json, relais, sandbox, scripted } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

/** A repository with as many stopped ticks. */
async function stopped(count: number): Promise<Scratch & { readonly ids: string[] }> {
  const scratch = await scripted({
    orchestrator: [{ task: {} }],
    builder: Array.from({ length: count }, () => ({
      do: [
        { append: 'src/greet.js', text: '// more\n' },
        { write: 'src/.env', text: 'TOKEN=1\n' },
      ],
      result: {},
    })),
  });
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(json(await relais(['run', '--json'], at(scratch))).run_id);
  return { ...scratch, ids };
}

/** Puts a piece of refused work under a ref as a rollback of that day would have. */
async function old(scratch: Scratch, id: string, daysAgo: number): Promise<void> {
  const opened = await openRepository(scratch.repo, scratch.env);
  if (opened.found !== 'yes') throw new Error(opened.why);
  const made = createGit(opened.repository, await readSettings(scratch.repo, scratch.env));
  const head = await made.head();
  if (head === undefined) throw new Error('no HEAD');
  const oid = await made.storeBytes(Buffer.from('old\nwork\n'));
  const change = { path: 'src/old.js', mode: '100644', oid };
  const { tree } = await made.buildTree(head.commit, [change], path.join(scratch.root, 'index'));
  const date = new Date(Date.now() - daysAgo * 86_400_000);
  const message = `relais: rejected work of ${id}\n\nSTOP_DIFF_TOO_LARGE\n`;
  const commit = await made.commitTree({ tree, parents: [head.commit], message, date });
  await made.updateRef(`refs/relais/rejected/${id}`, commit, undefined, 'test');
}

async function privateFolder(scratch: Scratch, id: string): Promise<string> {
  const opened = await openRepository(scratch.repo, scratch.env);
  if (opened.found !== 'yes') throw new Error(opened.why);
  const world = await createWorld({ cwd: scratch.repo, env: scratch.env });
  return path.join(world.privateDir(opened.repository.commonDir), 'rejected', id);
}

const refs = (scratch: Scratch): Promise<string> => git(['for-each-ref', '--format=%(refname)', 'refs/'], scratch);

describe('relais rejected', () => {
  it('lists what can be salvaged, newest first, and writes nothing', async () => {
    const scratch = await stopped(2);
    const before = await everything(scratch.root);
    const end = await relais(['rejected', '--json'], at(scratch));
    expect(end.code).toBe(0);
    const { rejected } = json(end);
    expect(rejected.map((one: any) => one.run_id).toSorted()).toEqual(scratch.ids.toSorted());
    expect(Date.parse(rejected[0].when)).toBeGreaterThanOrEqual(Date.parse(rejected[1].when));
    expect(rejected[0]).toMatchObject({
      code: 'STOP_SCOPE_VIOLATION_FORBIDDEN',
      task_id: 'T1',
      intent: 'Make greet() end its sentence.',
      files: 2,
      base_is_head: true,
      not_salvageable: null,
      not_in_tree: [{ path: 'src/.env' }],
    });
    const shown = await relais(['rejected'], { cwd: path.join(scratch.repo, 'src'), env: scratch.env });
    for (const id of scratch.ids) expect(shown.stdout).toContain(`relais salvage ${id}`);
    expect(shown.stdout).toContain('its base is HEAD');
    await git(['update-index', '-q', '--refresh'], scratch);
    expect([...(await everything(scratch.root)).keys()]).toEqual([...before.keys()]);
  });

  it('tells from the commit alone what it can where the history is gone', async () => {
    const scratch = await stopped(1);
    const [id = ''] = scratch.ids;
    await rm(path.join(scratch.repo, 'relais/history', id), { recursive: true });
    await git(['commit', '-q', '--allow-empty', '-m', 'mine'], scratch);
    const [one] = json(await relais(['rejected', '--json'], at(scratch))).rejected;
    expect(one).toMatchObject({
      run_id: id,
      code: 'STOP_SCOPE_VIOLATION_FORBIDDEN',
      task_id: null,
      files: 1,
      lines_added: 1,
      base_is_head: false,
      not_salvageable: null,
    });
    expect((await relais(['rejected'], at(scratch))).stdout).toContain('HEAD has moved since');
  });

  it('lists what can’t be salvaged with the reason: broken refs, other commits, files only', async () => {
    const scratch = await scripted(HONEST);
    await mkdir(path.join(scratch.repo, '.git/refs/relais/rejected'), { recursive: true });
    await writeFile(path.join(scratch.repo, '.git/refs/relais/rejected/gone'), `${'1'.repeat(40)}\n`);
    await git(['update-ref', 'refs/relais/rejected/a/b', 'HEAD'], scratch);
    const folder = await privateFolder(scratch, 'files-only');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'x'), '12345');
    const { rejected } = json(await relais(['rejected', '--json'], at(scratch)));
    const why = Object.fromEntries(rejected.map((one: any) => [one.run_id, one.not_salvageable]));
    expect(why).toEqual({
      gone: 'the ref leads to no commit that can be read',
      'a/b': expect.stringContaining('not made by a rollback'),
      'files-only': 'only files are kept, no commit',
    });
    expect(rejected.find((one: any) => one.run_id === 'files-only').private_bytes).toBe(5);
    expect((await relais(['salvage', 'gone'], at(scratch))).code).toBe(3);
    expect((await relais(['salvage', 'files-only'], at(scratch))).stderr).toContain(folder);
  });

  it('--prune removes by age, with the files kept beside it, and touches no other ref', async () => {
    const scratch = await stopped(1);
    const [young = ''] = scratch.ids;
    await old(scratch, '20250101T000000Z-0000000a', 40);
    await old(scratch, '20250101T000000Z-0000000b', 20);
    await git(['update-ref', 'refs/relais/other', 'HEAD'], scratch);
    const folder = await privateFolder(scratch, '20250101T000000Z-0000000a');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'x'), '1');
    const before = await refs(scratch);

    const dry = await relais(['rejected', '--prune', '--dry-run', '--json'], at(scratch));
    expect(dry.code).toBe(0);
    expect(json(dry)).toMatchObject({ dry_run: true, older_than_days: 30, left: 2 });
    expect(json(dry).removed.map((one: any) => one.run_id)).toEqual(['20250101T000000Z-0000000a']);
    expect(await refs(scratch)).toBe(before);
    expect(existsSync(folder)).toBe(true);

    const end = await relais(['rejected', '--prune'], at(scratch));
    expect(end.code).toBe(0);
    expect(end.stdout).toContain('0000000a');
    expect(end.stdout).not.toContain('0000000b');
    expect(existsSync(folder)).toBe(false);
    expect(await refs(scratch)).toBe(before.replace('refs/relais/rejected/20250101T000000Z-0000000a\n', ''));
    expect((await relais(['rejected', '--prune', '--older-than', '10'], at(scratch))).stdout).toContain('0000000b');
    expect(await refs(scratch)).toContain(young);
    expect((await relais(['rejected', '--prune', '--older-than', '0'], at(scratch))).code).toBe(0);
    expect(await refs(scratch)).toBe('refs/heads/main\nrefs/relais/other');
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });

  it('does not prune under a lock it does not hold, and refuses bad command lines and places', async () => {
    const scratch = await scripted(HONEST);
    await writeFile(path.join(scratch.repo, 'relais/lock.json'), '{');
    expect((await relais(['rejected', '--prune'], at(scratch))).code).toBe(3);
    expect((await relais(['rejected'], at(scratch))).stdout).toBe('No refused work is kept.');
    for (const args of [['--older-than', '3'], ['--dry-run'], ['--prune', '--older-than', 'x'], ['what'], ['--what']])
      expect((await relais(['rejected', ...args], at(scratch))).code, args.join(' ')).toBe(64);
    const box = await sandbox();
    const outside = await relais(['rejected', '--json'], { cwd: box.root, env: box.env });
    expect(outside.code).toBe(3);
    expect(json(outside)).toMatchObject({ ok: false, remedy: expect.stringContaining('relais status --preflight') });
  });
});
