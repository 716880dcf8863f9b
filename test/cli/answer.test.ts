import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/rehearse/overlay.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { ASKING, everything, HONEST, json, relais, sandbox, scripted } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

async function state({ repo }: Scratch): Promise<any> {
  return JSON.parse(await readFile(path.join(repo, 'relais/STATE.json'), 'utf8'));
}

async function asked(): Promise<Scratch> {
  const scratch = await scripted(ASKING);
  expect((await relais(['run'], at(scratch))).code).toBe(1);
  return scratch;
}

describe('relais answer records', () => {
  it.each<[string, string[], string]>([
    ['a choice by its number', ['--choice', '2'], 'Hi'],
    ['a text, quoted or not', ['Good', 'morning,', 'all'], 'Good morning, all'],
    ['a text without what a terminal could act on', ['red \u001b[31mtext'], 'red [31mtext'],
  ])('%s', async (_title, args, text) => {
    const scratch = await asked();
    const end = await relais(['answer', ...args, '--json'], at(scratch));
    expect(end.code).toBe(0);
    expect(json(end)).toMatchObject({ ok: true, answer: text, question: 'Which greeting is wanted?' });
    const { pending_question, answer } = await state(scratch);
    expect(pending_question).toBeUndefined();
    expect(answer).toMatchObject({ prompt: 'Which greeting is wanted?', text });
    expect((await relais(['status', '--preflight'], at(scratch))).code).toBe(0);
  });

  it('and the next tick goes on', async () => {
    const both: JsonObject = {
      orchestrator: [...(ASKING['orchestrator'] as JsonObject[]), ...(HONEST['orchestrator'] as JsonObject[])],
      builder: [...(ASKING['builder'] as JsonObject[]), ...(HONEST['builder'] as JsonObject[])],
    };
    const scratch = await scripted(both);
    expect((await relais(['run'], at(scratch))).code).toBe(1);
    expect((await relais(['answer', 'Hello'], at(scratch))).code).toBe(0);
    expect((await relais(['run'], at(scratch))).code).toBe(0);
    expect((await state(scratch)).answer).toBeUndefined();
  });
});

describe('relais answer refuses, changes nothing and names the remedy', () => {
  const wrong: [string[], string][] = [
    [['--choice', '9'], 'there is no choice 9'],
    [[], 'there is no answer on the command line'],
    [['  '], 'there is no answer on the command line'],
    [['--choice', '1', 'Hi'], 'not both'],
    [['x'.repeat(4001)], 'longer than 4000 characters'],
  ];
  it('an answer that fits no question', async () => {
    const scratch = await asked();
    const before = await state(scratch);
    for (const [args, why] of wrong) {
      const end = await relais(['answer', ...args], at(scratch));
      expect(end).toMatchObject({ code: 64, stdout: '' });
      expect(end.stderr).toContain(why);
      expect(end.stderr).toContain('Question: Which greeting is wanted?\n  1. Hello\n  2. Hi\n');
      expect(end.stderr).toContain('remedy: Answer with `relais answer --choice N`');
      expect(await state(scratch)).toEqual(before);
    }
  });

  it('without a question', async () => {
    const scratch = await scripted(HONEST);
    const end = await relais(['answer', 'Hi', '--json'], at(scratch));
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ ok: false, why: 'no question is pending' });
  });

  it('with a damaged state', async () => {
    const scratch = await asked();
    await writeFile(path.join(scratch.repo, 'relais/STATE.json'), '{');
    const end = await relais(['answer', 'Hi'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('remedy: Run `relais recover` first.');
  });

  it('while the lock can’t be had', async () => {
    const scratch = await asked();
    await writeFile(path.join(scratch.repo, 'relais/lock.json'), '{');
    const before = await everything(scratch.root);
    const end = await relais(['answer', 'Hi'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('another relais is at work');
    expect(await everything(scratch.root)).toEqual(before);
  });

  it('outside of a repository', async () => {
    const box = await sandbox();
    const end = await relais(['answer', 'Hi', '--json'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(3);
    expect(json(end).remedy).toContain('relais status --preflight');
  });
});
