import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/rules/config.js';
import { commitAll, everything, git, json, project, relais, sandbox } from './relais.js';

const WRITTEN = [
  'relais.config.json',
  'relais/.gitignore',
  'relais/FACTS.md',
  'relais/fixtures/README.md',
  'relais/prompts/builder.system.txt',
  'relais/prompts/builder.user.txt',
  'relais/prompts/orchestrator.system.txt',
  'relais/prompts/orchestrator.user.txt',
  'relais/schemas/builder_result.schema.json',
  'relais/schemas/config.schema.json',
  'relais/schemas/report.schema.json',
  'relais/schemas/task.schema.json',
];

const manifest = (scripts: object, more: object = {}): string => JSON.stringify({ name: 'x', scripts, ...more });

describe('init writes the checks and folders it finds', () => {
  it.each<[string, Record<string, string>, string[], string[]]>([
    [
      'an npm project in TypeScript',
      {
        'package.json': manifest({ test: 'vitest run', lint: 'eslint .' }, { devDependencies: { typescript: '5' } }),
        'package-lock.json': '{}',
        'tsconfig.json': '{}',
        'src/': '',
      },
      ['npm run lint', 'npm exec --offline -- tsc --noEmit -p .', 'npm run test', 'npm run test -- {{file}}'],
      ['src/**'],
    ],
    [
      'a pnpm monorepo',
      {
        'package.json': manifest({ test: 'turbo test', typecheck: 'tsc' }),
        'pnpm-lock.yaml': '',
        'pnpm-workspace.yaml': 'packages: []',
        'packages/a/': '',
        'apps/web/': '',
      },
      ['pnpm run typecheck', 'pnpm run test', 'pnpm --fail-if-no-match --filter={{pkg}} run test'],
      ['apps/**', 'packages/**'],
    ],
    [
      'a yarn project',
      { 'package.json': manifest({ test: 'mocha' }), 'yarn.lock': '', 'lib/': '' },
      ['yarn run test'],
      ['lib/**'],
    ],
    [
      'a bun project',
      { 'package.json': manifest({ test: 'bun test' }), 'bun.lock': '', 'src/': '' },
      ['bun run test'],
      ['src/**'],
    ],
    [
      'a Python project',
      { 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n', 'shop/__init__.py': '', 'tests/': '' },
      ['python3 -m ruff check .', 'python3 -m pytest -q -p no:cacheprovider'],
      ['tests/**', 'shop/**'],
    ],
    [
      'a Rust project',
      { 'Cargo.toml': '[package]\nname = "x"\n', 'src/main.rs': '' },
      ['cargo check --all-targets', 'cargo test'],
      ['src/**'],
    ],
    [
      'a Go project',
      { 'go.mod': 'module x\n', 'main.go': '' },
      ['go vet ./...', 'go build ./...', 'go test ./...'],
      ['**/*.go'],
    ],
    ['an empty repository', {}, [], ['src/**', 'app/**', 'packages/**', 'tests/**', 'README.md']],
  ])('%s', async (_title, files, commands, globs) => {
    const box = await sandbox();
    const repo = await project(box, files);
    const end = await relais(['init', '--yes'], { cwd: repo, env: box.env });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const config = readConfig(await readFile(path.join(repo, 'relais.config.json'), 'utf8'));
    if (!config.ok) throw new Error(config.errors.join('\n'));
    const { verification, scope } = config.value;
    expect(verification.templates.map(({ cmd, args }) => [cmd, ...args].join(' '))).toEqual(commands);
    expect(scope.default_allowed_globs).toEqual(globs);
    for (const command of commands) expect(end.stdout).toContain(command);
    for (const name of WRITTEN) expect(end.stdout).toContain(`write       ${name}\n`);
    const present = (await readdir(repo, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('.git'))
      .map((entry) => path.relative(repo, path.join(entry.parentPath, entry.name)));
    expect(present.filter((name) => name.startsWith('relais')).toSorted()).toEqual(WRITTEN);
  });
});

describe('init never overwrites', () => {
  it('writes nothing at all the second time', async () => {
    const box = await sandbox();
    const repo = await project(box, { 'package.json': manifest({ test: 'node --test' }) });
    const at = { cwd: repo, env: box.env };
    await relais(['init', '--yes'], at);
    const before = await everything(box.root);
    const second = await relais(['init', '--yes'], at);
    expect(second.code).toBe(0);
    expect(second.stdout).toContain('Nothing to write.');
    expect(await everything(box.root)).toEqual(before);
  });

  it('leaves edited files alone and writes only what is missing', async () => {
    const box = await sandbox();
    const repo = await project(box, {
      'relais/FACTS.md': 'mine\n',
      'relais/prompts/builder.user.txt': 'mine too\n',
    });
    const end = await relais(['init', '--yes', '--json'], { cwd: repo, env: box.env });
    const { files, written } = json(end);
    expect(written).toBe(true);
    const kept = files.filter(({ action }: { action: string }) => action === 'keep');
    expect(kept.map(({ path: name }: { path: string }) => name)).toEqual([
      'relais/prompts/builder.user.txt',
      'relais/FACTS.md',
    ]);
    expect(await readFile(path.join(repo, 'relais/FACTS.md'), 'utf8')).toBe('mine\n');
    expect(await readFile(path.join(repo, 'relais/prompts/builder.user.txt'), 'utf8')).toBe('mine too\n');
    expect(await readFile(path.join(repo, 'relais/prompts/builder.system.txt'), 'utf8')).not.toBe('');
  });

  it('keeps an invalid config, says what is wrong with it and exits 3', async () => {
    const box = await sandbox();
    const repo = await project(box, { 'relais.config.json': '{"versoin": "1.0"}' });
    const end = await relais(['init', '--yes'], { cwd: repo, env: box.env });
    expect(end.code).toBe(3);
    expect(end.stdout).toContain('unknown key "versoin", did you mean "version"?');
    expect(end.stderr).toContain('remedy: correct relais.config.json');
    expect(await readFile(path.join(repo, 'relais.config.json'), 'utf8')).toBe('{"versoin": "1.0"}');
  });

  it('uses the workspace folder an existing config names', async () => {
    const box = await sandbox();
    const repo = await project(box, {});
    const at = { cwd: repo, env: box.env };
    await relais(['init', '--yes'], at);
    const file = path.join(repo, 'relais.config.json');
    await writeFile(
      file,
      (await readFile(file, 'utf8'))
        .replaceAll('relais/', 'robot/')
        .replace('"workspace_dir": "relais"', '"workspace_dir": "robot"'),
    );
    await rm(path.join(repo, 'relais'), { recursive: true });
    expect((await relais(['init', '--yes'], at)).code).toBe(0);
    expect(await readdir(path.join(repo, 'robot'))).toContain('schemas');
    expect(await readdir(repo)).not.toContain('relais');
  });
});

describe('init chooses its place with care', () => {
  it('goes to the top of the repository from a subfolder', async () => {
    const box = await sandbox();
    const repo = await project(box, { 'src/deep/': '' });
    expect((await relais(['init', '--yes'], { cwd: path.join(repo, 'src/deep'), env: box.env })).code).toBe(0);
    expect(await readdir(repo)).toEqual(expect.arrayContaining(['relais', 'relais.config.json']));
    expect(await readdir(path.join(repo, 'src/deep'))).toEqual([]);
  });

  it('refuses outside of a repository and names the remedy', async () => {
    const box = await sandbox();
    const before = await everything(box.root);
    const end = await relais(['init', '--yes', '--json'], { cwd: path.join(box.root, 'tmp'), env: box.env });
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ ok: false, remedy: expect.stringContaining('git init') });
    expect(end.stderr).toContain('remedy: ');
    expect(await everything(box.root)).toEqual(before);
  });

  it.each([[['init']], [['init', '--json']]])('asks nobody where there is no terminal: %j', async (args) => {
    const box = await sandbox();
    const repo = await project(box, {});
    const before = await everything(box.root);
    const end = await relais(args, { cwd: repo, env: box.env });
    expect(end.code).toBe(64);
    expect(end.stderr).toContain('relais init --yes');
    expect(await everything(box.root)).toEqual(before);
  });

  it('only shows what it would write with --dry-run', async () => {
    const box = await sandbox();
    const repo = await project(box, {});
    const before = await everything(box.root);
    const end = await relais(['init', '--dry-run', '--json'], { cwd: repo, env: box.env });
    expect(end.code).toBe(0);
    const { files, written } = json(end);
    expect(written).toBe(false);
    expect(files.map((file: { path: string }) => file.path).toSorted()).toEqual(WRITTEN);
    expect(await everything(box.root)).toEqual(before);
  });

  it.each(['a link', 'a file'])('writes nothing where %s has the name of the workspace', async (kind) => {
    const box = await sandbox();
    const repo = await project(box, {});
    const name = path.join(repo, 'relais');
    await mkdir(path.join(box.root, 'elsewhere'));
    if (kind === 'a link') await symlink(path.join(box.root, 'elsewhere'), name);
    else await writeFile(name, '');
    const before = await everything(box.root);
    const end = await relais(['init', '--yes'], { cwd: repo, env: box.env });
    expect(end.code).toBe(3);
    expect(end.stderr).toContain(`relais is ${kind}, not a folder`);
    expect(end.stderr).toContain('remedy: ');
    expect(await everything(box.root)).toEqual(before);
  });

  it.skipIf(process.getuid?.() === 0)('says so where the folder may not be written', async () => {
    const box = await sandbox();
    const repo = await project(box, {});
    await chmod(repo, 0o555);
    const end = await relais(['init', '--yes'], { cwd: repo, env: box.env });
    await chmod(repo, 0o755);
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('remedy: Give this user write permission');
  });
});

it('the next tick finds everything in order once the files are committed', async () => {
  const box = await sandbox();
  const repo = await project(box, { 'src/a.js': '', 'package.json': manifest({ test: 'node --test' }) });
  const at = { cwd: repo, env: box.env };
  await relais(['init', '--yes'], at);
  await commitAll({ repo, env: box.env });
  expect((await git(['ls-files'], { repo, env: box.env })).split('\n')).toEqual(expect.arrayContaining(WRITTEN));
  const bare = path.join(box.root, 'only git');
  await mkdir(bare);
  await symlink((await execa('/bin/sh', ['-c', 'command -v git'])).stdout, path.join(bare, 'git'));
  const without = await relais(['status', '--preflight', '--json'], { ...at, env: { ...box.env, PATH: bare } });
  expect(json(without).failing[0].evidence[0]).toContain('the agent program "claude" was not found');
  const bin = path.join(box.root, 'bin');
  await mkdir(bin);
  await writeFile(path.join(bin, 'claude'), '#!/bin/sh\n', { mode: 0o755 });
  const env = { ...box.env, PATH: `${bin}${path.delimiter}${box.env['PATH']}` };
  const end = await relais(['status', '--preflight', '--json'], { ...at, env });
  expect(json(end)).toMatchObject({ ready: true, failing: [] });
  expect(end.code).toBe(0);
});
