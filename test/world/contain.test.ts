import { spawn, spawnSync } from 'node:child_process';
import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HostIdentity } from '../../src/model.js';
import { containment, findProgram } from '../../src/world/process/contain.js';
import { identity } from '../../src/world/host.js';
import { run } from '../../src/world/process/spawn.js';
import { appears, escape, ESCAPES, expectQuiet, interruptAt, makeGround, processesOf, request } from './escapes.js';

const linux = process.platform === 'linux';
const namespaced = containment() === 'pidns';
const root = path.resolve(import.meta.dirname, '../..');
let dir: string;

beforeEach(async () => {
  dir = await makeGround();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true, force: true });
});

/** A runner of its own: takes a request, runs it, and prints how it ended, who it is and the most memory it had. */
async function bundleRunner(): Promise<string> {
  const outfile = path.join(dir, 'runner.mjs');
  const contents = `
    import { containment, run } from './src/world/process/spawn.js';
    import { identity } from './src/world/host.js';
    const { stdout, stderr, ...end } = await run(JSON.parse(process.argv[2]));
    console.log(JSON.stringify({ ...end, kept: stdout.length + stderr.length, level: containment(),
      me: await identity(), kib: process.resourceUsage().maxRSS }));`;
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  return outfile;
}

it.runIf(linux)('a namespace is used wherever one can be had', () => {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user'];
  const { status } = spawnSync('/usr/bin/unshare', [...user, '--pid', '--fork', '--mount-proc', 'true'], {
    stdio: 'ignore',
  });
  expect(containment()).toBe(status === 0 ? 'pidns' : 'group+marker');
});

describe.runIf(namespaced)('in a PID namespace', () => {
  it.each(ESCAPES)('%s is gone when the child is', async (_name, script) => {
    const end = await escape(dir, script);
    expect(end).toMatchObject({ how: 'exited', exitCode: 0 });
    expect(end.escapees.length).toBeGreaterThan(0);
    await expectQuiet(dir);
  });

  it.each(ESCAPES)('%s is gone when the child is stopped', async (_name, script) => {
    const child = request(dir, `trap '' TERM\n${script}\nwhile :; do sleep 0.02; done`, { stop: [['SIGTERM', 50]] });
    expect(await interruptAt(dir, 'out', child)).toMatchObject({ how: 'interrupted', exitCode: 137 });
    await expectQuiet(dir);
  });

  it('the program sees itself alone, in its folder, with its marker', async () => {
    const end = await run(
      request(dir, 'pwd; echo "$PPID"; echo "$RELAIS_MARK"; ls -d /proc/[0-9]* | wc -l; ls /proc/self/fd'),
    );
    const [pwd, ppid, mark, count, ...descriptors] = end.stdout.toString().trim().split('\n');
    expect([pwd, ppid]).toEqual([dir, '1']);
    expect(mark).toMatch(/\.[0-9a-f]{24}$/);
    expect(Number(count)).toBeLessThan(6);
    vi.stubEnv('RELAIS_CONTAINMENT', 'group');
    expect(descriptors.join('\n')).toBe((await run(request(dir, 'ls /proc/self/fd'))).stdout.toString().trim());
    expect(end.escapees).toEqual([]);
  });

  it('a runner that is killed takes everything with it', async () => {
    const runner = await bundleRunner();
    const [, script] = ESCAPES.find(([, , found]) => !found) ?? ['', ''];
    const wanted = JSON.stringify(request(dir, `${script}\nsleep 300`));
    const child = spawn(process.execPath, [runner, wanted], { stdio: 'ignore' });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    await appears(path.join(dir, 'out'));
    expect(processesOf(dir).length).toBeGreaterThan(1);
    child.kill('SIGKILL');
    await gone;
    for (let tries = 0; tries < 1000 && processesOf(dir).length > 0; tries += 1) await sleep(10);
    await expectQuiet(dir);
  });

  it('a runner inside has a namespace within, and is not taken for one outside', async () => {
    const runner = await bundleRunner();
    const [, script] = ESCAPES.find(([, , found]) => !found) ?? ['', ''];
    const wanted = JSON.stringify(request(dir, `${script}\nwhile [ ! -s out ]; do sleep 0.01; done`));
    const end = await run(request(dir, '', { program: process.execPath, args: [runner, wanted] }));
    const told = JSON.parse(end.stdout.toString()) as { how: string; level: string; me: HostIdentity };
    expect(told).toMatchObject({ how: 'exited', level: 'pidns' });
    const me = await identity();
    expect(told.me.boot_id).toBe(me.boot_id);
    expect(told.me.pid_namespace).not.toBe(me.pid_namespace);
    expect(Number(told.me.pid_start)).toBeGreaterThan(Number(me.pid_start));
    await expectQuiet(dir);
  });
});

describe.runIf(linux)('without a namespace', () => {
  beforeEach(() => {
    vi.stubEnv('RELAIS_CONTAINMENT', 'group');
  });

  it('says so', () => {
    expect(containment()).toBe('group+marker');
  });

  it.each(ESCAPES.filter(([, , found]) => found))('%s is found and ended', async (_name, script) => {
    const end = await escape(dir, script);
    expect(end.escapees.length).toBeGreaterThan(0);
    await expectQuiet(dir);
  });

  it.each(ESCAPES.filter(([, , found]) => !found))('%s is missed', async (_name, script) => {
    expect((await escape(dir, script)).escapees).toEqual([]);
    const missed = processesOf(dir);
    for (const pid of missed) process.kill(pid, 'SIGKILL');
    expect(missed).toHaveLength(1);
  });
});

describe.runIf(linux).each(['', 'group'])('how a program ends, RELAIS_CONTAINMENT="%s"', (level) => {
  beforeEach(() => {
    vi.stubEnv('RELAIS_CONTAINMENT', level);
  });

  it.each([
    ['exit 0', 'exited', 0],
    ['exit 7', 'exited', 7],
    ['exit 143', 'exited', 143],
    ['exit 255', 'exited', 255],
    ['kill -TERM $$', 'signalled', 143],
    ['kill -INT $$', 'signalled', 130],
    ['kill -KILL $$', 'signalled', 137],
    ['kill -ABRT $$', 'signalled', 134],
  ])('%s: %s %i, with nothing added to its output', async (script, how, exitCode) => {
    const end = await run(request(dir, script));
    expect(end).toMatchObject({ how, exitCode, escapees: [] });
    expect(`${end.stdout.toString()}${end.stderr.toString()}`).toBe('');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s reaches it and it may finish', async (signal) => {
    const script = `trap 'echo bye > bye; exit 3' ${signal.slice(3)}\ntouch ready\nwhile :; do sleep 0.02; done`;
    const child = request(dir, script, { stop: [[signal, 10_000]] });
    expect(await interruptAt(dir, 'ready', child)).toMatchObject({ how: 'interrupted', exitCode: 3 });
    expect(await readFile(path.join(dir, 'bye'), 'utf8')).toBe('bye\n');
  });

  it('what cannot be started is told from what ended badly', async () => {
    await writeFile(path.join(dir, 'closed'), '', { mode: 0o644 });
    for (const [program, error] of [
      ['./none', 'ENOENT'],
      ['no-such-program', 'ENOENT'],
      ['./closed', 'EACCES'],
      ['./.git', 'EACCES'],
    ] as const)
      expect(await run(request(dir, '', { program })), program).toMatchObject({
        how: 'not_started',
        exitCode: -1,
        error,
      });
  });

  it('arguments, input and a stdout file pass through unchanged', async () => {
    const args = ['-c', 'cat; printf "%s|" "$@"', 'zero', '', ' a  b ', '$HOME', '*', '--', "'", 'ä\n'];
    const stdoutFile = path.join(dir, 'file');
    const end = await run(request(dir, '', { args, stdin: Buffer.from([0, 255, 10]), stdoutFile }));
    const expected = Buffer.concat([Buffer.from([0, 255, 10]), Buffer.from(`${args.slice(3).join('|')}|`)]);
    expect(end.stdout).toEqual(expected);
    expect(await readFile(stdoutFile)).toEqual(expected);
  });
});

describe('finding a program', () => {
  it('follows the given PATH and folder like the system does', async () => {
    await writeFile(path.join(dir, 'tool'), '', { mode: 0o755 });
    await symlink('tool', path.join(dir, 'name'));
    const find = (program: string, PATH: string) => findProgram(request(dir, '', { program, env: { PATH } }));
    expect(find('tool', `/nowhere:${dir}`)).toEqual({ file: path.join(dir, 'tool') });
    expect(find('name', dir)).toEqual({ file: path.join(dir, 'name') });
    expect(find('tool', '/bin:')).toEqual({ file: path.join(dir, 'tool') });
    expect(find('./tool', '/bin')).toEqual({ file: path.join(dir, 'tool') });
    expect(find('tool', '/bin')).toEqual({ error: 'ENOENT' });
    expect(find('./tool/below', '/bin')).toEqual({ error: 'ENOTDIR' });
  });
});

describe.runIf(linux)('500 MB of output', () => {
  it('do not make the runner larger', async () => {
    const runner = await bundleRunner();
    const cap = 8_000_000;
    const stdoutFile = path.join(dir, 'file');
    const measure = async (script: string, extra = {}) => {
      const wanted = JSON.stringify(request(dir, script, { maxOutputBytes: cap, timeoutMs: 60_000, ...extra }));
      const { stdout } = await execa(process.execPath, [runner, wanted]);
      return JSON.parse(stdout) as { how: string; kept: number; kib: number };
    };
    const small = await measure('echo');
    for (const [script, extra, how] of [
      ['head -c 500000000 /dev/zero', {}, 'exited'],
      ['head -c 500000000 /dev/zero >&2', {}, 'exited'],
      ['cat /dev/zero', { stdoutFile }, 'output_cap'],
    ] as const) {
      const large = await measure(script, extra);
      expect(large).toMatchObject({ how, kept: cap });
      expect((large.kib - small.kib) / 1024, script).toBeLessThan(100);
    }
    expect((await stat(stdoutFile)).size).toBe(cap);
  });
});
