import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Code } from '../generated/codes.js';
import { packageRoot } from '../world/packageRoot.js';
import { isObject, overlay, type Json, type JsonObject } from './overlay.js';

/** What a fixture promises about its last tick; calls, ticks and verify_runs are sums over all of its ticks. */
export interface Expectation {
  readonly verdict: 'success' | 'stop' | 'blocked';
  readonly code: Code;
  readonly exit_code: number;
  readonly calls: { readonly orchestrator: number; readonly builder: number };
  /** Ticks the milestone is charged for; 1 where the Brain was called, else 0, unless given. */
  readonly ticks?: number;
  readonly verify_runs: number;
  /** The work tree has nothing to commit afterwards. */
  readonly clean: boolean;
  /** The branch moved by exactly one commit; true for a success that committed. */
  readonly committed?: boolean;
  /** Paths that may differ after a STOP or BLOCKED because they are recorded, never reverted. */
  readonly left?: readonly string[];
  /** Paths in the repository that must not be there afterwards. */
  readonly gone?: readonly string[];
  /** Each one is part of some violation, warning, or evidence of BLOCKED.json. */
  readonly contains_evidence?: readonly string[];
}

/** One rehearsed tick, as data: the repository before, the script, the promise. */
export interface Fixture {
  readonly title: string;
  /** Laid over fixtures/base/config.json. */
  readonly config?: JsonObject;
  /** Written instead of the config; null leaves the file out. */
  readonly raw_config?: string | null;
  /** Committed files. */
  readonly files?: Readonly<Record<string, string>>;
  /** Written after the commit. */
  readonly untracked?: Readonly<Record<string, string>>;
  /** Shell steps in the repository after the commit. */
  readonly setup?: readonly string[];
  readonly lock?: 'held' | 'stale' | 'corrupt';
  readonly env?: Readonly<Record<string, string>>;
  /** Interrupts the tick in this phase, once the path exists in the repository. */
  readonly signal?: { readonly after_phase: string; readonly when_path?: string; readonly name: 'SIGINT' | 'SIGTERM' };
  readonly ticks?: number;
  /** A step's `task` is laid over fixtures/base/task.json and becomes its answer; so is `result` over result.json. */
  readonly scenario: JsonObject;
  readonly expect: Expectation;
}

export interface NamedFixture extends Fixture {
  readonly name: string;
  readonly dir: string;
}

/** The folder of fixtures that came with the package. */
export function fixturesDir(): string {
  return path.join(packageRoot(), 'fixtures');
}

/** A JSON file under fixtures/base. */
export async function readBase(name: string): Promise<JsonObject> {
  return JSON.parse(await readFile(path.join(fixturesDir(), 'base', name), 'utf8')) as JsonObject;
}

/** Every fixture in order, or those whose name begins with one of the prefixes. */
export async function listFixtures(prefixes: readonly string[] = []): Promise<NamedFixture[]> {
  const names = (await readdir(fixturesDir())).filter((name) => /^F\d{3}_/.test(name)).toSorted();
  const wanted = names.filter((name) => prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix)));
  return await Promise.all(wanted.map(readFixture));
}

async function readFixture(name: string): Promise<NamedFixture> {
  const dir = path.join(fixturesDir(), name);
  const fixture = JSON.parse(await readFile(path.join(dir, 'fixture.json'), 'utf8')) as Fixture;
  return { ...fixture, name, dir };
}

/** The scenario as the scripted agent reads it, with the short forms written out. */
export async function fullScenario(scenario: JsonObject): Promise<JsonObject> {
  const task = await readBase('task.json');
  const result = await readBase('result.json');
  const step = (short: Json): Json => {
    if (!isObject(short)) return short;
    const { task: taskOver, result: resultOver, ...rest } = short;
    if (isObject(taskOver)) return { ...rest, answer: overlay(task, taskOver) };
    if (isObject(resultOver)) return { ...rest, answer: overlay(result, resultOver) };
    return rest;
  };
  return Object.fromEntries(
    Object.entries(scenario).map(([role, steps]) => [role, Array.isArray(steps) ? steps.map(step) : []]),
  );
}
