import { mkdir, readdir, readFile, rmdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/world/packageRoot.js';
import { HONEST, json, project, relais, sandbox, scripted } from './relais.js';

const COMMANDS = ['init', 'doctor', 'run', 'status', 'answer', 'recover', 'unlock', 'demo', 'fixtures'];

describe('a bad command line exits 64 and says what was meant', () => {
  it.each<[string[], string]>([
    [['initt'], 'Did you mean init?'],
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['run', '--josn'], 'Did you mean --json?'],
    [['status', '--preflght'], 'Did you mean --preflight?'],
    [['run', 'now'], 'too many arguments'],
    [['answer', '--choice'], 'argument missing'],
    [['answer', '--choice', '0'], 'A number from 1 on is needed.'],
    [['answer', '--choice', 'two'], 'A number from 1 on is needed.'],
  ])('%j', async (args, said) => {
    const box = await sandbox();
    const end = await relais(args, { cwd: box.root, env: box.env });
    expect(end).toMatchObject({ code: 64, stdout: '' });
    expect(end.stderr).toContain(said);
    expect(end.stderr).toMatch(/\(relais( [a-z]+)? --help (says more|lists the commands)\)/u);
  });

  it('no command at all shows the help', async () => {
    const box = await sandbox();
    const end = await relais([], { cwd: box.root, env: box.env });
    expect(end).toMatchObject({ code: 64, stdout: '' });
    expect(end.stderr).toContain('Usage: relais');
  });
});

describe('help and version', () => {
  it('--version is the package’s', async () => {
    const box = await sandbox();
    const { version } = JSON.parse(await readFile(path.join(packageRoot(), 'package.json'), 'utf8'));
    const end = await relais(['--version'], { cwd: box.root, env: box.env });
    expect(end).toEqual({ code: 0, stdout: version, stderr: '' });
  });

  it('--help lists every command, examples and every exit code', async () => {
    const box = await sandbox();
    const end = await relais(['--help'], { cwd: box.root, env: box.env });
    expect(end).toMatchObject({ code: 0, stderr: '' });
    for (const name of COMMANDS) expect(end.stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
    for (const code of [0, 1, 2, 3, 64, 70, 130]) expect(end.stdout).toMatch(new RegExp(`^  ${code} `, 'm'));
    expect(end.stdout).toContain('143');
  });

  it.each(COMMANDS)('%s --help has examples of itself and its exit codes', async (name) => {
    const box = await sandbox();
    const end = await relais([name, '--help'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(new RegExp(`Examples:\n  relais ${name}`));
    expect(end.stdout).toMatch(/Exit codes:\n {2}0 /);
    expect(end.stdout).toContain('--json');
  });

  it('every example in a help text is a command line that parses', async () => {
    const box = await sandbox();
    for (const name of COMMANDS) {
      const { stdout } = await relais([name, '--help'], { cwd: box.root, env: box.env });
      const known = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag);
      const examples = stdout.slice(stdout.indexOf('Examples:'), stdout.indexOf('Exit codes:'));
      for (const [flag] of examples.matchAll(/--[a-z-]+/g)) expect(known, name).toContain(flag);
    }
  });
});

describe('a machine that is not in order gives a remedy, not a stack', () => {
  it('git is not on PATH', async () => {
    const box = await sandbox();
    const repo = await project(box, {});
    const bin = path.join(box.root, 'bin');
    await mkdir(bin);
    await symlink(process.execPath, path.join(bin, 'node'));
    for (const args of [['init', '--yes'], ['run'], ['status']]) {
      const end = await relais([...args, '--json'], { cwd: repo, env: { ...box.env, PATH: bin } });
      expect(end.code).toBe(3);
      expect(json(end)).toMatchObject({ ok: false, remedy: expect.stringContaining('Install git') });
      expect(end.stderr).not.toContain('    at ');
    }
  });

  it('the private folder’s name is taken by a file', async () => {
    const scratch = await scripted(HONEST);
    const taken = path.join(scratch.root, 'taken');
    await writeFile(taken, '');
    const env = { ...scratch.env, RELAIS_STATE_DIR: taken };
    const end = await relais(['run', '--json'], { cwd: scratch.repo, env });
    expect(end.code).toBe(2);
    expect(json(end)).toMatchObject({
      code: 'STOP_INTERRUPTED',
      blocked: { remedy: expect.stringContaining('Move away') },
    });
    expect(end.stderr).toContain(taken);
    expect(end.stderr).not.toContain('    at ');
    expect(await readdir(path.join(scratch.repo, 'relais'))).not.toContain('lock.json');
  });

  it('the current folder is gone', async () => {
    const box = await sandbox();
    const gone = path.join(box.root, 'gone');
    await mkdir(gone);
    const program = path.join(packageRoot(), 'dist', 'cli.js');
    const script = 'rmdir "$PWD" && exec "$0" "$1" run';
    const end = await execa('/bin/sh', ['-c', script, process.execPath, program], {
      cwd: gone,
      env: box.env,
      extendEnv: false,
      reject: false,
    });
    expect(end.exitCode).toBe(3);
    expect(end.stderr).toContain('the current folder no longer exists');
    expect(end.stderr).toContain('remedy: ');
    await expect(rmdir(gone)).rejects.toThrow('ENOENT');
  });
});

it('nothing is coloured, whatever the environment says', async () => {
  const box = await sandbox();
  const repo = await project(box, {});
  for (const env of [box.env, { ...box.env, NO_COLOR: '1' }, { ...box.env, TERM: 'xterm-256color' }]) {
    for (const args of [['--help'], ['doctor'], ['status', '--preflight'], ['init', '--dry-run'], ['nonsense']]) {
      const { stdout, stderr } = await relais(args, { cwd: repo, env });
      expect(stdout + stderr).not.toContain('\u001b');
    }
  }
});

it('names with control characters never reach the terminal as they are', async () => {
  const box = await sandbox();
  const repo = await project(box, { 'package.json': '{"scripts":{"test":"x"},"packageManager":"npm@1"}' });
  await writeFile(path.join(repo, '\u001b[31mred'), '');
  const end = await relais(['init', '--yes'], { cwd: repo, env: box.env });
  expect(end.code).toBe(0);
  const status = await relais(['status', '--preflight'], { cwd: repo, env: box.env });
  expect(end.stdout + status.stdout + status.stderr).not.toContain('\u001b');
});
