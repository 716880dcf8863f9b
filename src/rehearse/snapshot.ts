import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';

/** Every path with its kind, mode and content; `index` and `HEAD` are entries of their own. */
export type Snapshot = ReadonlyMap<string, string>;

/** The parts of .git that honest work leaves alone; index entries are read by git itself. */
const METADATA = [
  'HEAD',
  'config',
  'config.worktree',
  'hooks',
  'info',
  'refs',
  'packed-refs',
  'index.lock',
  'HEAD.lock',
  'modules',
  'worktrees',
];

/** What the runner itself writes into the workspace. */
const RUNTIME = new Set([
  'STATE.json',
  'TASK.json',
  'REPORT.json',
  'REPORT.md',
  'BLOCKED.json',
  'lock.json',
  'history',
  'logs',
  'cycles',
]);

/** Looks at a whole scratch repository, by bytes and without trusting git for anything but its own index. */
export async function snapshot(repo: string, env: NodeJS.ProcessEnv): Promise<Snapshot> {
  const seen = new Map<string, string>();
  for (const name of (await readdir(repo)).toSorted()) if (name !== '.git') await look(repo, name, seen);
  for (const name of METADATA) await look(repo, `.git/${name}`, seen);
  const index = await execa('git', ['ls-files', '-s', '-v', '-z'], {
    cwd: repo,
    env: { ...env, GIT_OPTIONAL_LOCKS: '0' },
    extendEnv: false,
    reject: false,
  });
  seen.set('.git/index', index.stdout);
  return seen;
}

/** True for a path that changes in every tick, or that only the runner moves. */
export function isRuntime(name: string): boolean {
  if (name.startsWith('.git/refs/relais')) return true;
  const [folder, second = ''] = name.split('/');
  return folder === 'relais' && RUNTIME.has(second);
}

/** The paths at which two snapshots differ, runtime files left out. */
export function differences(before: Snapshot, after: Snapshot): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => !isRuntime(name) && before.get(name) !== after.get(name)).toSorted();
}

async function look(repo: string, name: string, seen: Map<string, string>): Promise<void> {
  const file = path.join(repo, name);
  const stat = await lstat(file).catch(ifMissing);
  if (stat === undefined) return;
  const mode = (stat.mode & 0o7777).toString(8);
  if (stat.isSymbolicLink()) seen.set(name, `link ${await readlink(file)}`);
  else if (stat.isFile())
    seen.set(
      name,
      `file ${mode} ${createHash('sha256')
        .update(await readFile(file))
        .digest('hex')}`,
    );
  else if (stat.isDirectory()) {
    // Git itself makes and drops folders of refs.
    if (!name.startsWith('.git/refs')) seen.set(name, `dir ${mode}`);
    for (const child of (await readdir(file)).toSorted()) await look(repo, `${name}/${child}`, seen);
  } else seen.set(name, `special ${mode}`);
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}
