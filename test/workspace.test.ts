import { mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { dir as temporaryDir } from 'tmp-promise';
import { describe, expect, it } from 'vitest';
import { workspaceLines } from '../src/commands/doctorWorkspace.js';
import { originals, WORKSPACE_PROMPTS, WORKSPACE_SCHEMAS } from '../src/commands/initFiles.js';
import { readConfig } from '../src/rules/config.js';
import { GOAL_PLACEHOLDER, starterConfig } from '../src/rules/starter.js';
import { detect } from '../src/rules/detect.js';
import type { Place } from '../src/stages/place.js';
import { packageRoot } from '../src/world/packageRoot.js';
import { createWorld } from '../src/world/world.js';

const root = packageRoot();
const bytes = (name: string): Promise<Buffer> => readFile(path.join(root, name));

async function config() {
  const read = readConfig(String(await bytes('relais.config.json')));
  if (!read.ok) throw new Error(read.errors.join('\n'));
  return read.value;
}

describe('the repository’s own workspace', () => {
  it.each([
    ['schemas', WORKSPACE_SCHEMAS],
    ['prompts', WORKSPACE_PROMPTS],
  ])('relais/%s holds the package’s files byte for byte', async (folder, names) => {
    expect((await readdir(path.join(root, 'relais', folder))).toSorted()).toEqual([...names].toSorted());
    for (const name of names) {
      const same = (await bytes(`relais/${folder}/${name}`)).equals(await bytes(`${folder}/${name}`));
      expect(same, `relais/${folder}/${name}: copy it from ${folder}/${name}`).toBe(true);
    }
  });

  it('has every file that init writes, with the same ignore rules', async () => {
    const wanted = (await originals(root, 'relais')).filter((file) => !file.path.endsWith('FACTS.md'));
    const found = await Promise.all(wanted.map(async (file) => ({ ...file, text: String(await bytes(file.path)) })));
    expect(found).toEqual(wanted);
    expect(String(await bytes('relais/FACTS.md'))).toContain('# Facts');
  });

  it('has a valid config with a goal, and the project’s own checks', async () => {
    const { project, verification, scope } = await config();
    expect(project.goal).not.toBe(GOAL_PLACEHOLDER);
    expect(project.goal).toContain('Relais');
    const { scripts } = JSON.parse(String(await bytes('package.json'))) as { scripts: Record<string, string> };
    const commands = verification.templates.map(({ cmd, args }) => [cmd, ...args].join(' '));
    expect(commands).toEqual(expect.arrayContaining(['npm run test', 'npm run lint', 'npm run types']));
    for (const { args } of verification.templates) expect(Object.keys(scripts)).toContain(args[1]);
    const starter = starterConfig(detect({ paths: [], texts: new Map() }), '');
    expect(scope.default_forbidden_globs).toEqual(starter.scope.default_forbidden_globs);
  });

  it('shows doctor no drift', async () => {
    const world = await createWorld({ cwd: root, env: process.env });
    const place = {
      root,
      config: await config(),
      configText: '',
      facts: { config: { state: 'ok' }, git: { ok: true } },
    };
    const lines = await workspaceLines(world, place as Place);
    expect(lines.map(({ check, status, text }) => [check, status, text])).toEqual([
      ['workspace', 'ok', 'relais/ is complete'],
      ['schemas', 'ok', expect.any(String)],
      ['prompts', 'ok', 'as shipped'],
    ]);
  });
});

it('git ignores what the runner writes and tracks the rest of the workspace', async () => {
  const repo = await realpath((await temporaryDir({ prefix: 'relais workspace' })).path);
  try {
    const env = { PATH: process.env['PATH'], HOME: repo, GIT_CONFIG_NOSYSTEM: '1' };
    const git = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await execa('git', args, { cwd: repo, env, extendEnv: false });
      return stdout.split('\n').filter((line) => line !== '');
    };
    await git('init', '--quiet');
    const tracked = (await originals(root, 'relais')).map(({ path: name }) => name);
    const written = [
      ...['STATE', 'TASK', 'REPORT', 'BLOCKED'].flatMap((name) =>
        ['', '.tmp', '.broken', '.2716057', '.1'].map((end) => `${name}.json${end}`),
      ),
      'REPORT.md',
      'REPORT.md.123',
      'lock.json',
      'lock.json.42.0123456789ab.tmp',
      'lock.json.reclaim.0123456789abcdef',
      'history/20260101T120000Z-00000000/meta.json',
      'history/20260101T120000Z-00000000/diff.patch',
      'logs/2026-01-01.log',
      'cycles/1/plan.json',
    ].map((name) => `relais/${name}`);
    for (const name of [...tracked, ...written]) {
      await mkdir(path.dirname(path.join(repo, name)), { recursive: true });
      await writeFile(path.join(repo, name), name.endsWith('.gitignore') ? await bytes(name) : '');
    }
    const seen = await git('ls-files', '--others', '--exclude-standard');
    expect(seen.toSorted()).toEqual(tracked.toSorted());
  } finally {
    await rm(repo, { recursive: true, force: true });
  }
});
