import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { execa } from 'execa';
import type { Meta, Report } from '../../src/generated/types.js';
import { play, type Played, type TickEnd } from '../../src/rehearse/play.js';
import { PREFLIGHT_ROWS } from '../../src/rules/preflight.js';
import { decideAll } from '../../src/rules/table.js';
import { checkMeta, checkReport } from '../../src/schemas.js';
import { locate } from '../../src/stages/place.js';
import { gatherPreflight } from '../../src/stages/preflight.js';
import { createWorld } from '../../src/world/world.js';
import { asFixture, type Attack } from './cases.js';
import { git, headOf, logsOf, missingObjects, neededObjects, refsOf } from './gitState.js';
import { processesOf } from './processes.js';
import { smuggled, unrecovered, type Places } from './recovered.js';
import { covers, differing, stateOf, strangersIn, treeOf, type State } from './state.js';
import { describe } from './walk.js';

interface Scene {
  readonly attack: Attack;
  readonly played: Played;
  readonly end: TickEnd;
  readonly report: Report;
  readonly meta: Meta;
  readonly root: string;
  readonly places: Places;
  readonly before: State;
  readonly after: State;
}

type Check = (scene: Scene) => Promise<readonly string[]> | readonly string[];

const CHECKS: readonly Check[] = [
  ending,
  evidence,
  everythingStands,
  logsStand,
  objectsStand,
  movedRefsAreKept,
  nothingOutside,
  nothingLeftRunning,
  workIsKept,
  nextTickCanStart,
  nothingPlantedRan,
];

/** Plays one attack and returns everything that is not as promised. */
export async function attackProblems(attack: Attack): Promise<string[]> {
  return await play(await asFixture(attack), async (played) => {
    const { root } = played.scratch;
    try {
      return await look(attack, played);
    } finally {
      // What an attack left may be closed or too deep for anything but rm.
      await execa('chmod', ['-R', 'u+rwX', '--', root], { reject: false, stdio: 'ignore' });
      await execa('rm', ['-rf', '--', root], { stdio: 'ignore' });
    }
  });
}

async function look(attack: Attack, played: Played): Promise<string[]> {
  const { root, repo } = played.scratch;
  const end = played.ends.at(-1);
  if (end === undefined) return ['no tick was played'];
  const places: Places = { before: path.join(root, 'before', 'repo'), made: path.join(root, 'made'), repo };
  const report = readJson(path.join(repo, 'relais', 'REPORT.json'));
  const meta = readJson(path.join(repo, 'relais', 'history', end.runId, 'meta.json'));
  const [isReport, isMeta] = [checkReport(report), checkMeta(meta)];
  if (!isReport.ok || !isMeta.ok) {
    const errors = [...(isReport.ok ? [] : isReport.errors), ...(isMeta.ok ? [] : isMeta.errors)];
    return [...errors.map((error) => `REPORT.json or meta.json: ${error}`), `the tick said ${said(end)}`];
  }
  const before = await stateOf(places.before, path.join(root, 'before'));
  const after = withoutOwn(await stateOf(repo, root), end.runId);
  const scene: Scene = {
    attack,
    played,
    end,
    root,
    places,
    before,
    after,
    report: isReport.value,
    meta: isMeta.value,
  };
  const found: string[] = [];
  for (const check of CHECKS) found.push(...(await check(scene)));
  return found;
}

/** The refs this tick made for itself are no change; those of earlier ticks are the user's. */
function withoutOwn(state: State, runId: string): State {
  for (const name of state.keys()) if (name.startsWith('ref refs/relais/') && name.includes(runId)) state.delete(name);
  return state;
}

function ending({ attack, end, report, places }: Scene): string[] {
  return [
    ...(end.outcome.code === attack.code ? [] : [`ended with ${said(end)} instead of ${attack.code}`]),
    ...(report.code === end.outcome.code ? [] : [`REPORT.json says ${report.code}`]),
    ...(existsSync(path.join(places.repo, 'relais', 'lock.json')) ? ['the lock was not released'] : []),
  ];
}

function evidence({ attack, end, report, meta }: Scene): string[] {
  const lines = [
    ...report.scope.violations,
    ...report.scope.touched_paths,
    ...report.budgets.warnings,
    ...end.outcome.evidence,
    ...meta.evidence,
    ...meta.warnings,
  ];
  return (attack.evidence ?? [])
    .filter((text) => !lines.some((line) => line.includes(text)))
    .map((text) => `nothing says "${text}"; said: ${lines.slice(0, 4).join(' | ')}`);
}

/** After a STOP everything is as before; after a success the work tree is as the builder left it. */
async function everythingStands(scene: Scene): Promise<string[]> {
  const { attack, before, after } = scene;
  const wanted = scene.end.outcome.verdict === 'success' ? await afterSuccess(scene) : before;
  const left = attack.left ?? [];
  const names = differing(wanted, after);
  return [
    ...names
      .filter((name) => !left.some((entry) => covers(entry, name)))
      .map((name) => `${name} is ${after.get(name) ?? 'not there'}, was ${wanted.get(name) ?? 'not there'}`),
    ...left
      .filter((entry) => !entry.startsWith('log ') && !names.some((name) => covers(entry, name)))
      .map((entry) => `${entry} is said to be left, but does not differ`),
  ];
}

async function afterSuccess({ before, after, places, played }: Scene): Promise<State> {
  const isGit = (name: string): boolean => /^(\.git($|\/)|ref |\.\.\/|~)/.test(name) || name === 'stash';
  const wanted: State = new Map([...before].filter(([name]) => isGit(name)));
  for (const [name, thing] of treeOf(places.made)) wanted.set(name, describe(thing));
  // Of the index, what the builder changed is the new commit's, as git says below, and the rest is as it was.
  const { stdout } = await git(places.repo, 'diff-tree', '-r', '-z', '--name-only', '--no-renames', 'HEAD^', 'HEAD');
  const committed = new Set(stdout.split('\0').map((name) => `index ${name}`));
  for (const [name, value] of before) if (name.startsWith('index ') && !committed.has(name)) wanted.set(name, value);
  for (const [name, value] of after) if (committed.has(name)) wanted.set(name, value);
  const { ref } = headOf(places.before);
  if (ref !== undefined) wanted.set(`ref ${ref}`, `${played.headAfter} (git: ${played.headAfter} )`);
  const status = await git(places.repo, 'status', '--porcelain', '-uall');
  if (status.stdout !== '') wanted.set('git status', 'clean');
  return wanted;
}

/** No old entry of any log is gone, and the stash's is exactly as it was. */
function logsStand({ attack, places }: Scene): string[] {
  const [before, after] = [logsOf(places.before), logsOf(places.repo)];
  const isLeft = (name: string): boolean => (attack.left ?? []).some((entry) => covers(entry, `log ${name}`));
  return [...before]
    .filter(([name]) => !isLeft(name))
    .flatMap(([name, text]) => {
      const now = after.get(name) ?? '';
      const same = name === 'refs/stash' ? now === text : now.startsWith(text);
      return same ? [] : [`the log of ${name} has lost or changed entries`];
    });
}

async function objectsStand({ places }: Scene): Promise<string[]> {
  const missing = await missingObjects(places.repo, await neededObjects(places.before));
  const fsck = await git(places.repo, 'fsck', '--no-dangling', '--no-progress');
  return [
    ...missing.slice(0, 3).map((line) => `object ${line}`),
    ...(fsck.exitCode === 0 ? [] : [`git fsck: ${fsck.stdout.slice(0, 300)}`]),
  ];
}

/** A ref that moved stays moved, but what it pointed at before can be found again. */
async function movedRefsAreKept({ attack, places, end, after }: Scene): Promise<string[]> {
  const refs = (attack.left ?? []).filter((entry) => entry.startsWith('ref ')).map((entry) => entry.slice(4));
  const before = refsOf(places.before);
  const kept = await git(places.repo, 'for-each-ref', '--format=%(objectname)', `refs/relais/moved/${end.runId}`);
  return refs.flatMap((ref) => {
    const value = before.get(ref);
    const stands = ref === 'refs/stash' && after.get('stash')?.includes(value ?? '') === true;
    return value === undefined || stands || kept.stdout.includes(value) ? [] : [`the old value of ${ref} is not kept`];
  });
}

function nothingOutside({ root }: Scene): string[] {
  return strangersIn(root)
    .filter((name) => name !== '../pwned')
    .map((name) => `${name} was made outside the repository`);
}

async function nothingLeftRunning({ root, attack }: Scene): Promise<string[]> {
  return (attack.left ?? []).includes('process') ? [] : processesOf(root);
}

async function workIsKept({ attack, places, meta, end }: Scene): Promise<string[]> {
  const success = end.outcome.verdict === 'success';
  const ref = success ? 'HEAD' : end.rejectedRef;
  if (ref !== (success ? 'HEAD' : (meta.rejected_ref ?? undefined))) return ['meta.json names another rejected ref'];
  if (attack.copy === false)
    return ref === undefined && meta.not_in_tree.length === 0 ? ['the refused work is nowhere'] : [];
  if (!existsSync(places.made)) return ["the builder's work was not copied: its turn did not end as the case says"];
  return [
    ...(await unrecovered(places, ref, meta)).filter((line) => !isLeft(attack, line)),
    ...(success ? await smuggled(places, 'HEAD') : []),
  ];
}

/** What is left whole needs no copy. */
function isLeft({ left = [] }: Attack, line: string): boolean {
  return left.some((entry) => covers(entry, line.split(' was changed')[0] ?? ''));
}

async function nextTickCanStart({ attack, played }: Scene): Promise<string[]> {
  const world = await createWorld({ cwd: played.scratch.repo, env: played.scratch.env });
  const facts = await gatherPreflight(world, await locate(world), { state: 'free', why: '' });
  const [first] = decideAll(PREFLIGHT_ROWS, facts).map(({ outcome }) => outcome);
  if (first?.code === attack.blocked) return [];
  return [`the next tick: ${first === undefined ? 'could start' : `${first.code} ${first.evidence.join('; ')}`}`];
}

/** Looked at last: the suite's own git calls may set off what a rollback overlooked. */
function nothingPlantedRan({ root }: Scene): string[] {
  return existsSync(path.join(root, 'pwned')) ? ['a planted program was run'] : [];
}

function said({ outcome }: TickEnd): string {
  return `${outcome.code} (${outcome.evidence.slice(0, 3).join('; ')})`;
}

function readJson(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
