import path from 'node:path';
import { isRunnerOwned } from '../rules/scope.js';
import { readJournal } from '../stages/journal.js';
import type { Place } from '../stages/place.js';
import { freeBytes, stateDir } from '../world/host.js';
import { inside } from '../world/programs.js';
import { writeProblem } from '../world/walk/survey.js';
import type { World } from '../world/world.js';
import { fine, line, type Line } from './doctorLine.js';

const OLDEST_NODE = [20, 19] as const;
/** The first git that reads settings from GIT_CONFIG_COUNT, which the runner's hardening rests on. */
const OLDEST_GIT = [2, 31] as const;
const MIB = 1024 * 1024;

/** Node, git and the platform. */
export async function toolLines(world: World): Promise<Line[]> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin' } = world.env;
  const end = await world.spawn.run({
    program: 'git',
    args: ['--version'],
    cwd: world.packageRoot,
    env: { PATH, LC_ALL: 'C' },
    timeoutMs: 10_000,
    maxOutputBytes: 4096,
  });
  const git = end.exitCode === 0 ? end.stdout.toString('utf8') : '';
  return [
    versionLine('node', process.version, OLDEST_NODE, 'Install Node 20.19 or newer.'),
    end.how === 'not_started'
      ? line('git', 'failed', 'git was not found on PATH', 'Install git 2.31 or newer.')
      : versionLine('git', git, OLDEST_GIT, 'Install git 2.31 or newer.'),
    ['linux', 'darwin'].includes(process.platform)
      ? fine('platform', `${process.platform} ${process.arch}`)
      : line(
          'platform',
          'warning',
          `${process.platform} is not one of the systems Relais is tested on`,
          'Use Linux or macOS, or WSL on Windows.',
        ),
  ];
}

function versionLine(check: string, text: string, oldest: readonly [number, number], remedy: string): Line {
  const found = /(\d+)\.(\d+)(?:\.\d+)?/.exec(text);
  if (!found)
    return line(check, 'unknown', `its version could not be read from ${JSON.stringify(text.slice(0, 80))}`, remedy);
  const [major, minor] = [Number(found[1]), Number(found[2])];
  const enough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
  return enough
    ? fine(check, found[0])
    : line(check, 'failed', `${found[0]} is older than ${oldest.join('.')}`, remedy);
}

/** The repository, its HEAD, and what would make it dirty. */
export async function repositoryLines(world: World, place: Place): Promise<Line[]> {
  const { repository, config } = place;
  if (repository === undefined) {
    const why = place.facts.git.ok ? 'not found' : place.facts.git.why;
    return [line('repository', 'failed', why, 'Go to your repository, or make one here with git init.')];
  }
  const git = world.git.createGit(repository, await world.git.readSettings(repository.workTree));
  const head = await git.head();
  const lines = [fine('repository', `${repository.workTree} (${repository.objectFormat})`)];
  if (head === undefined)
    return [...lines, line('head', 'failed', 'HEAD names no commit', 'Make a first commit: git add -A && git commit.')];
  lines.push(fine('head', `${head.ref?.replace(/^refs\/heads\//, '') ?? 'detached'} at ${head.commit.slice(0, 12)}`));
  const owned = config ? isRunnerOwned(config) : (): boolean => false;
  const operations = await git.operationInProgress();
  // What interrupted Hands may have planted in git's own files must not run.
  const { journal } = await readJournal(world, world.privateDir(repository.commonDir));
  if (journal?.hands_started)
    return [...lines, line('work tree', 'unknown', 'not asked: a tick was interrupted', 'Run relais recover.')];
  const dirty = (await git.status()).changes.filter(({ path }) => !owned(path));
  if (operations.length > 0)
    lines.push(
      line(
        'work tree',
        'warning',
        `${operations.join(', ')} is in progress`,
        'Finish or abort it: relais run refuses to start until then.',
      ),
    );
  else if (dirty.length > 0)
    lines.push(
      line(
        'work tree',
        'warning',
        `${dirty.length} paths are changed or untracked`,
        'Commit, stash or ignore them: relais run refuses to start until then.',
      ),
    );
  else lines.push(fine('work tree', 'clean'));
  return lines;
}

/** Where the runner must write, the room it has, the boot id and how well processes can be contained. */
export async function hostLines(world: World, place: Place): Promise<Line[]> {
  const { repository, config, root } = place;
  const privateFolder = stateDir(world.env);
  const lines: Line[] = [];
  const folders: [string, string][] = [['write: private folder', privateFolder]];
  if (repository) folders.unshift(['write: work tree', root], ['write: git folder', repository.gitDir]);
  if (repository && config)
    folders.unshift(['write: workspace', world.join(repository.mainTree, config.workspace_dir)]);
  for (const [check, folder] of folders) {
    const problem = await writeProblem(folder);
    lines.push(
      problem === undefined
        ? fine(check, folder)
        : line(check, 'failed', problem, `Give this user write permission for ${folder}.`),
    );
  }
  if (repository && inside(repository.workTree, privateFolder)) {
    lines.push(
      line(
        'private folder',
        'failed',
        'it lies inside the repository, where an agent can write',
        'Set RELAIS_STATE_DIR to a folder outside of it.',
      ),
    );
  }
  lines.push(await spaceLine('space: repository', root), await spaceLine('space: private folder', privateFolder));
  lines.push(
    world.host.boot_id === ''
      ? line(
          'boot id',
          'unknown',
          'this system does not tell it',
          'After a crash and a restart, look yourself whether a tick still runs before you remove its lock.',
        )
      : fine('boot id', world.host.boot_id),
  );
  lines.push(containmentLine(world));
  return lines;
}

function containmentLine(world: World): Line {
  const level = world.spawn.containment();
  if (level === 'pidns')
    return fine('containment', 'pidns: the kernel ends whatever an agent or a check leaves running');
  if (level === 'group')
    return line(
      'containment',
      'warning',
      'group: processes that leave their group cannot be found here',
      'Run unattended ticks on Linux or in a container.',
    );
  const unwanted = world.env['RELAIS_CONTAINMENT'] === 'group';
  return line(
    'containment',
    'warning',
    `group+marker${unwanted ? ', as RELAIS_CONTAINMENT asks for' : ''}: a process that leaves its group, its environment and the work tree cannot be found`,
    unwanted
      ? 'Unset RELAIS_CONTAINMENT, unless your tools fail in a PID namespace.'
      : 'Install unshare and setpriv of util-linux 2.36 or newer and allow user namespaces, or run as root in a container of its own.',
  );
}

async function spaceLine(check: string, folder: string): Promise<Line> {
  const free = await freeAbove(folder);
  if (free === undefined) return line(check, 'unknown', `nothing on the way to ${folder} exists`, 'Create the folder.');
  const text = `${Math.floor(free / MIB)} MiB free`;
  if (free < 64 * MIB) return line(check, 'failed', text, 'Free at least 64 MiB; relais/history is a place to look.');
  return free < 1024 * MIB
    ? line(check, 'warning', text, 'Free some space: a full disk in mid-tick ends it as STOP_INTERRUPTED.')
    : fine(check, text);
}

async function freeAbove(folder: string): Promise<number | undefined> {
  for (let at = folder; ;) {
    try {
      return await freeBytes(at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    const parent = path.dirname(at);
    if (parent === at) return undefined;
    at = parent;
  }
}
