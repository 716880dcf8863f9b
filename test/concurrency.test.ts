import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../src/rehearse/overlay.js';
import type { Scratch } from '../src/rehearse/scratch.js';
import { commitAll, everything, git, HONEST, json, relais, scripted, start, until } from './cli/relais.js';

const at = (scratch: Scratch) => ({ cwd: scratch.repo, env: scratch.env });
const atWork = ({ root }: Scratch): string => path.join(root, 'tmp', 'at-work');

/** Hands that say when they are at work, and take long enough for somebody else to do something. */
const SLOW: JsonObject = {
  orchestrator: [{ task: {} }],
  builder: [
    { do: [{ append: 'src/greet.js', text: '// hello\n' }, { sh: 'touch "$TMPDIR/at-work"; sleep 2' }], result: {} },
    { do: [{ append: 'src/greet.js', text: '// again\n' }], result: {} },
  ],
};

/** Starts a slow tick, and does something while its Hands are at work. */
async function during<T>(scratch: Scratch, act: () => Promise<T>): Promise<{ code: string; done: T }> {
  const tick = start(['run', '--json'], at(scratch));
  await until(atWork(scratch));
  const done = await act();
  const { stdout } = await tick;
  return { code: JSON.parse(stdout).code, done };
}

describe('while a tick runs', () => {
  it('another one is held off, and so are answer, salvage, undo and recover; the first does not notice', async () => {
    const scratch = await scripted(SLOW);
    const { code, done } = await during(scratch, async () => {
      const ends = [];
      for (const args of [['run'], ['answer', 'x'], ['salvage', 'last'], ['undo'], ['recover']])
        ends.push(await relais(args, at(scratch)));
      return ends;
    });
    expect(code).toBe('SUCCESS');
    for (const end of done) {
      expect(end.code).toBe(3);
      expect(`${end.stdout}${end.stderr}`).toMatch(/process \d+ is running/);
    }
    expect(await git(['status', '--porcelain'], scratch)).toBe('');
  });

  it('status tells of it and writes nothing', async () => {
    const scratch = await scripted(SLOW);
    const { code, done } = await during(scratch, async () => {
      const [own = ''] = readdirSync(path.join(scratch.root, 'state'));
      const [before, beside] = [await everything(scratch.repo), path.join(scratch.root, 'state', own, 'vault')];
      const kept = await everything(beside);
      const ends = [await relais(['status'], at(scratch)), await relais(['status', '--preflight'], at(scratch))];
      expect(await everything(scratch.repo)).toEqual(before);
      expect(await everything(beside)).toEqual(kept);
      return ends;
    });
    expect(code).toBe('SUCCESS');
    expect(done.map((end) => end.code)).toEqual([0, 3]);
    expect(done[1]?.stdout).toContain('BLOCKED_LOCK_HELD');
  });

  it('an edit of the user counts as the Hands’, and is kept with the refused work', async () => {
    const scratch = await scripted(SLOW);
    const { code } = await during(scratch, async () => {
      appendFileSync(path.join(scratch.repo, 'docs/guide.md'), 'written by the user\n');
    });
    expect(code).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    const [ref = ''] = (await git(['for-each-ref', '--format=%(refname)', 'refs/relais/rejected'], scratch)).split(
      '\n',
    );
    expect(await git(['show', `${ref}:docs/guide.md`], scratch)).toContain('written by the user');
    expect(readFileSync(path.join(scratch.repo, 'docs/guide.md'), 'utf8')).not.toContain('written by the user');
  });

  it('a commit of the user is kept behind the refused work', async () => {
    const scratch = await scripted(SLOW);
    const base = await git(['rev-parse', 'HEAD'], scratch);
    const { code, done } = await during(scratch, async () => {
      appendFileSync(path.join(scratch.repo, 'docs/guide.md'), 'written by the user\n');
      await commitAll(scratch);
      return git(['rev-parse', 'HEAD'], scratch);
    });
    expect(code).toMatch(/^STOP_/);
    expect(await git(['rev-parse', 'HEAD'], scratch)).toBe(base);
    const [ref = ''] = (await git(['for-each-ref', '--format=%(refname)', 'refs/relais/rejected'], scratch)).split(
      '\n',
    );
    expect((await git(['rev-list', ref], scratch)).split('\n')).toContain(done);
  });

  it('one in another work tree of the repository is held off, and goes on afterwards', async () => {
    const scratch = await scripted(SLOW);
    const beside = path.join(scratch.root, 'beside');
    await git(['worktree', 'add', '--quiet', '-b', 'beside', beside], scratch);
    const other = { cwd: beside, env: scratch.env };
    const { code, done } = await during(scratch, () => relais(['run', '--json'], other));
    expect(code).toBe('SUCCESS');
    expect(json(done)).toMatchObject({ code: 'BLOCKED_LOCK_HELD' });
    await rm(atWork(scratch));
    expect(json(await relais(['run', '--json'], other))).toMatchObject({ code: 'SUCCESS' });
    expect(await git(['rev-parse', 'beside'], scratch)).not.toBe(await git(['rev-parse', 'HEAD'], scratch));
  });
});

describe('many ticks at once', () => {
  it('never run side by side: each that had the lock made one commit', async () => {
    const scratch = await scripted({
      orchestrator: Array.from({ length: 8 }, () => ({ task: {} })),
      builder: Array.from({ length: 8 }, (_, n) => ({
        do: [{ append: 'src/greet.js', text: `// ${n}\n` }],
        result: {},
      })),
    });
    const ends = await Promise.all(Array.from({ length: 8 }, () => relais(['run', '--json'], at(scratch))));
    const odd = ends.filter((end) => !['SUCCESS', 'BLOCKED_LOCK_HELD'].includes(json(end).code));
    expect(odd.map((end) => end.stderr)).toEqual([]);
    const codes = ends.map((end) => json(end).code as string);
    expect(new Set(codes)).toEqual(new Set(['SUCCESS', 'BLOCKED_LOCK_HELD'].filter((code) => codes.includes(code))));
    const won = codes.filter((code) => code === 'SUCCESS').length;
    expect(won).toBeGreaterThan(0);
    expect(Number(await git(['rev-list', '--count', 'HEAD'], scratch))).toBe(1 + won);
    const state = JSON.parse(readFileSync(path.join(scratch.repo, 'relais/STATE.json'), 'utf8'));
    expect(state.milestones[0]).toMatchObject({ ticks: won, orchestrator_calls: won, builder_calls: won });
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });
});

describe('the checkout of a submodule', () => {
  it('is a repository like any other', async () => {
    const outer = await scripted(HONEST);
    const inner = await scripted(HONEST);
    const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.repo, 'part'];
    await git(add, outer);
    const part = { ...inner, repo: path.join(outer.repo, 'part') };
    const end = await relais(['run', '--json'], at(part));
    expect(json(end)).toMatchObject({ code: 'SUCCESS' });
    expect(await git(['status', '--porcelain'], part)).toBe('');
    expect(await git(['rev-list', '--count', 'HEAD'], part)).toBe('2');
    expect(await git(['rev-list', '--count', 'HEAD'], inner)).toBe('1');
  });
});
