import { execFile } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fullScenario, readBase } from '../../src/rehearse/fixture.js';
import { makeScratch, type Scratch } from '../../src/rehearse/scratch.js';

const CLI = path.resolve(import.meta.dirname, '../../dist/cli.js');
const exec = promisify(execFile);

/** Preloaded into every node process: whoever reaches for the network leaves a line in the note and fails. */
const TRAP = `
import { appendFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
const require = createRequire(import.meta.url);
const trap = (name) => function () {
  appendFileSync(process.env.NETWORK_NOTE, name + ' ' + process.argv.slice(1, 3).join(' ') + '\\n');
  throw new Error('network access: ' + name);
};
const set = (where, label, names) => { for (const name of names) where[name] = trap(label + '.' + name); };
set(require('node:http'), 'http', ['request', 'get', 'createServer']);
set(require('node:https'), 'https', ['request', 'get', 'createServer']);
set(require('node:http2'), 'http2', ['connect', 'createServer', 'createSecureServer']);
set(require('node:net'), 'net', ['connect', 'createConnection', 'createServer']);
set(require('node:net').Socket.prototype, 'Socket', ['connect']);
set(require('node:net').Server.prototype, 'Server', ['listen']);
set(require('node:tls'), 'tls', ['connect', 'createServer']);
set(require('node:dgram'), 'dgram', ['createSocket']);
const dns = require('node:dns');
set(dns, 'dns', Object.keys(dns).filter((name) => /^(lookup|resolve|reverse)/.test(name)));
set(dns.promises, 'dns', Object.keys(dns.promises).filter((name) => /^(lookup|resolve|reverse)/.test(name)));
set(globalThis, 'global', ['fetch', 'WebSocket', 'EventSource']);
syncBuiltinESMExports();
appendFileSync(process.env.NETWORK_NOTE + '.loaded', process.argv.slice(1, 3).join(' ') + '\\n');
`;

let scratch: Scratch;

beforeEach(async () => {
  scratch = await makeScratch({
    config: await readBase('config.json'),
    scenario: await fullScenario({
      orchestrator: [{ task: {} }],
      builder: [{ do: [{ sh: "printf '// !\\n' >> src/greet.js" }], result: {} }],
    }),
  });
});

afterEach(() => scratch.dispose());

async function relais(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number; stdout: string }> {
  try {
    const { stdout } = await exec(process.execPath, [CLI, ...args], {
      cwd: scratch.repo,
      env: { ...scratch.env, ...env },
    });
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, stdout };
  }
}

function lines(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

describe('relais run', () => {
  function trapped(): { env: NodeJS.ProcessEnv; note: string } {
    const trap = path.join(scratch.root, 'trap.mjs');
    const note = path.join(scratch.root, 'network.note');
    writeFileSync(trap, TRAP);
    writeFileSync(note, '');
    return { env: { NODE_OPTIONS: `--import=${new URL(`file://${trap}`).href}`, NETWORK_NOTE: note }, note };
  }

  it('makes no network access of its own', async () => {
    const { env, note } = trapped();
    const end = await relais(['run', '--json'], env);
    expect(JSON.parse(end.stdout)).toMatchObject({ code: 'SUCCESS' });
    expect(lines(note)).toEqual([]);
    // The trap was set in the runner itself.
    expect(lines(`${note}.loaded`)).toContain(`${CLI} run`);
  });

  it('would be caught if it did', async () => {
    const { env, note } = trapped();
    const tries = [
      "import('node:net').then((net) => net.connect(9, '127.0.0.1'))",
      "import('node:dns').then((dns) => dns.promises.lookup('localhost'))",
      "import('node:https').then((https) => https.get('https://localhost'))",
      "fetch('http://localhost')",
    ];
    for (const code of tries)
      await expect(exec(process.execPath, ['-e', code], { env: { ...scratch.env, ...env } })).rejects.toThrow(
        'network access',
      );
    expect(lines(note)).toHaveLength(tries.length);
  });

  it('starts no git command that could reach a remote', async () => {
    const seen = path.join(scratch.root, 'git.log');
    const remote = ['fetch', 'pull', 'push', 'clone', 'ls-remote', 'remote-https', 'submodule', 'fetch-pack', 'lfs'];
    const remoteUrl = 'https://relais.invalid/x.git';
    await exec('git', ['remote', 'add', 'origin', remoteUrl], { cwd: scratch.repo, env: scratch.env });
    const bin = path.join(scratch.root, 'bin');
    const real = (await exec('/bin/sh', ['-c', 'command -v git'])).stdout.trim();
    await exec('mkdir', [bin]);
    writeFileSync(path.join(bin, 'git'), `#!/bin/sh\nprintf '%s\\n' "$*" >> '${seen}'\nexec '${real}' "$@"\n`, {
      mode: 0o755,
    });
    const end = await relais(['run', '--json'], { PATH: `${bin}:${scratch.env['PATH']}` });
    expect(JSON.parse(end.stdout)).toMatchObject({ code: 'SUCCESS' });
    const words = new Set(lines(seen).flatMap((line) => line.split(' ')));
    expect(words).toContain('update-ref');
    expect(remote.filter((word) => words.has(word))).toEqual([]);
  });
});

/** Everything below a folder with times in ns, so that even a file written with the same bytes shows. */
function record(root: string): Map<string, string> {
  const seen = new Map<string, string>();
  const enter = (name: string): void => {
    const file = path.join(root, name);
    const stats = lstatSync(file, { bigint: true });
    const link = stats.isSymbolicLink() ? readlinkSync(file) : '';
    const bytes = stats.isFile() ? readFileSync(file, 'latin1') : '';
    seen.set(
      name,
      [stats.mode, stats.ino, stats.nlink, stats.size, stats.mtimeNs, stats.ctimeNs, link, bytes].join(' '),
    );
    if (stats.isDirectory()) for (const child of readdirSync(file).toSorted()) enter(path.join(name, child));
  };
  enter('.');
  return seen;
}

function changed(before: ReadonlyMap<string, string>): string[] {
  const after = record(scratch.root);
  return [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
}

describe('relais status', () => {
  const states: [title: string, prepare: () => Promise<unknown>, exitCode: number][] = [
    ['a clean repository', async () => undefined, 0],
    // A file with a new time makes git want to refresh its index.
    ['a file with a new time', () => exec('touch', ['src/greet.js'], { cwd: scratch.repo }), 0],
    [
      'a dirty work tree',
      () => exec('/bin/sh', ['-c', 'echo x >> src/greet.js; echo y > new'], { cwd: scratch.repo }),
      3,
    ],
    ['a repository after a tick', () => relais(['run']), 0],
    ['a stale temporary file', async () => writeFileSync(path.join(scratch.repo, 'relais', 'STATE.json.tmp'), '{'), 0],
    ['a missing config', () => exec('rm', ['relais.config.json'], { cwd: scratch.repo }), 3],
  ];

  it.each(states)('writes nothing: %s', async (_title, prepare, exitCode) => {
    await prepare();
    const codes: number[] = [];
    for (const args of [['status'], ['status', '--preflight'], ['status', '--preflight', '--json']]) {
      const before = record(scratch.root);
      codes.push((await relais(args)).code);
      expect(changed(before), args.join(' ')).toEqual([]);
    }
    expect(codes.slice(1)).toEqual([exitCode, exitCode]);
  });
});
