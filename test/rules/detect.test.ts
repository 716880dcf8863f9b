import { describe, expect, test } from 'vitest';
import { detect, type Detected } from '../../src/rules/detect.js';

function found(paths: readonly string[], texts: Readonly<Record<string, string | object>> = {}): Detected {
  const entries = Object.entries(texts).map(
    ([name, text]) => [name, typeof text === 'string' ? text : JSON.stringify(text)] as const,
  );
  return detect({ paths: [...paths, ...Object.keys(texts)], texts: new Map(entries) });
}

function commands(detected: Detected): string[] {
  return detected.templates.map(({ id, cmd, args }) => `${id}: ${[cmd, ...args].join(' ')}`);
}

const SCRIPTS = { scripts: { test: 'node --test', lint: 'oxlint' } };

describe('a Node package', () => {
  test.each([
    ['package-lock.json', 'npm'],
    ['npm-shrinkwrap.json', 'npm'],
    ['pnpm-lock.yaml', 'pnpm'],
    ['yarn.lock', 'yarn'],
    ['bun.lock', 'bun'],
    ['bun.lockb', 'bun'],
    ['pnpm-workspace.yaml', 'pnpm'],
    ['nothing', 'npm'],
  ])('with %s uses %s', (lock, manager) => {
    const detected = found([lock], { 'package.json': SCRIPTS });
    expect(detected.packageManager).toBe(manager);
    expect(commands(detected).slice(0, 2)).toEqual([`lint: ${manager} run lint`, `test: ${manager} run test`]);
  });

  test('the manifest’s own word comes before the lockfiles', () => {
    const detected = found(['yarn.lock'], { 'package.json': { ...SCRIPTS, packageManager: 'pnpm@9.1.0' } });
    expect(detected.packageManager).toBe('pnpm');
    expect(detected.notes).toEqual([]);
  });

  test('two managers’ lockfiles are mentioned', () => {
    const detected = found(['yarn.lock', 'package-lock.json'], { 'package.json': SCRIPTS });
    expect(detected.packageManager).toBe('yarn');
    expect(detected.notes[0]).toContain('lockfiles of yarn and npm');
  });

  test('finds scripts by their usual other names', () => {
    const scripts = { 'fmt:check': 'f', 'type-check': 't', 'test:unit': 'u', build: 'b', deploy: 'd' };
    expect(commands(found([], { 'package.json': { scripts } }))).toEqual([
      'format: npm run fmt:check',
      'typecheck: npm run type-check',
      'test: npm run test:unit',
      'build: npm run build',
    ]);
  });

  test('npm’s placeholder for tests is no check', () => {
    const detected = found([], { 'package.json': { scripts: { test: 'echo "Error: no test specified" && exit 1' } } });
    expect(detected.templates).toEqual([]);
    expect(detected.notes.join()).toContain('no check was recognised');
  });

  test.each([
    ['npm', 'package-lock.json', 'npm exec --offline -- tsc --noEmit -p .'],
    ['pnpm', 'pnpm-lock.yaml', 'pnpm exec tsc --noEmit -p .'],
    ['yarn', 'yarn.lock', 'yarn run tsc --noEmit -p .'],
    ['bun', 'bun.lock', 'bun run tsc --noEmit -p .'],
  ])('%s checks types itself where there is no script', (_manager, lock, command) => {
    const detected = found([lock, 'tsconfig.json'], { 'package.json': { devDependencies: { typescript: '5' } } });
    expect(detected.languages).toEqual(['typescript']);
    expect(commands(detected)).toEqual([`typecheck: ${command}`]);
  });

  test('one file can be tested where the runner takes a name', () => {
    const detected = found([], { 'package.json': { scripts: { test: 'vitest run' } } });
    expect(detected.templates.at(-1)).toEqual({
      id: 'test_file',
      cmd: 'npm',
      args: ['run', 'test', '--', '{{file}}'],
      params: { file: { kind: 'path' } },
    });
    const chained = found([], { 'package.json': { scripts: { test: 'vitest run && echo done' } } });
    expect(commands(chained)).toEqual(['test: npm run test']);
  });

  test.each([
    ['package-lock.json', 'npm run test --workspace={{pkg}}'],
    ['pnpm-lock.yaml', 'pnpm --fail-if-no-match --filter={{pkg}} run test'],
    ['yarn.lock', 'yarn workspace {{pkg}} run test'],
    ['bun.lock', 'bun run --filter={{pkg}} test'],
  ])('with workspaces and %s one package can be tested', (lock, command) => {
    const detected = found([lock], { 'package.json': { ...SCRIPTS, workspaces: ['packages/*'] } });
    expect(commands(detected)).toContain(`test_package: ${command}`);
  });

  test.each(['{', '[]', '"x"', 'null'])('a manifest that is %s is mentioned, not fatal', (text) => {
    const detected = found([], { 'package.json': text });
    expect(detected.packageManager).toBeUndefined();
    expect(detected.languages).toEqual(['javascript']);
    expect(detected.notes[0]).toContain('package.json is not a JSON object');
  });

  test('a byte order mark and odd fields are taken as they are', () => {
    const text = `\ufeff${JSON.stringify({ scripts: { lint: 'x', test: 7 }, dependencies: [], packageManager: 3 })}`;
    expect(commands(found([], { 'package.json': text }))).toEqual(['lint: npm run lint']);
  });
});

describe('several languages', () => {
  test('ids stay unique, the later language’s are named after it', () => {
    const detected = found(['go.mod', 'Cargo.toml', 'main.go'], { 'package.json': SCRIPTS });
    expect(detected.languages).toEqual(['javascript', 'go', 'rust']);
    expect(detected.templates.map(({ id }) => id)).toEqual([
      'lint',
      'test',
      'go_lint',
      'build',
      'go_test',
      'typecheck',
      'rust_test',
    ]);
  });

  test('lockfiles of all of them count', () => {
    const { lockfiles } = found(['go.mod', 'Cargo.toml', 'pyproject.toml']);
    for (const name of ['package-lock.json', 'bun.lock', 'go.sum', 'Cargo.lock', 'uv.lock', 'Pipfile.lock'])
      expect(lockfiles).toContain(name);
    expect(found([]).lockfiles).not.toContain('go.sum');
  });

  test('checks are told that nobody is watching', () => {
    expect(found([]).env).toEqual({ CI: '1' });
    expect(found(['setup.py']).env).toEqual({ CI: '1', PYTHONDONTWRITEBYTECODE: '1' });
  });
});

describe('where work may begin', () => {
  test('the source folders that are there, and the README', () => {
    expect(found(['src/', 'docs/', 'tests/', 'README.md']).allowedGlobs).toEqual(['src/**', 'tests/**', 'README.md']);
  });

  test('a Python package by its marker, Go files at the root', () => {
    expect(found(['setup.py', 'mypkg/', 'mypkg/__init__.py', 'tests/']).allowedGlobs).toEqual(['tests/**', 'mypkg/**']);
    expect(found(['go.mod', 'main.go']).allowedGlobs).toEqual(['**/*.go']);
  });

  test('the contract’s defaults where nothing is recognised', () => {
    expect(found(['notes.txt']).allowedGlobs).toEqual(['src/**', 'app/**', 'packages/**', 'tests/**', 'README.md']);
  });
});
