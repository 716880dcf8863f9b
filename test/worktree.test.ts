import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { afterEach, describe, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import type { JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';

let scratch: Scratch | undefined;

afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

const GREET = { write: 'src/greet.js', text: 'export const greet = (name) => `Hello, ${name}!`;\n' };

/** A scratch repository with a second work tree on its own branch, in which the Hands do this. */
async function linked(...steps: JsonObject[][]): Promise<Scratch & { readonly tree: string }> {
  const builder = steps.map((step) => ({ do: step, result: {} }));
  const scenario = await fullScenario({ orchestrator: [{ task: {} }], builder });
  scratch = await makeScratch({ config: await readBase('config.json'), scenario });
  const { repo, env, root } = scratch;
  const tree = path.join(root, 'second');
  await execa('git', ['worktree', 'add', '-q', '-b', 'second', tree], { cwd: repo, env, extendEnv: false });
  return { ...scratch, tree };
}

describe('a tick in a linked work tree', () => {
  it('commits there, from a subfolder too, and keeps its state in the main work tree', async () => {
    const { repo, env, tree } = await linked([GREET]);
    const end = await runTick({ cwd: path.join(tree, 'src'), env });
    expect(end.outcome.code).toBe('SUCCESS');
    expect(existsSync(path.join(repo, 'relais/STATE.json'))).toBe(true);
    expect(existsSync(path.join(tree, 'relais/STATE.json'))).toBe(false);
    const ahead = await execa('git', ['rev-list', '--count', 'main..second'], { cwd: repo, env, extendEnv: false });
    expect(ahead.stdout).toBe('1');
  });

  it('protects the workspace in the main work tree as well', async () => {
    const attack =
      'cd "../the repository/relais" && echo forged > FACTS.md && rm -rf history lock.json && echo {} > STATE.json';
    const { repo, env, tree } = await linked([GREET], [GREET, { sh: attack }]);
    const first = await runTick({ cwd: tree, env });
    const facts = await readFile(path.join(repo, 'relais/FACTS.md'), 'utf8');
    const end = await runTick({ cwd: tree, env });
    expect(end.outcome.code).toBe('STOP_RUNNER_OWNED_MUTATION');
    expect(end.outcome.evidence.join('\n')).toContain('relais/FACTS.md');
    expect(await readFile(path.join(repo, 'relais/FACTS.md'), 'utf8')).toBe(facts);
    expect(existsSync(path.join(repo, 'relais/history', first.runId, 'report.json'))).toBe(true);
    const state = JSON.parse(await readFile(path.join(repo, 'relais/STATE.json'), 'utf8')) as { sequence: number };
    expect(state.sequence).toBe(2);
    expect(existsSync(path.join(repo, 'relais/lock.json'))).toBe(false);
  });
});
