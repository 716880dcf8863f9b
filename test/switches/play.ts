import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import { runTick, type RunEnd } from '../../src/commands/run.js';
import { fullScenario, readBase } from '../../src/rehearse/fixture.js';
import { overlay, type Json, type JsonObject } from '../../src/rehearse/overlay.js';
import { makeScratch, writeFiles, type Scratch } from '../../src/rehearse/scratch.js';

/** A repository and a script in which a switch shows: the tick is the same whether it is turned or not. */
export interface Situation {
  /** Laid over the base config in both ticks. */
  readonly config?: JsonObject;
  readonly files?: Readonly<Record<string, string>>;
  readonly untracked?: Readonly<Record<string, string>>;
  readonly scenario: JsonObject;
  /** Ask `relais status` afterwards. */
  readonly asksStatus?: boolean;
}

/** One call of an agent, by the scripted agent's own record. */
export interface Call {
  readonly role: string;
  readonly argv: readonly string[];
  readonly prompt_chars: number;
  readonly prompt_tail: string;
}

/** What is left of a tick to look at. */
export interface Seen {
  readonly end: RunEnd;
  readonly calls: readonly Call[];
  /** Texts by path from the repository's root; what lies beside the repository begins with `../`. */
  readonly files: Readonly<Record<string, string>>;
  /** What `relais status` printed, where it was asked. */
  readonly status: string;
}

/** One turn of one switch, and what a look at the tick shows without and with it. */
export interface Switch {
  readonly key: string;
  readonly to?: Json;
  /** What else has to be said in the config for this turn. */
  readonly also?: JsonObject;
  readonly at: Situation;
  readonly look: (seen: Seen) => unknown;
  readonly normal: unknown;
  readonly turned: unknown;
}

/** What a switch lays over the config. */
export function turn({ key, to, also = {} }: Switch): JsonObject {
  if (to === undefined) return also;
  const nested = key.split('.').reduceRight<Json>((inner, name) => ({ [name]: inner }), to);
  return overlay(also, nested as JsonObject);
}

const played = new Map<Situation, Map<string, Promise<Seen>>>();

/** The tick of a situation under a config; each is played once, however many switches look at it. */
export function tickOf(situation: Situation, config: JsonObject): Promise<Seen> {
  const ticks = played.get(situation) ?? new Map<string, Promise<Seen>>();
  played.set(situation, ticks);
  const name = JSON.stringify(config);
  const tick = ticks.get(name) ?? playTick(situation, config);
  ticks.set(name, tick);
  return tick;
}

function playTick(situation: Situation, config: JsonObject): Promise<Seen> {
  return inScratch(situation, config, async (scratch) => {
    const end = await runTick({ cwd: scratch.repo, env: scratch.env });
    const files = await textsOf(scratch);
    const status = situation.asksStatus ? await statusOf(scratch) : '';
    return { end, files, calls: callsIn(files), status };
  });
}

/** Sets a situation up, lets something happen in it, and removes it. */
export async function inScratch<T>(
  situation: Situation,
  config: JsonObject,
  happen: (scratch: Scratch) => Promise<T>,
): Promise<T> {
  const scratch = await makeScratch({
    config: overlay(overlay(await readBase('config.json'), situation.config), config),
    files: situation.files ?? {},
    scenario: await fullScenario(situation.scenario),
  });
  try {
    await writeFiles(scratch.repo, situation.untracked ?? {});
    return await happen(scratch);
  } finally {
    await scratch.dispose();
  }
}

function callsIn(files: Seen['files']): Call[] {
  const lines = (files['../scenario.json.calls.ndjson'] ?? '').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Call);
}

async function statusOf({ repo, env }: Scratch): Promise<string> {
  const cli = path.resolve('dist/cli.js');
  const ran = await execa(process.execPath, [cli, 'status'], { cwd: repo, env, extendEnv: false, reject: false });
  return ran.stdout;
}

/** Every text of the scratch, without git's own files and the runner's private ones. */
async function textsOf({ root, repo }: Scratch): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const skipped = [path.join(repo, '.git'), path.join(root, 'state')];
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !skipped.some((folder) => file.startsWith(`${folder}${path.sep}`)));
  const texts = names.map(async (file) => [path.relative(repo, file), await readFile(file, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(texts));
}
