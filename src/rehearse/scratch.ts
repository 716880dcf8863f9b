import { cp, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { simpleGit } from 'simple-git';
import { dir as temporaryDir } from 'tmp-promise';
import { fixturesDir } from './fixture.js';
import { overlay, type JsonObject } from './overlay.js';
import { writeWorkspace } from './workspace.js';

/** What a scratch repository holds in its first commit. */
export interface ScratchPlan {
  readonly config: JsonObject;
  /** Written instead of the config; null leaves the file out. */
  readonly rawConfig?: string | null;
  readonly files?: Readonly<Record<string, string>>;
  readonly scenario: JsonObject;
  readonly env?: Readonly<Record<string, string>>;
}

/** A throw-away repository with its own home and state folder; the scenario lies outside of it. */
export interface Scratch {
  readonly root: string;
  readonly repo: string;
  readonly scenario: string;
  /** One line per check that really ran. */
  readonly checkLog: string;
  readonly env: NodeJS.ProcessEnv;
  dispose(): Promise<void>;
}

const WHEN = '2026-01-01T12:00:00Z';

/** Makes a scratch repository with one commit; the folder's name has spaces on purpose. */
export async function makeScratch(plan: ScratchPlan): Promise<Scratch> {
  const root = await realpath((await temporaryDir({ prefix: 'relais rehearsal' })).path);
  const scenario = path.join(root, 'scenario.json');
  const scratch: Scratch = {
    root,
    repo: path.join(root, 'the repository'),
    scenario,
    checkLog: path.join(root, 'checks.log'),
    env: scratchEnv(root, scenario, plan.env),
    dispose: () => rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
  try {
    await fill(scratch, plan);
  } catch (error) {
    await scratch.dispose();
    throw error;
  }
  return scratch;
}

async function fill({ root, repo, scenario, checkLog, env }: Scratch, plan: ScratchPlan): Promise<void> {
  for (const folder of ['home', 'state', 'tmp']) await mkdir(path.join(root, folder));
  await writeFile(scenario, JSON.stringify(plan.scenario));
  await cp(path.join(fixturesDir(), 'base', 'repo'), repo, { recursive: true });
  // Packing a package leaves dotfiles like this one out or renames them.
  await rename(path.join(repo, 'dot-gitignore'), path.join(repo, '.gitignore'));
  await writeWorkspace(repo, {
    config: overlay(plan.config, { verification: { env: { RELAIS_CHECK_LOG: checkLog } } }),
  });
  if (plan.rawConfig === null) await rm(path.join(repo, 'relais.config.json'));
  else if (plan.rawConfig !== undefined) await writeFile(path.join(repo, 'relais.config.json'), plan.rawConfig);
  await writeFiles(repo, plan.files ?? {});
  await firstCommit(repo, env);
}

/** Writes files under a folder, with the folders they need. */
export async function writeFiles(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

/** Git's environment is fixed: the same repository has the same commit everywhere. */
function scratchEnv(root: string, scenario: string, extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return {
    PATH: [path.dirname(process.execPath), process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(path.delimiter),
    HOME: path.join(root, 'home'),
    TMPDIR: path.join(root, 'tmp'),
    RELAIS_STATE_DIR: path.join(root, 'state'),
    RELAIS_SCENARIO: scenario,
    TZ: 'UTC',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_DATE: WHEN,
    GIT_COMMITTER_DATE: WHEN,
    ...extra,
  };
}

async function firstCommit(repo: string, env: NodeJS.ProcessEnv): Promise<void> {
  const allowEnvironment = Object.keys(env).filter((name) => name.startsWith('GIT_'));
  const git = simpleGit({ baseDir: repo, allowEnvironment }).env(env);
  await git.init(['--quiet', '--initial-branch=main']);
  await git.addConfig('user.name', 'Ada Example');
  await git.addConfig('user.email', 'ada@example.com');
  await git.add('.');
  await git.commit('Start');
}
