import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/rehearse/overlay.js';
import { fullScenario, readBase } from '../../src/rehearse/fixture.js';
import { makeScratch, type Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { checkMeta, checkReport } from '../../src/schemas.js';
import { git, HONEST, json, relais, sandbox, scripted, start } from './relais.js';

const at = ({ repo, env }: Scratch): { cwd: string; env: NodeJS.ProcessEnv } => ({ cwd: repo, env });
const REFS = ['for-each-ref', '--format=%(refname)', 'refs/relais/rejected'];

/** A repository in which a tick was stopped after its Hands did this. */
async function stopped(
  steps: JsonObject[],
  more: { task?: JsonObject; config?: JsonObject; before?: (scratch: Scratch) => Promise<void> } = {},
): Promise<Scratch & { readonly id: string; readonly code: string }> {
  const scenario = { orchestrator: [{ task: more.task ?? {} }], builder: [{ do: steps, result: {} }] };
  const scratch = await scripted(scenario, more.config);
  await more.before?.(scratch);
  const end = await relais(['run', '--json'], at(scratch));
  expect(end.code).toBe(2);
  const { run_id: id, code } = json(end);
  return { ...scratch, id, code };
}

async function read(folder: string, name: string): Promise<any> {
  return JSON.parse(await readFile(path.join(folder, name), 'utf8'));
}

async function commit(scratch: Scratch, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(scratch.repo, name)), { recursive: true });
    await writeFile(path.join(scratch.repo, name), text);
  }
  await git(['add', '-A'], scratch);
  await git(['commit', '-qm', 'mine'], scratch);
}

const NEW_FILE = [
  { write: 'src/new.js', text: 'export const added = 1;\n' },
  { append: 'src/greet.js', text: '// more\n' },
] as JsonObject[];

describe('relais salvage', () => {
  it('commits refused work once the flag allows it, with no agent call, all reports and the trailer', async () => {
    const scratch = await stopped(NEW_FILE);
    expect(scratch.code).toBe('STOP_SCOPE_VIOLATION_NEW_FILE');
    const ref = `refs/relais/rejected/${scratch.id}`;
    const tree = await git(['rev-parse', `${ref}^{tree}`], scratch);
    const before = await read(scratch.repo, 'relais/STATE.json');
    const end = await relais(['salvage', scratch.id, '--allow-new-files', '--json'], at(scratch));
    expect(end.code).toBe(0);
    const told = json(end);
    expect(told).toMatchObject({ verdict: 'success', code: 'SUCCESS', rejected_ref: null });
    expect(await git(['rev-parse', 'HEAD^{tree}'], scratch)).toBe(tree);
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
    const message = await git(['log', '-1', '--format=%B'], scratch);
    expect(message).toContain(`Relais-Run: ${told.run_id}`);
    expect(message).toContain(`Relais-Salvaged: ${scratch.id}`);
    expect(await git(REFS, scratch)).toBe('');

    const report = await read(scratch.repo, 'relais/REPORT.json');
    expect(checkReport(report).ok).toBe(true);
    expect(report.verification.runs.map((run: any) => run.template_id)).toEqual(['lint', 'test']);
    expect(report.budgets.warnings.join('\n')).toContain('--allow-new-files');
    const meta = await read(scratch.repo, `relais/history/${told.run_id}/meta.json`);
    expect(checkMeta(meta).ok).toBe(true);
    expect(meta).toMatchObject({ salvaged_run_id: scratch.id, calls: [], judged_tree: tree });
    const [was, is] = [before.milestones[0], (await read(scratch.repo, 'relais/STATE.json')).milestones[0]];
    expect(is).toEqual({ ...was, verify_runs: was.verify_runs + 2 });
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });

  it('is stopped again by the same Judge without flags, and everything is as before', async () => {
    const scratch = await stopped(NEW_FILE);
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['salvage', 'last', '--json'], at(scratch));
    expect(end.code).toBe(2);
    expect(json(end).code).toBe('STOP_SCOPE_VIOLATION_NEW_FILE');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    const refs = (await git(REFS, scratch)).split('\n');
    expect(refs).toContain(`refs/relais/rejected/${scratch.id}`);
    expect(refs).toContain(`refs/relais/rejected/${json(end).run_id}`);
    // The salvage that was stopped can be salvaged itself.
    expect((await relais(['salvage', json(end).run_id, '--allow-new-files'], at(scratch))).code).toBe(0);
  });

  it('takes odd names, links, modes and deletions over exactly', async () => {
    const odd = 'odd "name\'\t$(x) é\nline.js';
    const scratch = await stopped(
      [
        { write: `src/${odd}`, text: 'x\n' },
        { sh: "printf 'y\\n' > 'src/-dash'; printf 'z\\n' > \"src/$(printf 'bad\\377')\"" },
        { sh: 'ln -s ../../outside src/link; ln -s greet.js src/inside; chmod 755 src/greet.js; rm src/sum.js' },
        { sh: 'mkdir -p src/deep/er && printf bin\\\\000ary > src/deep/er/run && chmod 700 src/deep/er/run' },
      ] as JsonObject[],
      { before: ({ repo }) => chmod(path.join(repo, 'src/greet.js'), 0o600) },
    );
    const tree = await git(['rev-parse', `refs/relais/rejected/${scratch.id}^{tree}`], scratch);
    const end = await relais(['salvage', 'last', '--allow-new-files', '--max-files', '20'], at(scratch));
    expect(end.stderr + end.stdout).toContain('SUCCESS');
    expect(await git(['rev-parse', 'HEAD^{tree}'], scratch)).toBe(tree);
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
    const inRepo = (name: string): string => path.join(scratch.repo, name);
    expect(await readFile(inRepo(`src/${odd}`), 'utf8')).toBe('x\n');
    expect(await readlink(inRepo('src/link'))).toBe('../../outside');
    expect(existsSync(inRepo('src/sum.js'))).toBe(false);
    // A file keeps what git does not know of its mode; only being executable follows the tree.
    expect((await lstat(inRepo('src/greet.js'))).mode & 0o777).toBe(0o700);
    expect((await lstat(inRepo('src/deep/er/run'))).mode & 0o100).toBe(0o100);
  });

  it('works from a subfolder by the beginning of the id, and in a linked work tree', async () => {
    const scratch = await stopped(NEW_FILE);
    const tree = path.join(scratch.root, 'second');
    await git(['worktree', 'add', '-q', '-b', 'second', tree], scratch);
    const flags = [scratch.id.slice(0, -3), '--allow-new-files', '--quiet'];
    const end = await relais(['salvage', ...flags], { cwd: path.join(tree, 'src'), env: scratch.env });
    expect(end.code).toBe(0);
    expect(end.stderr).toBe('');
    expect(await git(['rev-list', '--count', 'main..second'], scratch)).toBe('1');
    expect(await git(['status', '--porcelain', '-uall'], { repo: tree, env: scratch.env })).toBe('');
  });

  it('works on a detached HEAD and folds the builder’s own commits as a tick does', async () => {
    const scratch = await stopped(
      [...NEW_FILE, { sh: 'git add -A && git -c user.name=B -c user.email=b@b commit -qm own' }] as JsonObject[],
      { before: async (made) => void (await git(['checkout', '-q', '--detach'], made)) },
    );
    const own = await git(['rev-parse', `refs/relais/rejected/${scratch.id}^2`], scratch);
    const base = await git(['rev-parse', 'HEAD'], scratch);
    const end = await relais(['salvage', 'last', '--allow-new-files', '--json'], at(scratch));
    expect(end.code).toBe(0);
    expect(await git(['rev-parse', 'HEAD^'], scratch)).toBe(base);
    expect(await git(['rev-parse', `refs/relais/rejected/${json(end).run_id}`], scratch)).toBe(own);
    expect(await git(['rev-parse', 'main'], scratch)).toBe(base);
    expect((await relais(['salvage', 'last'], at(scratch))).code).toBe(3);
  });
});

describe('relais salvage and the scope', () => {
  it('--allow opens a path, and lifts what only the task forbids when that very glob is given', async () => {
    const scratch = await stopped([{ append: 'docs/guide.md', text: 'more\n' }] as JsonObject[], {
      task: { scope: { forbidden_globs: ['docs/**'] } },
    });
    expect(scratch.code).toBe('STOP_SCOPE_VIOLATION_FORBIDDEN');
    const narrow = json(await relais(['salvage', scratch.id, '--allow', 'docs/guide.md', '--json'], at(scratch)));
    expect(narrow.code).toBe('STOP_SCOPE_VIOLATION_FORBIDDEN');
    expect((await relais(['salvage', scratch.id, '--allow', 'docs/**'], at(scratch))).code).toBe(0);
  });

  it('never lifts what the config forbids, nor its fence and ceilings', async () => {
    const scratch = await stopped([{ append: 'docs/guide.md', text: 'more\n' }] as JsonObject[]);
    expect(scratch.code).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    const file = path.join(scratch.repo, 'relais.config.json');
    const config = await read(scratch.repo, 'relais.config.json');
    const tried = async (scope: object): Promise<string> => {
      await writeFile(file, JSON.stringify({ ...config, scope: { ...config.scope, ...scope } }));
      return json(
        await relais(['salvage', scratch.id, '--allow', 'docs/**', '--max-lines', '9', '--json'], at(scratch)),
      ).code;
    };
    expect(await tried({ default_forbidden_globs: ['docs/**'] })).toBe('STOP_SCOPE_VIOLATION_FORBIDDEN');
    expect(await tried({ fence_globs: ['src/**'] })).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    expect(await tried({ ceilings: { max_files_touched: 1 } })).toBe('SUCCESS');
  });

  it('--max-lines, --max-files and --allow-lockfile do what they say', async () => {
    const lines = Array.from({ length: 60 }, (_, n) => `// ${n}`).join('\n');
    const scratch = await stopped([
      { append: 'src/greet.js', text: `${lines}\n` },
      { write: 'src/package-lock.json', text: '{}\n' },
    ] as JsonObject[]);
    const code = async (...flags: string[]): Promise<string> =>
      json(await relais(['salvage', scratch.id, '--json', ...flags], at(scratch))).code;
    const files = ['--allow-new-files'];
    expect(await code(...files)).toBe('STOP_LOCKFILE_CHANGE_FORBIDDEN');
    expect(await code(...files, '--allow-lockfile')).toBe('STOP_DIFF_TOO_LARGE');
    expect(await code(...files, '--allow-lockfile', '--max-lines', '100', '--max-files', '1')).toBe(
      'STOP_DIFF_TOO_LARGE',
    );
    expect(await code(...files, '--allow-lockfile', '--max-lines', '100')).toBe('SUCCESS');
  });

  it('judges a task that was to change nothing as an ordinary one only with --allow', async () => {
    const scratch = await stopped([{ append: 'src/greet.js', text: '// x\n' }] as JsonObject[], {
      task: { task_kind: 'verify_only' },
    });
    expect(scratch.code).toBe('STOP_VERIFY_ONLY_SIDE_EFFECTS');
    const plain = json(await relais(['salvage', scratch.id, '--json'], at(scratch)));
    expect(plain.code).toBe('STOP_VERIFY_ONLY_SIDE_EFFECTS');
    expect((await relais(['salvage', scratch.id, '--allow', 'src/**'], at(scratch))).code).toBe(0);
  });

  it('runs the checks, and a failing one stops it', async () => {
    const scratch = await stopped([{ append: 'src/greet.js', text: '// x\n' }] as JsonObject[], {
      task: { verification: { fast: ['fail'], slow: [] } },
    });
    expect(scratch.code).toBe('STOP_VERIFY_FAILED_FAST');
    const before = await snapshot(scratch.repo, scratch.env);
    expect(json(await relais(['salvage', 'last', '--json'], at(scratch))).code).toBe('STOP_VERIFY_FAILED_FAST');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
  });

  it('says what no git tree holds, and never brings it back', async () => {
    const scratch = await stopped([
      { append: 'src/greet.js', text: '// x\n' },
      { write: 'src/.env', text: 'TOKEN=1\n' },
    ] as JsonObject[]);
    const end = await relais(['salvage', 'last'], at(scratch));
    expect(end.code).toBe(0);
    expect(end.stdout).toMatch(/not salvaged, no git tree holds it: src\/\.env/);
    expect(existsSync(path.join(scratch.repo, 'src/.env'))).toBe(false);
  });
});

describe('relais salvage after HEAD has moved', () => {
  it('carries the work over to it', async () => {
    const scratch = await stopped(NEW_FILE);
    await commit(scratch, { 'docs/guide.md': 'mine\n', 'src/sum.js': 'export const sum = (a, b) => b + a;\n' });
    const mine = await git(['rev-parse', 'HEAD'], scratch);
    const end = await relais(['salvage', 'last', '--allow-new-files'], at(scratch));
    expect(end.code).toBe(0);
    expect(await git(['rev-parse', 'HEAD^'], scratch)).toBe(mine);
    expect(await git(['diff', '--name-only', 'HEAD^', 'HEAD'], scratch)).toBe('src/greet.js\nsrc/new.js');
    expect(await git(['show', 'HEAD:docs/guide.md'], scratch)).toBe('mine');
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('does so in a repository with sha256, too', async () => {
    const scratch = await makeScratch({
      config: await readBase('config.json'),
      scenario: await fullScenario({ orchestrator: [{ task: {} }], builder: [{ do: NEW_FILE, result: {} }] }),
      env: { GIT_DEFAULT_HASH: 'sha256' },
    });
    try {
      expect((await relais(['run'], at(scratch))).code).toBe(2);
      await commit(scratch, { 'docs/guide.md': 'mine\n' });
      expect((await relais(['salvage', 'last', '--allow-new-files'], at(scratch))).code).toBe(0);
      expect(await git(['rev-parse', 'HEAD'], scratch)).toHaveLength(64);
      expect(await git(['diff', '--name-only', 'HEAD^', 'HEAD'], scratch)).toBe('src/greet.js\nsrc/new.js');
    } finally {
      await scratch.dispose();
    }
  });

  it('refuses a conflict, names the path and changes nothing', async () => {
    const scratch = await stopped(NEW_FILE);
    await commit(scratch, { 'src/greet.js': 'export const other = 1;\n' });
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['salvage', 'last', '--allow-new-files', '--json'], at(scratch));
    expect(end.code).toBe(3);
    expect(json(end)).toMatchObject({ ok: false, why: expect.stringContaining('src/greet.js') });
    expect(json(end).why).not.toContain('src/new.js');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    expect(await git(REFS, scratch)).toBe(`refs/relais/rejected/${scratch.id}`);
  });

  it('takes only the refused step over, not what lay between another branch and its base', async () => {
    const scratch = await stopped(NEW_FILE, {
      before: async (made) => {
        await git(['checkout', '-q', '-b', 'side'], made);
        await commit(made, { 'docs/side.md': 'side\n' });
      },
    });
    await git(['checkout', '-q', 'main'], scratch);
    expect((await relais(['salvage', 'last', '--allow-new-files'], at(scratch))).code).toBe(0);
    expect(await git(['diff', '--name-only', 'HEAD^', 'HEAD'], scratch)).toBe('src/greet.js\nsrc/new.js');
  });

  it('asks for a newer git where this one can’t merge trees', async () => {
    const scratch = await stopped(NEW_FILE);
    await commit(scratch, { 'docs/guide.md': 'mine\n' });
    const bin = path.join(scratch.root, 'bin');
    await mkdir(bin);
    const real = (await git(['--exec-path'], scratch)).trim();
    const shim = `#!/bin/sh\n[ "$1" = version ] && { echo 'git version 2.34.1'; exit 0; }\nexec '${real}/git' "$@"\n`;
    await writeFile(path.join(bin, 'git'), shim, { mode: 0o755 });
    const env = { ...scratch.env, PATH: `${bin}:${scratch.env['PATH']}` };
    const end = await relais(['salvage', 'last', '--allow-new-files'], { cwd: scratch.repo, env });
    expect(end.code).toBe(3);
    expect(end.stderr).toMatch(/2\.34\.1[\s\S]*remedy: .*2\.38/);
  });

  it('says so when HEAD has everything already', async () => {
    const scratch = await stopped(NEW_FILE);
    await git(['checkout', `refs/relais/rejected/${scratch.id}`, '--', '.'], scratch);
    await git(['commit', '-qm', 'by hand'], scratch);
    const end = await relais(['salvage', 'last'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('already');
  });
});

describe('relais salvage writes over nothing', () => {
  it.each([
    ['a file git ignores', 'src/new.js', undefined],
    ['a folder with a file in it', 'src/new.js/kept', undefined],
    ['a link', 'src/new.js', '../../outside'],
  ])('refuses when %s is where a new file has to go', async (_what, name, target) => {
    const scratch = await stopped(NEW_FILE);
    const file = path.join(scratch.repo, name);
    await writeFile(path.join(scratch.repo, '.git/info/exclude'), '/src/new.js\n');
    await mkdir(path.dirname(file), { recursive: true });
    await (target === undefined ? writeFile(file, 'precious\n') : symlink(target, file));
    const before = await snapshot(scratch.repo, scratch.env);
    const end = await relais(['salvage', 'last', '--allow-new-files'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('src/new.js');
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
  });

  it('refuses a tree with names that lead out, into .git or to the runner’s files', async () => {
    const scratch = await scripted(HONEST);
    const blob = await git(['hash-object', '-w', 'package.json'], scratch);
    for (const [name, inside] of [
      ['..', 'out'],
      ['.git', 'hooks'],
      ['relais', 'FACTS.md'],
    ] as const) {
      const make = async (listing: string): Promise<string> => {
        const file = path.join(scratch.root, 'listing');
        await writeFile(file, listing);
        return git(['-c', `alias.mk=!git mktree <'${file}'`, 'mk'], scratch);
      };
      const inner = await make(`100644 blob ${blob}\t${inside}\n`);
      const tree = await make(`040000 tree ${inner}\t${name}\n`);
      const id = '20260101T000000Z-00000000';
      const message = `relais: rejected work of ${id}\n\nSTOP_INTERRUPTED\n`;
      const forged = await git(['commit-tree', '-p', 'HEAD', '-m', message, tree], scratch);
      await git(['update-ref', `refs/relais/rejected/${id}`, forged], scratch);
      const before = await snapshot(scratch.repo, scratch.env);
      const end = await relais(['salvage', id, '--allow', '**', '--allow-new-files', '--max-files', '99'], at(scratch));
      expect(end.code).toBe(3);
      expect(end.stderr).toContain(`${name}/${inside}`);
      expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
      expect(existsSync(path.join(scratch.root, 'out'))).toBe(false);
    }
  });
});

describe('relais salvage and its surroundings', () => {
  it('goes on without an agent program, with a pending question and with the money spent', async () => {
    const scratch = await stopped(NEW_FILE);
    const config = await read(scratch.repo, 'relais.config.json');
    config.orchestrator.agent = 'claude';
    config.claude_code_cli.command = 'no-such-program';
    config.budgets.per_milestone.max_ticks = 1;
    await writeFile(path.join(scratch.repo, 'relais.config.json'), JSON.stringify(config));
    const state = await read(scratch.repo, 'relais/STATE.json');
    const asked = {
      task_id: 'T0',
      milestone_id: 'M1',
      prompt: 'Which?',
      choices: [],
      asked_at: '2026-01-01T00:00:00Z',
    };
    state.pending_question = { run_id: scratch.id, ...asked };
    await writeFile(path.join(scratch.repo, 'relais/STATE.json'), JSON.stringify(state));
    const end = await relais(['salvage', 'last', '--allow-new-files'], at(scratch));
    expect(end.code).toBe(0);
    expect((await read(scratch.repo, 'relais/STATE.json')).pending_question.prompt).toBe('Which?');
  });

  it('is blocked, with a report, by a dirty work tree and by verify runs that are used up', async () => {
    const scratch = await stopped(NEW_FILE);
    await writeFile(path.join(scratch.repo, 'docs/guide.md'), 'mine\n');
    const dirty = json(await relais(['salvage', 'last', '--json'], at(scratch)));
    expect(dirty).toMatchObject({ code: 'BLOCKED_DIRTY_WORKTREE', exit_code: 3 });
    expect(await readFile(path.join(scratch.repo, 'docs/guide.md'), 'utf8')).toBe('mine\n');
    await git(['checkout', '-q', 'docs/guide.md'], scratch);
    const config = await read(scratch.repo, 'relais.config.json');
    config.budgets.per_milestone.max_verify_runs = 3;
    await writeFile(path.join(scratch.repo, 'relais.config.json'), JSON.stringify(config));
    const short = json(await relais(['salvage', 'last', '--json'], at(scratch)));
    expect(short).toMatchObject({
      code: 'BLOCKED_BUDGET_EXHAUSTED',
      evidence: [expect.stringContaining('verify_runs')],
    });
  });

  it('runs once when started twice at once', async () => {
    const scratch = await stopped(NEW_FILE);
    const both = await Promise.all(
      [1, 2].map(() => relais(['salvage', scratch.id, '--allow-new-files', '--json'], at(scratch))),
    );
    expect(both.filter(({ code }) => code === 0)).toHaveLength(1);
    expect(await git(['rev-list', '--count', 'HEAD'], scratch)).toBe('2');
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('killed in its middle, is undone by recover and can be salvaged again', async () => {
    const scratch = await stopped(NEW_FILE, {
      task: { verification: { fast: ['hang'], slow: [] } },
      config: { verification: { timeout_fast_seconds: 60 } },
    });
    const before = await snapshot(scratch.repo, scratch.env);
    const child = start(['salvage', 'last', '--allow-new-files'], at(scratch));
    while (!existsSync(scratch.checkLog)) await wait(20);
    expect(existsSync(path.join(scratch.repo, 'src/new.js'))).toBe(true);
    child.kill('SIGKILL');
    await child;
    expect(json(await relais(['salvage', 'last', '--json'], at(scratch))).code).toBe('BLOCKED_CRASH_RECOVERY_REQUIRED');
    expect((await relais(['recover'], at(scratch))).code).toBe(0);
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    const again = await relais(['salvage', scratch.id, '--json'], at(scratch));
    expect(json(again).code).toBe('STOP_SCOPE_VIOLATION_NEW_FILE');
  });

  it('is rolled back by SIGINT, with a report', async () => {
    const scratch = await stopped(NEW_FILE, {
      task: { verification: { fast: ['hang'], slow: [] } },
      config: { verification: { timeout_fast_seconds: 60 } },
    });
    const before = await snapshot(scratch.repo, scratch.env);
    const child = start(['salvage', 'last', '--allow-new-files'], at(scratch));
    while (!existsSync(scratch.checkLog)) await wait(20);
    child.kill('SIGINT');
    expect((await child).exitCode).toBe(130);
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
    expect((await read(scratch.repo, 'relais/REPORT.json')).code).toBe('STOP_INTERRUPTED');
  });

  it('needs --allow where no task is recorded, and then runs every plain check', async () => {
    const scratch = await stopped(NEW_FILE, {
      config: { verification: { templates: [{ id: 'lint', cmd: 'node', args: ['checks/check.js', 'pass'] }] } },
      task: { verification: { fast: ['lint'], slow: [] } },
    });
    await rm(path.join(scratch.repo, 'relais/history', scratch.id), { recursive: true });
    await rm(path.join(scratch.repo, 'relais/TASK.json'));
    const bare = await relais(['salvage', 'last', '--allow-new-files'], at(scratch));
    expect(bare.code).toBe(3);
    expect(bare.stderr).toMatch(/no task is recorded[\s\S]*remedy: .*--allow/);
    const end = json(
      await relais(['salvage', 'last', '--allow-new-files', '--allow', 'src/**', '--json'], at(scratch)),
    );
    expect(end.code).toBe('SUCCESS');
    expect(end.report.verification.runs.map((run: any) => run.template_id)).toEqual(['lint']);
  });

  it('keeps the ref where the change is not committed', async () => {
    const scratch = await stopped(NEW_FILE, { config: { runner: { commit_on_success: false } } });
    expect((await relais(['salvage', 'last', '--allow-new-files'], at(scratch))).code).toBe(0);
    expect(await git(REFS, scratch)).toBe(`refs/relais/rejected/${scratch.id}`);
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toContain('src/new.js');
  });

  it('gives a CRLF repository its line ends back', async () => {
    const scratch = await stopped([{ sh: "printf 'a\\r\\nb\\r\\n' > src/new.txt" }] as JsonObject[], {
      before: (made) => commit(made, { '.gitattributes': '*.txt text eol=crlf\n' }),
    });
    expect((await relais(['salvage', 'last', '--allow-new-files'], at(scratch))).code).toBe(0);
    expect(await readFile(path.join(scratch.repo, 'src/new.txt'), 'utf8')).toBe('a\r\nb\r\n');
    expect(await git(['cat-file', '-s', 'HEAD:src/new.txt'], scratch)).toBe('4');
    expect(await git(['status', '--porcelain', '-uall'], scratch)).toBe('');
  });

  it('takes over the task of a tick that was killed', async () => {
    const scratch = await scripted({
      orchestrator: [{ task: {} }],
      builder: [{ do: [...NEW_FILE, { sleep_ms: 60_000 }], result: {} }],
    });
    const child = start(['run'], at(scratch));
    while (!(await readFile(path.join(scratch.repo, 'src/greet.js'), 'utf8')).includes('// more')) await wait(20);
    child.kill('SIGKILL');
    await child;
    expect((await relais(['recover'], at(scratch))).code).toBe(0);
    const end = await relais(['salvage', 'last', '--json'], at(scratch));
    expect(json(end)).toMatchObject({ code: 'STOP_SCOPE_VIOLATION_NEW_FILE', report: { task: { task_id: 'T1' } } });
    expect((await relais(['salvage', 'last', '--allow-new-files'], at(scratch))).code).toBe(0);
    expect(await git(['diff', '--name-only', 'HEAD^', 'HEAD'], scratch)).toBe('src/greet.js\nsrc/new.js');
  });

  it('does not let a changed .gitattributes decide how the other files are converted', async () => {
    const scratch = await stopped([
      { write: '.gitattributes', text: '*.txt text eol=crlf\n' },
      { sh: "printf 'a\\r\\nb\\n' > src/new.txt" },
    ] as JsonObject[]);
    const tree = await git(['rev-parse', `refs/relais/rejected/${scratch.id}^{tree}`], scratch);
    const flags = ['--allow-new-files', '--allow', '.gitattributes'];
    expect((await relais(['salvage', 'last', ...flags], at(scratch))).code).toBe(0);
    expect(await git(['rev-parse', 'HEAD^{tree}'], scratch)).toBe(tree);
    expect(await readFile(path.join(scratch.repo, 'src/new.txt'), 'utf8')).toBe('a\r\nb\n');
  });

  it('refuses to write over a file whose edits git was told to overlook', async () => {
    const scratch = await stopped(NEW_FILE);
    await git(['update-index', '--skip-worktree', 'src/greet.js'], scratch);
    await writeFile(path.join(scratch.repo, 'src/greet.js'), 'my own\n');
    const end = await relais(['salvage', 'last', '--allow-new-files'], at(scratch));
    expect(end.code).toBe(3);
    expect(end.stderr).toContain('skip-worktree');
    expect(await readFile(path.join(scratch.repo, 'src/greet.js'), 'utf8')).toBe('my own\n');
  });

  it('ends with 64 for a run that is not there or not clear, and for bad flags', async () => {
    const scratch = await stopped(NEW_FILE);
    await relais(['salvage', 'last'], at(scratch));
    const before = await snapshot(scratch.repo, scratch.env);
    for (const args of [
      [],
      ['nothing-like-it'],
      [''],
      ['2'],
      ['last', '--allow', '../x'],
      ['last', '--max-lines', '0'],
      ['last', '--max-files', 'many'],
      ['last', 'more'],
      ['last', '--what'],
    ]) {
      const end = await relais(['salvage', ...args], at(scratch));
      expect(end.code, args.join(' ')).toBe(64);
      expect(end.stderr).not.toBe('');
    }
    expect(differences(before, await snapshot(scratch.repo, scratch.env))).toEqual([]);
  });

  it('refuses outside of a repository, without a config and where nothing is kept', async () => {
    const box = await sandbox();
    const outside = await relais(['salvage', 'last', '--json'], { cwd: box.root, env: box.env });
    expect(outside.code).toBe(3);
    expect(json(outside).code).toBe('BLOCKED_MISSING_CONFIG');
    const scratch = await scripted(HONEST);
    const none = await relais(['salvage', 'last', '--json'], at(scratch));
    expect(none.code).toBe(3);
    expect(json(none)).toMatchObject({ ok: false, remedy: expect.stringContaining('relais rejected') });
  });
});
