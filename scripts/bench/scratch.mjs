import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { timed } from './timing.mjs';

const LOOSE_IGNORED = 300;
/** Times younger than this prove nothing, neither to git nor to Relais: a fresh repository is no everyday one. */
const SETTLING_MS = 2200;

/** A copy of what the package ships, so that a build in between cannot change what is measured. */
export function copyPackage(root, to) {
  for (const name of ['package.json', 'dist', 'schemas', 'prompts'])
    cpSync(path.join(root, name), path.join(to, name), { recursive: true });
  symlinkSync(path.join(root, 'node_modules'), path.join(to, 'node_modules'));
  return path.join(to, 'dist', 'cli.js');
}

/** Nothing of the user's: own home, own state folder, no system or global git settings. */
export function benchEnv(folder) {
  for (const name of ['home', 'state', 'tmp']) mkdirSync(path.join(folder, name), { recursive: true });
  return {
    PATH: [path.dirname(process.execPath), process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin'].join(path.delimiter),
    HOME: path.join(folder, 'home'),
    TMPDIR: path.join(folder, 'tmp'),
    RELAIS_STATE_DIR: path.join(folder, 'state'),
    RELAIS_BENCH_DIR: folder,
    RELAIS_SCENARIO: path.join(folder, 'scenario.json'),
    GIT_CONFIG_NOSYSTEM: '1',
    LC_ALL: 'C',
    TZ: 'UTC',
  };
}

/** The path of the n-th tracked file: 50 to a folder, most of them source. */
export function trackedPath(n) {
  const top = n % 50 === 48 ? 'docs' : n % 50 === 49 ? 'tests' : 'src';
  return `${top}/part${Math.floor(n / 1000)}/group${Math.floor(n / 50) % 20}/file${n}.js`;
}

/** Text of a size that small source files have; the same for the same number. */
function content(n) {
  const size = 150 + Math.floor(3000 * ((n * 0.618_033_988_7) % 1) ** 2);
  const line = `export const value${n} = ${n} + other.lookup('${n * 7}'); // the ${n}th of many lines\n`;
  return line.repeat(Math.ceil(size / line.length)).slice(0, size - 1) + '\n';
}

/** Makes a repository with this many tracked files, ignored ones beside them, and a Relais workspace. */
export async function makeRepository(folder, { files, cli, agent, sample, env, signal }) {
  const repo = path.join(folder, 'repository');
  mkdirSync(repo);
  const run = (...argv) => timed(argv, { cwd: repo, env, signal });
  await run('git', 'init', '--quiet', '--initial-branch=main');
  for (const [key, value] of [
    ['user.name', 'Ada Example'],
    ['user.email', 'ada@example.com'],
    // A repack in the middle of a measurement would be noise.
    ['gc.auto', '0'],
  ])
    await run('git', 'config', key, value);
  await importFiles(repo, files, { env, signal });
  await run('git', 'reset', '--quiet', '--hard');
  writeIgnored(repo, files);
  await run(process.execPath, cli, 'init', '--yes');
  writeFileSync(path.join(repo, 'relais.config.json'), JSON.stringify(config(sample, agent, folder), null, 2));
  await wait(SETTLING_MS, undefined, { signal });
  await run('git', 'add', '-A');
  await run('git', 'commit', '--quiet', '-m', 'Start');
  return repo;
}

function importFiles(repo, files, { env, signal }) {
  return new Promise((resolve, reject) => {
    const child = spawn('git', ['fast-import', '--quiet'], {
      cwd: repo,
      env,
      signal,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.on('error', reject);
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`git fast-import ended with ${code}`))));
    child.stdin.on('error', reject);
    const who = 'committer Ada Example <ada@example.com> 1767268800 +0000\n';
    child.stdin.write(`commit refs/heads/main\n${who}data 5\nFiles\n`);
    const put = (name, text) =>
      child.stdin.write(`M 100644 inline ${name}\ndata ${Buffer.byteLength(text)}\n${text}\n`);
    for (let n = 0; n < files; n += 1) put(trackedPath(n), content(n));
    put('.gitignore', 'build/\nnode_modules/\n*.o\n');
    child.stdin.end('\ndone\n');
  });
}

/** A few hundred build products in several places, and one big folder of installed packages. */
function writeIgnored(repo, files) {
  const write = (name, text) => {
    mkdirSync(path.dirname(path.join(repo, name)), { recursive: true });
    writeFileSync(path.join(repo, name), text);
  };
  for (let n = 0; n < LOOSE_IGNORED; n += 1)
    write(n % 3 === 0 ? `src/product${n}.o` : `build/product${n}.js`, content(n));
  for (let n = 0; n < files / 2; n += 1) write(`node_modules/package${Math.floor(n / 20)}/lib/file${n}.js`, content(n));
}

function config(sample, agent, folder) {
  return {
    ...sample,
    claude_code_cli: { ...sample.claude_code_cli, command: path.join(folder, 'agent.sh') },
    orchestrator: { ...sample.orchestrator, agent: agent === 'instant' ? 'claude' : 'scripted' },
    builder: { ...sample.builder, agent: agent === 'instant' ? 'claude' : 'scripted' },
    verification: { ...sample.verification, templates: [{ id: 'check', cmd: 'true', args: [] }] },
    budgets: {
      ...sample.budgets,
      per_milestone: Object.fromEntries(Object.keys(sample.budgets.per_milestone).map((key) => [key, 100_000])),
    },
  };
}

/** The parts of the fixtures' sample project that a bench repository shares. */
export function readSample(root) {
  const read = (name) => JSON.parse(readFileSync(path.join(root, 'fixtures', 'base', name), 'utf8'));
  return { config: read('config.json'), task: read('task.json'), result: read('result.json') };
}

/** Removes a folder however large it is. */
export function remove(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
