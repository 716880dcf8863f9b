import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Meta } from '../../src/generated/types.js';
import { metaPath } from '../properties/oracle.js';
import { git, headOf, metadataOf } from './gitState.js';
import { treeOf } from './state.js';
import { bytePath, describe, type Thing, type Things } from './walk.js';

/** Where the three looks at one repository lie: before the tick, as the attack left it, and now. */
export interface Places {
  readonly before: string;
  readonly made: string;
  readonly repo: string;
}

/** Git's files that honest work changes: put back, held against nobody, so not listed. */
const UNLISTED = /^(\.|HEAD|sharedindex\..*|.*\.lock|objects\/info(\/.*)?|info\/refs|refs|packed-refs)$/;

/** What the attack changed and nothing holds: no commit, and no list in meta.json. */
export async function unrecovered(places: Places, rev: string | undefined, meta: Meta): Promise<string[]> {
  const [before, made] = [treeOf(places.before), treeOf(places.made)];
  const held = rev === undefined ? undefined : await treeAt(places.repo, rev);
  const listed = new Set([...meta.not_in_tree.map(({ path }) => path), ...meta.ignored_changed].map(metaPath));
  const isListed = (name: string): boolean => parents(name).some((one) => listed.has(one));
  const lost = changed(before, made)
    .filter((name) => name !== '.' && !isListed(name))
    .filter((name) => !isHeld(name, { root: places.made, before, made }, held, meta))
    .map((name) => `${name} as the attack left it is nowhere`);
  return [...lost, ...unlistedMetadata(places, meta), ...(await lostCommits(places, rev))];
}

/** Paths that a commit changes although the builder did not. */
export async function smuggled(places: Places, rev: string): Promise<string[]> {
  const touched = new Set(changed(treeOf(places.before), treeOf(places.made)));
  const { stdout } = await git(places.repo, 'diff-tree', '-r', '-z', '--name-only', '--no-renames', `${rev}^`, rev);
  return stdout.split('\0').filter((name) => name !== '' && !touched.has(name));
}

function changed(before: Things, made: Things): string[] {
  const line = (thing: Thing | undefined): string => (thing === undefined ? '' : describe(thing));
  return [...new Set([...before.keys(), ...made.keys()])].filter(
    (name) => line(before.get(name)) !== line(made.get(name)),
  );
}

/** A path with all folders above it. */
function parents(name: string): string[] {
  const parts = name.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function isHeld(
  name: string,
  { root, before, made }: { readonly root: string; readonly before: Things; readonly made: Things },
  held: ReadonlyMap<string, string> | undefined,
  meta: Meta,
): boolean {
  const thing = made.get(name);
  const kept = held?.get(name);
  const told = meta.touched.find(({ path }) => metaPath(path) === name);
  // A folder is held by what is in it. An empty one holds no work; another mode is told.
  if (thing?.kind === 'dir') return !before.has(name) || told !== undefined;
  if (thing === undefined)
    return told?.change === 'deleted' || before.get(name)?.kind === 'dir' || (held !== undefined && kept === undefined);
  if (!['file', 'link'].includes(thing.kind)) return false;
  // Of a mode a tree knows only one bit, so the whole of it is told.
  const was = before.get(name);
  if (was?.kind === thing.kind && was.content === thing.content) return told?.mode_after === thing.mode;
  const executable = (thing.mode & 0o100) !== 0;
  const mode = thing.kind === 'link' ? '120000' : executable ? '100755' : '100644';
  const bytes = thing.kind === 'link' ? Buffer.from(thing.content, 'latin1') : readFileSync(bytePath(root, name));
  return kept === `${mode} ${blobId(stored(name, bytes))}`;
}

/** As git stores it: of the base repository only *.bat is converted. */
function stored(name: string, bytes: Buffer): Buffer {
  return name.endsWith('.bat') ? Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1') : bytes;
}

function blobId(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

async function treeAt(repo: string, rev: string): Promise<Map<string, string>> {
  const { stdout } = await git(repo, 'ls-tree', '-r', '-t', '-z', '--full-tree', rev);
  const entries = stdout.split('\0').map((line) => /^(\d+) \w+ (\w+)\t([^]+)$/.exec(line));
  return new Map(entries.flatMap((found) => (found === null ? [] : [[found[3] ?? '', `${found[1]} ${found[2]}`]])));
}

function unlistedMetadata({ before, made }: Places, meta: Meta): string[] {
  const listed = new Set(meta.metadata_changed.map((name) => metaPath(name).replace(/^(git|common)\//, '')));
  const [was, is] = [metadataOf(before), metadataOf(made)];
  const isListed = (name: string): boolean => parents(name).some((one) => listed.has(one));
  const isFolder = (name: string): boolean => (is.get(name) ?? was.get(name))?.kind === 'dir';
  return changed(was, is)
    .filter((name) => !UNLISTED.test(name) && !isFolder(name) && !isListed(name))
    .map((name) => `.git/${name} was changed and is not listed in meta.json`);
}

/** The builder's own commits are ancestors of what is kept. */
async function lostCommits({ before, made, repo }: Places, rev: string | undefined): Promise<string[]> {
  const { commit } = headOf(made);
  if (commit === undefined || commit === headOf(before).commit || !/^[0-9a-f]{40}$/.test(commit)) return [];
  if ((await git(repo, 'cat-file', '-t', commit)).stdout !== 'commit\n') return [];
  const kept = rev === undefined ? 1 : (await git(repo, 'merge-base', '--is-ancestor', commit, rev)).exitCode;
  const known = (await git(repo, 'for-each-ref', '--contains', commit)).stdout !== '';
  return kept === 0 || known ? [] : [`the builder's commit ${commit} is held by no ref`];
}
