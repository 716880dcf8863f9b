import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import type { JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';
import { openDependencies } from '../src/world/keep/dependencies.js';
import { walk } from '../src/world/walk/inventory.js';

let scratch: Scratch | undefined;
afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

const GREET = { write: 'src/greet.js', text: 'export const greet = (name) => `Hello, ${name}!`;\n' };

interface Play {
  readonly hands?: JsonObject[];
  readonly task?: JsonObject;
  readonly check?: string;
}

/** A repository with installed packages, ignored by git, and one tick in it. */
async function played({ hands = [GREET], task = {}, check }: Play): ReturnType<typeof runTick> {
  const scenario = await fullScenario({ orchestrator: [{ task }], builder: [{ do: hands, result: {} }] });
  const base = await readBase('config.json');
  const templates = [{ id: 'check', cmd: 'sh', args: ['-c', check ?? ''] }];
  const config =
    check === undefined ? base : { ...base, verification: { ...(base['verification'] as JsonObject), templates } };
  scratch = await makeScratch({ config, scenario });
  const { repo, env } = scratch;
  appendFileSync(path.join(repo, '.git/info/exclude'), '\nnode_modules\n');
  put('node_modules/runner/index.js', 'run();\n');
  put('node_modules/runner/package.json', '{}\n');
  put('node_modules/.cache/x', 'old\n');
  put('packages/one/node_modules/own/index.js', 'own();\n');
  mkdirSync(path.join(repo, 'node_modules/.bin'));
  symlinkSync('../runner/index.js', path.join(repo, 'node_modules/.bin/runner'));
  symlinkSync(path.join(scratch.root, 'elsewhere'), path.join(repo, 'packages/linked'));
  appendFileSync(path.join(repo, '.git/info/exclude'), 'packages\n');
  return runTick({ cwd: repo, env });
}

function put(name: string, text: string): void {
  const file = path.join(scratch?.repo ?? '', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function text(name: string): string {
  return readFileSync(path.join(scratch?.repo ?? '', name), 'utf8');
}

describe('installed packages', () => {
  it.each([
    ['edited in place', "printf 'cheat();\\n' > node_modules/runner/index.js", 'modified node_modules/runner/index.js'],
    ['deleted', 'rm -r node_modules/runner', 'deleted node_modules/runner/index.js'],
    ['added', 'mkdir node_modules/evil && echo x > node_modules/evil/i.js', 'added node_modules/evil/i.js'],
    ['rerouted', 'ln -sf /bin/true node_modules/.bin/runner', 'modified node_modules/.bin/runner'],
    ['made executable', 'chmod 755 node_modules/runner/index.js', 'modified node_modules/runner/index.js'],
    ['edited in a nested folder', 'echo >> packages/one/node_modules/own/index.js', 'packages/one/node_modules/own'],
    [
      'swapped for a link to another folder',
      'mv node_modules build.o && ln -s build.o node_modules',
      'node_modules/runner/index.js',
    ],
    ['cached behind a link', 'rm -r node_modules/.cache && ln -s /tmp node_modules/.cache', 'node_modules/.cache'],
  ])('are seen and put back when %s', async (_how, sh, evidence) => {
    const end = await played({ hands: [GREET, { sh }] });
    expect(end.outcome.code).toBe('STOP_SCOPE_VIOLATION_FORBIDDEN');
    expect(end.outcome.evidence.join('\n')).toContain(evidence);
    const repo = scratch?.repo ?? '';
    expect(text('node_modules/runner/index.js')).toBe('run();\n');
    expect(text('node_modules/runner/package.json')).toBe('{}\n');
    expect(text('packages/one/node_modules/own/index.js')).toBe('own();\n');
    expect(readlinkSync(path.join(repo, 'node_modules/.bin/runner'))).toBe('../runner/index.js');
    expect(lstatSync(path.join(repo, 'node_modules/runner/index.js')).mode & 0o111).toBe(0);
    expect(existsSync(path.join(repo, 'node_modules/evil'))).toBe(false);
    expect(lstatSync(path.join(repo, 'node_modules')).isDirectory()).toBe(true);
  });

  it('may be rewritten with the same bytes, and their caches by anybody', async () => {
    const sh =
      'cp -p node_modules/runner/index.js x && mv x node_modules/runner/index.js && echo new > node_modules/.cache/x';
    const end = await played({ hands: [GREET, { sh }] });
    expect(end.outcome).toMatchObject({ code: 'SUCCESS' });
  });

  it('may change with a task that may change lockfiles, but come back when it is stopped', async () => {
    const sh = 'echo >> node_modules/runner/index.js';
    const base = (await readBase('task.json'))['scope'] as JsonObject;
    const task = { scope: { ...base, allow_lockfile_changes: true } };
    expect((await played({ hands: [GREET, { sh }], task })).outcome.code).toBe('SUCCESS');
    await scratch?.dispose();
    const end = await played({ hands: [GREET, { sh: `${sh} && echo x > outside.txt` }], task });
    expect(end.outcome.code).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    expect(text('node_modules/runner/index.js')).toBe('run();\n');
  });

  it('taint the tick when a check changes them, not when it fills a cache', async () => {
    const task = { verification: { fast: ['check'], slow: [] } };
    const cache =
      'mkdir -p node_modules/.vite && echo x > node_modules/.vite/deps.js && echo y > node_modules/.cache/x';
    expect((await played({ task, check: cache })).outcome).toMatchObject({ code: 'SUCCESS' });
    await scratch?.dispose();
    const end = await played({ task, check: 'echo >> node_modules/runner/index.js' });
    expect(end.outcome.code).toBe('STOP_VERIFY_TAINTED');
    expect(text('node_modules/runner/index.js')).toBe('run();\n');
  });
});

describe('the copies of installed packages', () => {
  it('are made once, follow what changes, stay below the cap and are proved when read', async () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'dependencies-'));
    try {
      const [tree, dir] = [path.join(root, 'tree'), path.join(root, 'private')];
      mkdirSync(tree);
      for (const [name, size] of [
        ['a', 10],
        ['b', 20],
        ['c', 3_000_000],
      ] as const)
        writeFileSync(path.join(tree, name), name.repeat(size));
      const seen = await walk(tree, { skip: () => false, prune: () => false });
      const names = ['a', 'b', 'c'];
      const store = openDependencies(dir, 'sha1');
      expect(await store.keep(tree, names, seen)).toEqual({ left: [] });
      const git = execFileSync('git', ['hash-object', '--no-filters', 'c'], { cwd: tree, encoding: 'utf8' }).trim();
      expect(openDependencies(dir, 'sha1').hashOf('c')).toBe(git);
      expect(await openDependencies(dir, 'sha1').read('b')).toEqual(Buffer.from('b'.repeat(20)));
      const capped = openDependencies(dir, 'sha1', 100);
      expect(await capped.keep(tree, names, seen)).toEqual({ left: ['c'] });
      expect([capped.has('a'), capped.has('c')]).toEqual([true, false]);
      const hash = capped.hashOf('a') ?? '';
      writeFileSync(path.join(dir, 'objects', hash.slice(0, 2), hash.slice(2)), 'forged');
      await expect(capped.read('a')).rejects.toThrow('altered');
      await capped.keep(tree, [], seen);
      expect(
        readdirSync(path.join(dir, 'objects')).flatMap((name) => readdirSync(path.join(dir, 'objects', name))),
      ).toEqual([]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
