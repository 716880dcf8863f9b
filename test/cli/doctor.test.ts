import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { overlay, type JsonObject } from '../../src/rehearse/overlay.js';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { git, HONEST, json, relais, sandbox, scripted } from './relais.js';

interface Line {
  readonly check: string;
  readonly status: string;
  readonly text: string;
  readonly remedy?: string;
}

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });

async function change({ repo }: Scratch, over: JsonObject): Promise<void> {
  const file = path.join(repo, 'relais.config.json');
  await writeFile(file, JSON.stringify(overlay(JSON.parse(await readFile(file, 'utf8')), over)));
}

/** A stand-in for the agent program that answers doctor's three questions. */
async function fakeClaude(
  { root, env }: Scratch,
  answers: { help: string; login: string },
): Promise<NodeJS.ProcessEnv> {
  const bin = path.join(root, 'bin');
  await mkdir(bin, { recursive: true });
  const script = `#!/bin/sh\ncase "$1" in\n--version) echo 2.1.0;;\n--help) echo '${answers.help}';;\n*) ${answers.login};;\nesac\n`;
  await writeFile(path.join(bin, 'claude'), script, { mode: 0o755 });
  return { ...env, PATH: `${bin}${path.delimiter}${env['PATH']}` };
}

const FLAGS = '--tools --setting-sources --strict-mcp-config --permission-mode --session-id --json-schema';
const LOGGED_IN = `echo '{"loggedIn": true}'`;
const LOGGED_OUT = `echo '{"loggedIn": false}'; exit 1`;
const CLAUDE: JsonObject = { orchestrator: { agent: 'claude' }, builder: { agent: 'claude' } };

describe('doctor', () => {
  it('finds nothing wrong with a repository that is in order, and exits 0', async () => {
    const scratch = await scripted(HONEST);
    const end = await relais(['doctor', '--json'], at(scratch));
    const { ok, checks } = json(end) as { ok: boolean; checks: Line[] };
    expect(checks.filter(({ status }) => status !== 'ok').map(({ check }) => check)).toEqual([]);
    expect(ok).toBe(true);
    expect(end.code).toBe(0);
    const wanted = ['node', 'git', 'repository', 'head', 'config', 'schemas', 'agent scripted', 'boot id', 'lock'];
    expect(checks.map(({ check }) => check)).toEqual(expect.arrayContaining(wanted));
    const people = await relais(['doctor'], at(scratch));
    expect(people).toMatchObject({ code: 0, stderr: '' });
    expect(people.stdout).toContain(`${checks.length} ok, 0 warning, 0 failed, 0 unknown`);
    for (const { check } of checks) expect(people.stdout).toMatch(new RegExp(`^ok +${check} +`, 'm'));
  });

  it.each<[string, (scratch: Scratch) => Promise<unknown>, Partial<Line>, string]>([
    [
      'a changed schema',
      ({ repo }) => writeFile(path.join(repo, 'relais/schemas/task.schema.json'), '{}'),
      { check: 'schemas', status: 'warning' },
      'relais/schemas/task.schema.json',
    ],
    [
      'a missing prompt',
      ({ repo }) => rm(path.join(repo, 'relais/prompts/builder.user.txt')),
      { check: 'workspace', status: 'failed', remedy: expect.stringContaining('relais init') },
      'relais/prompts/builder.user.txt',
    ],
    [
      'an edited prompt, which is allowed',
      ({ repo }) => writeFile(path.join(repo, 'relais/prompts/builder.user.txt'), 'mine'),
      { check: 'prompts', status: 'ok' },
      'relais/prompts/builder.user.txt',
    ],
    [
      'a config with a mistyped key',
      (scratch) => change(scratch, { budgts: {} }),
      { check: 'config', status: 'failed' },
      'did you mean "budgets"?',
    ],
    [
      'a config that is not there',
      ({ repo }) => rm(path.join(repo, 'relais.config.json')),
      { check: 'config', status: 'failed', remedy: 'Run relais init.' },
      'missing',
    ],
    [
      'a config that is a link',
      async ({ repo, root }) => {
        const file = path.join(repo, 'relais.config.json');
        await writeFile(path.join(root, 'other.json'), await readFile(file));
        await rm(file);
        await symlink(path.join(root, 'other.json'), file);
      },
      { check: 'config', status: 'failed' },
      'unreadable',
    ],
    [
      'a check whose program is not installed',
      (scratch) => change(scratch, { verification: { templates: [{ id: 'x', cmd: 'no-such-program', args: [] }] } }),
      { check: 'checks', status: 'failed' },
      'no-such-program',
    ],
    [
      'no check at all',
      (scratch) => change(scratch, { verification: { templates: [] } }),
      { check: 'checks', status: 'warning' },
      'only scope is judged',
    ],
    [
      'no goal',
      (scratch) => change(scratch, { project: { goal: '' } }),
      { check: 'goal', status: 'warning', remedy: expect.stringContaining('project.goal') },
      'what the project is for',
    ],
    [
      'bypassPermissions',
      (scratch) => change(scratch, { builder: { claude_code: { permission_mode: 'bypassPermissions' } } }),
      { check: 'permissions', status: process.getuid?.() === 0 ? 'failed' : 'warning' },
      'dangerous',
    ],
    [
      'a dirty work tree',
      ({ repo }) => writeFile(path.join(repo, 'stray.txt'), ''),
      { check: 'work tree', status: 'warning' },
      '1 path',
    ],
    [
      'a repository without a commit',
      (scratch) => git(['update-ref', '-d', 'HEAD'], scratch),
      { check: 'head', status: 'failed' },
      'no commit',
    ],
    [
      'a lock that is not JSON',
      ({ repo }) => writeFile(path.join(repo, 'relais/lock.json'), '{'),
      { check: 'lock', status: 'failed', remedy: expect.stringContaining('relais/lock.json') },
      'unreadable',
    ],
    [
      'a damaged state',
      ({ repo }) => writeFile(path.join(repo, 'relais/STATE.json'), '[]'),
      { check: 'state files', status: 'failed', remedy: 'Run relais recover.' },
      'relais/STATE.json',
    ],
    [
      'an agent program that is not installed',
      (scratch) => change(scratch, { ...CLAUDE, claude_code_cli: { command: 'no-such-agent' } }),
      { check: 'agent claude', status: 'failed' },
      'no-such-agent was not found',
    ],
  ])('says what is the matter with %s', async (_title, spoil, wanted, text) => {
    const scratch = await scripted(HONEST);
    await spoil(scratch);
    const end = await relais(['doctor', '--json'], at(scratch));
    const { ok, checks } = json(end) as { ok: boolean; checks: Line[] };
    expect(checks).toContainEqual(expect.objectContaining({ ...wanted, text: expect.stringContaining(text) }));
    for (const { check, status, remedy } of checks) {
      expect(['ok', 'warning', 'failed', 'unknown']).toContain(status);
      expect(typeof remedy, check).toBe(status === 'ok' ? 'undefined' : 'string');
    }
    const failed = checks.some(({ status }) => status === 'failed');
    expect([ok, end.code]).toEqual(failed ? [false, 3] : [true, 0]);
  });

  it.each<[string, { help: string; login: string }, string[]]>([
    ['is fine', { help: FLAGS, login: LOGGED_IN }, ['ok', 'ok', 'ok']],
    ['is too old', { help: FLAGS.replace('--tools', ''), login: LOGGED_IN }, ['ok', 'failed', 'ok']],
    ['is not logged in', { help: FLAGS, login: LOGGED_OUT }, ['ok', 'ok', 'failed']],
    ['can’t tell', { help: FLAGS, login: 'exit 3' }, ['ok', 'ok', 'unknown']],
  ])('asks the agent program about itself: it %s', async (_title, answers, statuses) => {
    const scratch = await scripted(HONEST, CLAUDE);
    const env = await fakeClaude(scratch, answers);
    const { checks } = json(await relais(['doctor', '--json'], { cwd: scratch.repo, env })) as { checks: Line[] };
    const agent = checks.filter(({ check }) => check.startsWith('agent claude'));
    expect(agent.map(({ check }) => check)).toEqual(['agent claude', 'agent claude flags', 'agent claude login']);
    expect(agent.map(({ status }) => status)).toEqual(statuses);
    expect(agent[0]?.text).toContain('2.1.0');
  });

  it('refuses a private folder that lies in the repository', async () => {
    const scratch = await scripted(HONEST);
    const env = { ...scratch.env, RELAIS_STATE_DIR: path.join(scratch.repo, 'state') };
    const end = await relais(['doctor', '--json'], { cwd: scratch.repo, env });
    expect(end.code).toBe(3);
    expect(json(end).checks).toContainEqual(
      expect.objectContaining({
        check: 'private folder',
        status: 'failed',
        remedy: expect.stringContaining('RELAIS_STATE_DIR'),
      }),
    );
  });

  it('works outside of a repository, too', async () => {
    const box = await sandbox();
    const end = await relais(['doctor', '--json'], { cwd: box.root, env: box.env });
    expect(end.code).toBe(3);
    expect(json(end).checks).toContainEqual(
      expect.objectContaining({ check: 'repository', status: 'failed', remedy: expect.stringContaining('git init') }),
    );
  });
});
