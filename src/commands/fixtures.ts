import { EXIT_CODE } from '../outcome.js';
import { listFixtures } from '../rehearse/fixture.js';
import { rehearseAll, type Rehearsed } from '../rehearse/rehearse.js';
import { printJson, refuse, speaker } from './output.js';

/** Rehearses the fixtures with these names or prefixes, or all of them; 0 when every one passed, else 2. */
export async function fixturesCommand(
  names: readonly string[],
  options: { readonly json: boolean; readonly signal?: AbortSignal },
): Promise<number> {
  const say = speaker(options.json);
  const fixtures = await listFixtures(names);
  const unknown = names.filter((name) => !fixtures.some((fixture) => fixture.name.startsWith(name)));
  if (unknown.length > 0) {
    const known = (await listFixtures()).map(({ name }) => name.slice(0, 4));
    const remedy = `Give the beginning of a name, ${known[0]} to ${known.at(-1)}, or none for all of them.`;
    return refuse(options.json, { why: `no fixture begins with ${unknown.join(', ')}`, remedy }, EXIT_CODE.usage);
  }
  const done = await rehearseAll(fixtures, (one) => lines(one).forEach(say), options.signal);
  if (options.signal?.aborted) return options.signal.reason === 'SIGTERM' ? EXIT_CODE.SIGTERM : EXIT_CODE.SIGINT;
  const failed = done.filter((one) => one.problems.length > 0).length;
  const passed = done.length - failed;
  say(`${passed} passed, ${failed} failed`);
  if (options.json) printJson({ ok: failed === 0, passed, failed, fixtures: done });
  return failed === 0 ? EXIT_CODE.done : EXIT_CODE.stop;
}

function lines({ name, title, problems, duration_ms }: Rehearsed): string[] {
  if (problems.length === 0) return [`ok    ${name}  ${title}  (${duration_ms} ms)`];
  return [`FAIL  ${name}  ${title}`, ...problems.map((problem) => `      ${problem}`)];
}
