import type { Config } from '../generated/types.js';
import type { Repository } from '../model.js';
import type { PreflightFacts } from '../rules/preflight.js';
import { readConfig } from '../rules/config.js';
import type { Git } from '../world/git/git.js';
import type { GitSettings } from '../world/git/call.js';
import type { World } from '../world/world.js';
import { readNamed, type Named } from './named.js';

const CONFIG_FILE = 'relais.config.json';
const MAX_CONFIG = 1024 * 1024;

/** Where a command runs: the work tree, its repository and its config, as far as each could be read. */
export interface Place {
  readonly root: string;
  readonly repository?: Repository;
  /** Git for the repository, and the user's settings for it as they stood at the first question. */
  readonly git?: () => Promise<Git>;
  readonly settings?: () => Promise<GitSettings>;
  readonly config?: Config;
  readonly configText: string;
  /** What the config names; there if the config is. */
  readonly named?: Named;
  readonly facts: Pick<PreflightFacts, 'config' | 'git'>;
}

/** A place with a repository and a valid config. */
export type Ready = Place & { readonly repository: Repository; readonly config: Config } & Required<
    Pick<Place, 'git' | 'settings' | 'named'>
  >;

/** Whether everything is there that a tick, an answer or a recovery needs. */
export function isReady(place: Place): place is Ready {
  return (
    place.repository !== undefined &&
    place.config !== undefined &&
    place.named !== undefined &&
    place.git !== undefined &&
    place.settings !== undefined
  );
}

/** Finds the repository from any subfolder and reads its one config file. */
export async function locate(world: World): Promise<Place> {
  const opened = await world.git.openRepository(world.cwd);
  const root = opened.found === 'yes' ? opened.repository.workTree : world.cwd;
  const git: PreflightFacts['git'] = opened.found === 'yes' ? { ok: true } : { ok: false, why: opened.why };
  const repository =
    opened.found === 'yes' ? { repository: opened.repository, ...gitOf(world, opened.repository) } : {};
  const file = world.join(root, CONFIG_FILE);
  const read = await world.files.readText(file, MAX_CONFIG);
  if (read.found !== 'text') {
    const config: PreflightFacts['config'] =
      read.found === 'missing'
        ? { state: 'missing', why: [`there is no ${CONFIG_FILE} in ${root}`] }
        : { state: 'unreadable', why: [`${file} can't be read: ${read.why}`] };
    return { root, ...repository, configText: '', facts: { config, git } };
  }
  const checked = readConfig(read.text);
  if (!checked.ok) {
    return {
      root,
      ...repository,
      configText: read.text,
      facts: {
        config: { state: 'invalid', why: checked.errors.map((error) => `${CONFIG_FILE} is invalid: ${error}`) },
        git,
      },
    };
  }
  const { problems, ...named } = await readNamed(world, root, checked.value);
  const config: PreflightFacts['config'] =
    problems.length === 0 ? { state: 'ok' } : { state: 'invalid', why: problems };
  return { root, ...repository, config: checked.value, configText: read.text, named, facts: { config, git } };
}

function gitOf(world: World, repository: Repository): Required<Pick<Place, 'git' | 'settings'>> {
  let read: Promise<GitSettings> | undefined;
  const settings = (): Promise<GitSettings> => (read ??= world.git.readSettings(repository.workTree));
  return { settings, git: async () => world.git.createGit(repository, await settings()) };
}

/** The workspace folder with state and history: in the main work tree, whatever work tree a tick runs in. */
export function workspaceOf(world: World, repository: Repository, config: Config): string {
  return world.join(repository.mainTree, config.workspace_dir);
}

/** The lock's absolute path. */
export function lockPath(world: World, repository: Repository, config: Config): string {
  return world.join(repository.mainTree, config.runner.lockfile);
}
