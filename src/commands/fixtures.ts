import { listFixtures } from '../rehearse/fixture.js';
import { rehearseAll, type Rehearsed } from '../rehearse/rehearse.js';

/** Rehearses the fixtures with these names or prefixes, or all of them; 0 when every one passed, else 2. */
export async function fixturesCommand(names: readonly string[], options: { readonly json: boolean }): Promise<number> {
  const fixtures = await listFixtures(names);
  const unknown = names.filter((name) => !fixtures.some((fixture) => fixture.name.startsWith(name)));
  if (unknown.length > 0) {
    process.stderr.write(`No fixture begins with ${unknown.join(', ')}. Try F001, or no name for all of them.\n`);
    return 64;
  }
  const done = await rehearseAll(fixtures, (one) => {
    (options.json ? process.stderr : process.stdout).write(lines(one));
  });
  const failed = done.filter((one) => one.problems.length > 0).length;
  const closing = { passed: done.length - failed, failed };
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ ...closing, fixtures: done })}\n`
      : `${closing.passed} passed, ${failed} failed\n`,
  );
  return failed === 0 ? 0 : 2;
}

function lines({ name, title, problems, duration_ms }: Rehearsed): string {
  if (problems.length === 0) return `ok    ${name}  ${title}  (${duration_ms} ms)\n`;
  return `FAIL  ${name}  ${title}\n${problems.map((problem) => `      ${problem}\n`).join('')}`;
}
