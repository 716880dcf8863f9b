import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { readBase } from '../../src/rehearse/fixture.js';
import { overlay, type JsonObject } from '../../src/rehearse/overlay.js';
import { writeWorkspace } from '../../src/rehearse/workspace.js';
import { tick } from '../../src/tick.js';
import { createWorld } from '../../src/world/world.js';

const exec = promisify(execFile);

/** A name that is not UTF-8 can be had on Linux only. */
export const RAW_NAMES = process.platform === 'linux';
/** Slots are made so far ahead that their files are older than the time in which a stat proves nothing. */
const AHEAD = 14;

/** One throw-away repository with its own home, state folder and stand-in answers. */
export interface Slot {
  readonly root: string;
  readonly repo: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Where slots come from; every one starts as a byte copy of the same template. */
export interface Ground {
  /** An empty home folder, for the test process itself: git's settings are read through its environment. */
  readonly home: string;
  take(): Promise<Slot>;
  give(slot: Slot): void;
  dispose(): Promise<void>;
}

/**
 * The agent program of the property tests: a shell script that takes claude's command line. As the Brain it prints
 * the task; as the Hands it runs the edit script. A shell starts in a millisecond, where a node program takes fifty.
 */
const STAND_IN = `#!/bin/sh
case " $* " in *" --permission-mode plan "*) exec cat "$STAND_IN/brain.json" ;; esac
/bin/sh "$STAND_IN/hands.sh" </dev/null >/dev/null 2>&1
exec cat "$STAND_IN/hands.json"
`;

/** Makes the template and the first slots. */
export async function makeGround(): Promise<Ground> {
  const root = realpathSync(await mkdtemp(path.join(quickFolder(), 'relais property ')));
  // What lies in memory may not be executable.
  const programs = realpathSync(await mkdtemp(path.join(tmpdir(), 'relais property ')));
  const template = path.join(root, 'template');
  const program = path.join(programs, 'stand-in');
  mkdirSync(template);
  writeFileSync(program, STAND_IN);
  chmodSync(program, 0o755);
  await makeTemplate(template, program);
  let made = 0;
  const make = async (): Promise<Slot> => {
    const slot = slotAt(path.join(root, `slot ${(made += 1)}`));
    await exec('cp', ['-a', template, slot.root]);
    await git(slot, 'update-index', '-q', '--refresh');
    return slot;
  };
  const ready = Array.from({ length: AHEAD }, make);
  return {
    home: path.join(template, 'home'),
    take: () => {
      const next = ready.shift() ?? make();
      ready.push(next.then(make));
      return next;
    },
    give: (slot) => removeTree(slot.root),
    dispose: async () => {
      await Promise.allSettled(ready);
      removeTree(root);
      removeTree(programs);
    },
  };
}

/** Where syncing a file costs nothing, if there is such a place: a tick syncs a dozen. */
function quickFolder(): string {
  const memory = '/dev/shm';
  try {
    accessSync(memory, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize > 2 ** 28 ? memory : tmpdir();
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return tmpdir();
    throw error;
  }
}

/** Lets the stand-in play one task and one edit script, and runs one real tick in this process. */
export async function playTick(
  slot: Slot,
  play: { readonly task: JsonObject; readonly hands: Buffer; readonly watch?: (phase: string) => void },
): Promise<Awaited<ReturnType<typeof tick>>> {
  writeFileSync(path.join(slot.root, 'hands.sh'), play.hands);
  writeFileSync(path.join(slot.root, 'brain.json'), answer(overlay(await readBase('task.json'), play.task)));
  const world = await createWorld({
    cwd: slot.repo,
    env: slot.env,
    onProgress: ({ phase }) => play.watch?.(phase),
  });
  return tick(world);
}

/** Git as a user would call it in a slot, with nothing of the runner's hardening. */
export async function git(slot: Slot, ...args: string[]): Promise<string> {
  const options = { cwd: slot.repo, env: slot.env, encoding: 'latin1', maxBuffer: 2 ** 26 } as const;
  return (await exec('git', args, options)).stdout;
}

function answer(value: unknown): string {
  const result = typeof value === 'string' ? value : JSON.stringify(value);
  const facts = { type: 'result', subtype: 'success', is_error: false, num_turns: 1, total_cost_usd: 0.01 };
  return JSON.stringify({ ...facts, result });
}

function slotAt(root: string): Slot {
  const env = {
    PATH: process.env['PATH'],
    HOME: path.join(root, 'home'),
    TMPDIR: path.join(root, 'tmp'),
    RELAIS_STATE_DIR: path.join(root, 'state'),
    STAND_IN: root,
    TZ: 'UTC',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_OPTIONAL_LOCKS: '0',
  };
  return { root, repo: path.join(root, 'the repository'), env };
}

/** By rm, which also removes what lies deeper than a path can be long. */
function removeTree(root: string): void {
  // Whoever is not root has to open closed folders first; what is gone already is no error.
  spawnSync('chmod', ['-R', 'u+rwX', '--', root], { stdio: 'ignore' });
  execFileSync('rm', ['-rf', '--', root]);
}

async function makeTemplate(root: string, program: string): Promise<void> {
  const slot = slotAt(root);
  for (const folder of ['home', 'tmp', 'state', 'the repository']) mkdirSync(path.join(root, folder));
  writeFileSync(path.join(root, 'hands.json'), answer(await readBase('result.json')));
  writeFileSync(path.join(root, 'outside.txt'), 'a file outside of the repository\n');
  await writeWorkspace(slot.repo, { config: overlay(await readBase('config.json'), configFor(program)) });
  fillTree(slot.repo);
  await git(slot, 'init', '--quiet', '--initial-branch=main', '--template=');
  await git(slot, 'config', 'user.name', 'Ada Example');
  await git(slot, 'config', 'user.email', 'ada@example.com');
  await git(slot, 'config', 'gc.auto', '0');
  await git(slot, 'add', '.');
  await git(slot, 'commit', '--quiet', '-m', 'Start');
  writeFileSync(path.join(slot.repo, 'src', 'plain.js'), 'one\ntwo\nthree\n');
  await git(slot, 'commit', '--quiet', '-am', 'Second');
  await git(slot, 'branch', 'other', 'HEAD~1');
  await git(slot, 'tag', 'v1', 'HEAD~1');
  const hooks = path.join(slot.repo, '.git', 'hooks');
  mkdirSync(hooks);
  writeFileSync(path.join(hooks, 'post-commit'), '#!/bin/sh\nexit 0\n');
  chmodSync(path.join(hooks, 'post-commit'), 0o750);
  const info = path.join(slot.repo, '.git', 'info');
  mkdirSync(info, { recursive: true });
  writeFileSync(path.join(info, 'exclude'), '*.scratch\n');
  fillIgnored(slot.repo);
}

function configFor(program: string): JsonObject {
  return {
    claude_code_cli: { command: program },
    orchestrator: { agent: 'claude' },
    builder: { agent: 'claude' },
    verification: {
      templates: [
        { id: 'pass', cmd: 'true', args: [] },
        { id: 'fail', cmd: 'false', args: [] },
        { id: 'killed', cmd: 'sh', args: ['-c', 'kill -9 $$'] },
      ],
    },
  };
}

/** Tracked names that trip up whoever splits, quotes, globs or decodes carelessly; all in scope. */
export const ODD_NAMES: readonly string[] = [
  'a b.js',
  ' lead',
  'trail ',
  '-rf',
  "it's.js",
  'say "hi".js',
  'line\nbreak.js',
  'tab\there.js',
  'back\\slash.js',
  '*.js',
  '[a-z]?.js',
  ':(top)magic',
  'from -> to',
  '$(echo x)',
  'caf\u00e9'.normalize('NFC'),
  'cafe\u0301 two'.normalize('NFD'),
  '\u{1f4be}.js',
].map((name) => Buffer.from(name).toString('latin1'));
/** The same, as bytes that are no UTF-8; written, like all names here, one character a byte. */
export const RAW_ODD_NAMES: readonly string[] = RAW_NAMES ? ['caf\xe9.js', '\xff\xfe', '\xed\xb3\xa9'] : [];

function fillTree(repo: string): void {
  const put = (name: string, text: string, mode?: number): void => {
    const file = Buffer.from(`${Buffer.from(repo).toString('latin1')}/${name}`, 'latin1');
    mkdirSync(Buffer.from(path.posix.dirname(file.toString('latin1')), 'latin1'), { recursive: true });
    writeFileSync(file, text);
    if (mode !== undefined) chmodSync(file, mode);
  };
  put('.gitignore', 'build/\n*.log\n.env\n');
  put('.gitattributes', '*.crlf text eol=crlf\n');
  put('README.md', '# Example\n');
  put('docs/guide.md', 'A guide.\n');
  put('docs/deep/er/page.md', 'A page.\n');
  put('package-lock.json', '{}\n');
  put('src/plain.js', 'one\ntwo\n');
  put('src/empty', '');
  put('src/same.js', 'aaaa\n');
  put('src/bytes.bin', '\0\x01\x02\0');
  put('src/tool.sh', '#!/bin/sh\n', 0o755);
  put('src/private.key', 'only for me\n', 0o600);
  put('src/loose.txt', 'for all\n', 0o666);
  put('src/win.crlf', 'one\r\ntwo\r\n');
  put('src/deep/a.js', 'a\n');
  put('src/deep/er/b.js', 'b\n');
  put('src/deep/er/c.js', 'c\n');
  put('src/gen/.gitignore', '*.out\n');
  put('src/pair1', 'two names\n');
  linkSync(path.join(repo, 'src', 'pair1'), path.join(repo, 'src', 'pair2'));
  for (const name of [...ODD_NAMES, ...RAW_ODD_NAMES]) put(`src/odd/${name}`, `${name.length}\n`);
  symlinkSync('plain.js', path.join(repo, 'src', 'in.link'));
  symlinkSync('../../outside.txt', path.join(repo, 'src', 'out.link'));
  symlinkSync('nowhere', path.join(repo, 'src', 'dangling.link'));
  symlinkSync('src', path.join(repo, 'folder.link'));
}

function fillIgnored(repo: string): void {
  for (const folder of ['build', 'logs', 'empty', 'src/hollow']) mkdirSync(path.join(repo, folder));
  const ignored = { 'build/out.bin': 'built\n', 'logs/day.log': 'a day\n', 'src/my.log': 'mine\n', '.env': 'KEY=1\n' };
  for (const [name, text] of Object.entries(ignored)) writeFileSync(path.join(repo, name), text);
  chmodSync(path.join(repo, '.env'), 0o640);
}

/** The text of a file of a slot's repository. */
export function textIn(slot: Slot, name: string): string {
  return readFileSync(path.join(slot.repo, name), 'utf8');
}
