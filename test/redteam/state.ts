import path from 'node:path';
import { isRuntime } from '../../src/rehearse/snapshot.js';
import { gitEntries, metadataOf } from './gitState.js';
import { describe, walkAll, type Things } from './walk.js';

/** A whole place: every file, every entry of git's, everything around the repository, each in one line. */
export type State = Map<string, string>;

/** The folder around a repository, with what the suite itself puts there. */
const KNOWN_AROUND = new Set([
  'the repository',
  'before',
  'made',
  'made.log',
  'victim',
  'home',
  'state',
  'tmp',
  'scenario.json',
  'scenario.json.calls.ndjson',
  'checks.log',
  'pids',
]);

/** The work tree without git's folder and without what changes in every tick. */
export function treeOf(repo: string): Things {
  return walkAll(repo, (name) => name === '.git' || isRuntime(name));
}

/** How everything stands; `around` is the folder that holds `victim` and `home`. */
export async function stateOf(repo: string, around: string): Promise<State> {
  const state: State = await gitEntries(repo);
  const put = (things: Things, prefix: string): void => {
    for (const [name, thing] of things) state.set(name === '.' ? prefix || '.' : join(prefix, name), describe(thing));
  };
  put(treeOf(repo), '');
  put(metadataOf(repo), '.git');
  put(walkAll(path.join(around, 'victim')), '../victim');
  put(walkAll(path.join(around, 'home')), '~');
  return state;
}

/** What lies around the repository and was not put there by the suite. */
export function strangersIn(root: string): string[] {
  const strangers = walkAll(root, (name) => KNOWN_AROUND.has(name)).keys();
  const temporary = walkAll(path.join(root, 'tmp')).keys();
  return [...[...strangers].map((name) => `../${name}`), ...[...temporary].map((name) => `../tmp/${name}`)].filter(
    (name) => !name.endsWith('/.'),
  );
}

/** The names at which two states differ. */
export function differing(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): string[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names].filter((name) => one.get(name) !== other.get(name)).toSorted();
}

/** Whether an entry of `left` covers a name. */
export function covers(entry: string, name: string): boolean {
  return entry.endsWith('/**') ? `${name}/`.startsWith(entry.slice(0, -2)) : entry === name;
}

function join(prefix: string, name: string): string {
  return prefix === '' ? name : `${prefix}/${name}`;
}
