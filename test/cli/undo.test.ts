import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/rehearse/overlay.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { git, HONEST, json, relais, sandbox, scripted, start } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });
const tree = (scratch: Scratch, name: string): Promise<string> => git(['rev-parse', `${name}^{tree}`], scratch);

/** A repository with one accepted tick after the other, in which the Hands did this. */
async function accepted(...ticks: JsonObject[][]): Promise<Scratch & { readonly ids: string[] }> {
  const scratch = await scripted({
    orchestrator: [{ task: { scope: { allow_new_files: true }, diff_limits: { max_files_touched: 50 } } }],
    builder: ticks.map((steps) => ({ do: steps, result: {} })),
  });
  const ids: string[] = [];
  for (const _tick of ticks) {
    const end = await relais(['run', '--json'], at(scratch));
    expect(end.code).toBe(0);
    ids.push(json(end).run_id);
  }
  return { ...scratch, ids };
}

async function commit(scratch: Scratch, name: string, text: string): Promise<void> {
  await mkdir(path.dirname(path.join(scratch.repo, name)), { recursive: true });
  await writeFile(path.join(scratch.repo, name), text);
  await git(['add', '-A'], scratch);
  await git(['commit', '-qm', 'mine'], scratch);
}

const GREET = [{ write: 'src/greet.js', text: 'export const greet = 1;\n' }] as JsonObject[];
const SUM = [{ write: 'src/sum.js', text: 'export const sum = 1;\n' }] as JsonObject[];

describe('relais undo', () => {
  it('takes the last accepted tick back as a new commit, and an undo can be undone', async () => {
    const scratch = await accepted(GREET);
    const [id = ''] = scratch.ids;
    const before = await snapshot(scratch.repo, scratch.env);
    const state = await readFile(path.join(scratch.repo, 'relais/STATE.json'), 'utf8');
    const end = await relais(['undo', '--json'], at(scratch));
    expect(end.code).toBe(0);
    const told = json(end);
    expect(told).toMatchObject({ ok: true, undoes: id, paths: ['src/greet.js'] });
    expect(await tree(scratch, 'HEAD')).toBe(await tree(scratch, 'HEAD~2'));
    expect(await git(['rev-list', '--count', 'HEAD'], scratch)).toBe('3');
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
    const message = await git(['log', '-1', '--format=%B'], scratch);
    expect(message).toContain(`Relais-Undoes: ${id}`);
    expect(message).toContain(`Relais-Undone-Commit: ${await git(['rev-parse', 'HEAD^'], scratch)}`);
    expect(await readFile(path.join(scratch.repo, 'relais/STATE.json'), 'utf8')).toBe(state);
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);

    const again = await relais(['undo'], at(scratch));
    expect(again.code).toBe(3);
    expect(again.stderr).toContain(`${id} was taken back already, by ${told.run_id}`);
    expect((await relais(['undo', id], at(scratch))).code).toBe(3);

    expect((await relais(['undo', told.run_id], at(scratch))).code).toBe(0);
    expect(await tree(scratch, 'HEAD')).toBe(await tree(scratch, 'HEAD~2'));
    expect(
      differences(before, await snapshot(scratch.repo, scratch.env)).filter((name) => !/refs\/heads/.test(name)),
    ).toEqual([]);
    expect((await relais(['undo'], at(scratch))).code).toBe(0);
    expect(await tree(scratch, 'HEAD')).toBe(await tree(scratch, 'HEAD~4'));
  });

  it('takes an earlier run back by the beginning of its id, three-way, and keeps what came after', async () => {
    const scratch = await accepted(GREET, SUM);
    await commit(scratch, 'docs/guide.md', 'mine\n');
    const [first = ''] = scratch.ids;
    const end = await relais(['undo', first.slice(0, -2)], { cwd: path.join(scratch.repo, 'src'), env: scratch.env });
    expect(end.code).toBe(0);
    expect(await git(['diff', '--name-only', 'HEAD^', 'HEAD'], scratch)).toBe('src/greet.js');
    expect(await readFile(path.join(scratch.repo, 'src/sum.js'), 'utf8')).toBe('export const sum = 1;\n');
    expect(await git(['show', 'HEAD:src/greet.js'], scratch)).toBe(await git(['show', 'HEAD~4:src/greet.js'], scratch));
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('refuses a conflict, names the path and changes nothing', async () => {
    const scratch = await accepted([...GREET, ...SUM]);
    await commit(scratch, 'src/greet.js', 'export const mine = 2;\n');
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['undo', '--json'], at(scratch));
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ ok: false, why: expect.stringContaining('src/greet.js') });
    expect(json(end).why).not.toContain('src/sum.js');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
  });

  it('brings links, modes, folders and odd names back exactly', async () => {
    const scratch = await accepted([
      { write: 'src/a\tb "c" é.js', text: 'x\n' },
      {
        sh: 'rm src/sum.js && mkdir src/sum.js && echo 1 > src/sum.js/x && ln -s ../../out src/link && chmod 755 src/greet.js',
      },
      { sh: 'printf y > "src/$(printf \'bad\\377\')"' },
    ] as JsonObject[]);
    const made = await tree(scratch, 'HEAD');
    expect((await relais(['undo'], at(scratch))).code).toBe(0);
    expect(await tree(scratch, 'HEAD')).toBe(await tree(scratch, 'HEAD~2'));
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
    expect((await lstat(path.join(scratch.repo, 'src/sum.js'))).isFile()).toBe(true);
    expect((await lstat(path.join(scratch.repo, 'src/greet.js'))).mode & 0o111).toBe(0);
    const id = /Relais-Run: (\S+)/.exec(await git(['log', '-1', '--format=%B'], scratch))?.[1] ?? '';
    expect((await relais(['undo', id], at(scratch))).code).toBe(0);
    expect(await tree(scratch, 'HEAD')).toBe(made);
    expect(await readlink(path.join(scratch.repo, 'src/link'))).toBe('../../out');
  });

  it('works on a detached HEAD and in a linked work tree, and does not see other branches', async () => {
    const scratch = await accepted(GREET);
    const second = path.join(scratch.root, 'second');
    await git(['worktree', 'add', '-q', '-b', 'second', second, 'HEAD'], scratch);
    expect((await relais(['undo'], { cwd: second, env: scratch.env })).code).toBe(0);
    expect(await git(['rev-list', '--count', 'main..second'], scratch)).toBe('1');
    expect(await git(['status', '--porcelain', '-uall'], { repo: second, env: scratch.env })).toBe('');
    await git(['checkout', '-q', '--detach'], scratch);
    expect((await relais(['undo'], at(scratch))).code).toBe(0);
    expect(await git(['rev-list', '--count', 'main..HEAD'], scratch)).toBe('1');
    await git(['checkout', '-q', 'main~1'], scratch);
    const none = await relais(['undo'], at(scratch));
    expect(none.code).toBe(3);
    expect(none.stderr).toContain('no commit on this branch is from an accepted tick');
  });

  it('says so when somebody reverted it by hand', async () => {
    const scratch = await accepted(GREET);
    await git(['revert', '--no-edit', 'HEAD'], scratch);
    const end = await relais(['undo'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('already');
  });

  it('leaves hooks alone and file modes git does not know', async () => {
    const scratch = await accepted(GREET);
    await writeFile(path.join(scratch.repo, '.git/hooks/post-commit'), '#!/bin/sh\ntouch hooked\n', { mode: 0o755 });
    await chmod(path.join(scratch.repo, 'src/greet.js'), 0o640);
    expect((await relais(['undo'], at(scratch))).code).toBe(0);
    expect(existsSync(path.join(scratch.repo, 'hooked'))).toBe(false);
    expect((await lstat(path.join(scratch.repo, 'src/greet.js'))).mode & 0o777).toBe(0o640);
  });
});

describe('relais undo, killed', () => {
  it('is put in order by recover, and can be run again', async () => {
    const scratch = await accepted(GREET);
    const hold = path.join(scratch.root, 'hold');
    // A filter that waits while git lays the files out: the journal is written, the commit is not.
    await git(['config', 'filter.slow.clean', 'cat'], scratch);
    const wait = `touch '${scratch.root}/laying'; while [ -e '${hold}' ]; do sleep 0.05; done; cat`;
    await git(['config', 'filter.slow.smudge', wait], scratch);
    await writeFile(path.join(scratch.repo, '.git/info/attributes'), '*.js filter=slow\n');
    await writeFile(hold, '');
    const before = await snapshot(scratch.repo, scratch.env);
    const child = start(['undo'], at(scratch));
    while (!existsSync(path.join(scratch.root, 'laying'))) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGKILL');
    await child;
    await rm(hold);
    expect((await relais(['run', '--json'], at(scratch))).code).toBe(3);
    const recovered = await relais(['recover', '--json'], at(scratch));
    expect(recovered.code).toBe(0);
    expect(json(recovered).steps[0]).toContain('interrupted in build');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    expect((await relais(['undo'], at(scratch))).code).toBe(0);
    expect(await tree(scratch, 'HEAD')).toBe(await tree(scratch, 'HEAD~2'));
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });
});

describe('relais undo refuses', () => {
  it('a dirty work tree, a git operation under way and a lock that is held, and changes nothing', async () => {
    const scratch = await accepted(GREET);
    const refused = async (text: RegExp): Promise<void> => {
      const before = await snapshot(scratch.repo, scratch.env);
      const end = await relais(['undo', '--json'], at(scratch));
      expect(end.code).toBe(3);
      expect(json(end).why).toMatch(text);
      expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    };
    await writeFile(path.join(scratch.repo, 'docs/guide.md'), 'mine\n');
    await refused(/DIRTY.*docs\/guide\.md/);
    await git(['checkout', '-q', 'docs/guide.md'], scratch);
    await writeFile(path.join(scratch.repo, '.git/MERGE_HEAD'), `${await git(['rev-parse', 'HEAD'], scratch)}\n`);
    await refused(/a merge is in progress/);
    await git(['merge', '--quit'], scratch);
    await writeFile(path.join(scratch.repo, 'relais/lock.json'), '{');
    await refused(/BLOCKED_LOCK_HELD/);
  });

  it('to write over what git does not track', async () => {
    const scratch = await accepted([{ sh: 'rm src/sum.js' }] as JsonObject[]);
    await writeFile(path.join(scratch.repo, '.git/info/exclude'), '/src/sum.js\n');
    await symlink('../../outside', path.join(scratch.repo, 'src/sum.js'));
    const end = await relais(['undo'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('src/sum.js is there already');
    expect(await readlink(path.join(scratch.repo, 'src/sum.js'))).toBe('../../outside');
  });

  it('while a tick was interrupted, and a second undo at the same time', async () => {
    const scratch = await accepted(GREET);
    const both = await Promise.all([1, 2].map(() => relais(['undo', scratch.ids[0] ?? ''], at(scratch))));
    expect(both.map(({ code }) => code ?? -1).toSorted((a, b) => a - b)).toEqual([0, 3]);
    expect(await git(['rev-list', '--count', 'HEAD'], scratch)).toBe('3');

    const other = await scripted({
      orchestrator: [{ task: {} }],
      builder: [{ do: [...GREET, { sleep_ms: 60_000 }], result: {} }],
    });
    const child = start(['run'], at(other));
    while (!(await readFile(path.join(other.repo, 'src/greet.js'), 'utf8')).includes('greet = 1'))
      await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGKILL');
    await child;
    for (const command of ['undo', 'rejected']) {
      const end = await relais([command], at(other));
      expect(end.code).toBe(3);
      expect(end.stderr).toContain('relais recover');
    }
  });

  it('a run that is not there, an unknown argument, and places that are no repository', async () => {
    const scratch = await scripted(HONEST);
    expect((await relais(['undo', 'nothing'], at(scratch))).code).toBe(64);
    expect((await relais(['undo', 'a', 'b'], at(scratch))).code).toBe(64);
    expect((await relais(['undo', '--hard'], at(scratch))).code).toBe(64);
    expect((await relais(['undo'], at(scratch))).code).toBe(3);
    const box = await sandbox();
    const outside = await relais(['undo', '--json'], { cwd: box.root, env: box.env });
    expect(outside.code).toBe(3);
    expect(json(outside)).toMatchObject({ ok: false, why: expect.stringContaining('BLOCKED_MISSING_CONFIG') });
  });
});
