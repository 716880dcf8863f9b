import { availableParallelism } from 'node:os';
import { problems } from './expect.js';
import type { NamedFixture } from './fixture.js';
import { play } from './play.js';

/** How one fixture went; no problems means it passed. */
export interface Rehearsed {
  readonly name: string;
  readonly title: string;
  readonly problems: readonly string[];
  readonly duration_ms: number;
}

/** Plays one fixture and judges it; an error inside is a problem like any other. */
export async function rehearse(fixture: NamedFixture): Promise<Rehearsed> {
  const started = performance.now();
  const found = await play(fixture, (played) => problems(fixture, played)).catch((error: unknown) => [
    `the tick broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  ]);
  return {
    name: fixture.name,
    title: fixture.title,
    problems: found,
    duration_ms: Math.round(performance.now() - started),
  };
}

/** Plays fixtures a few at a time and tells of each as soon as it and those before it are done; a signal ends it after those under way. */
export async function rehearseAll(
  fixtures: readonly NamedFixture[],
  tell: (one: Rehearsed) => void,
  signal?: AbortSignal,
): Promise<Rehearsed[]> {
  const width = Math.min(4, availableParallelism());
  const running: Promise<Rehearsed>[] = [];
  let told = Promise.resolve();
  for (const [index, fixture] of fixtures.entries()) {
    if (index >= width) await running[index - width];
    if (signal?.aborted) break;
    const one = rehearse(fixture);
    running.push(one);
    told = told.then(async () => tell(await one));
  }
  await told;
  return await Promise.all(running);
}
