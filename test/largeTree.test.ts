import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runTick } from '../src/commands/run.js';
import { fullScenario, readBase } from '../src/rehearse/fixture.js';
import type { JsonObject } from '../src/rehearse/overlay.js';
import { makeScratch, type Scratch } from '../src/rehearse/scratch.js';

/** Enough for the walk to be kept between ticks and for git to be asked about it. */
const FILES = 5200;
const GREET = { write: 'src/greet.js', text: 'export const greet = (name) => `Hello, ${name}!`;\n' };

let scratch: Scratch | undefined;
afterEach(async () => {
  await scratch?.dispose();
  scratch = undefined;
});

async function large(): Promise<Scratch> {
  const files = Object.fromEntries(Array.from({ length: FILES }, (_, n) => [`data/part${n % 40}/file${n}`, `${n}\n`]));
  scratch = await makeScratch({ config: await readBase('config.json'), files, scenario: {} });
  // Files whose times are this young are always looked at by name.
  await new Promise((done) => setTimeout(done, 2100));
  return scratch;
}

async function tick({ repo, env, scenario }: Scratch, hands: JsonObject[]): Promise<string> {
  const play = await fullScenario({ orchestrator: [{ task: {} }], builder: [{ do: hands, result: {} }] });
  writeFileSync(scenario, JSON.stringify(play));
  return (await runTick({ cwd: repo, env })).outcome.code;
}

function recordOf({ root }: Scratch): string | undefined {
  const [repository = ''] = readdirSync(path.join(root, 'state'));
  const walks = path.join(root, 'state', repository, 'walks');
  const [walk] = existsSync(walks) ? readdirSync(walks) : [];
  return walk === undefined ? undefined : path.join(walks, walk);
}

function status({ repo, env }: Scratch): string {
  return execFileSync('git', ['status', '--porcelain'], { cwd: repo, env, encoding: 'utf8' });
}

/** The same size, the same mtime: git alone would not look twice. */
const DISGUISED = `touch -r data/part1/file1 "$TMPDIR/times" && printf X >data/part1/file1 && printf '\\n' >>data/part1/file1 && touch -r "$TMPDIR/times" data/part1/file1`;

describe('a work tree so large that its walk is kept', () => {
  it('is judged like any other, in the first tick and in those that build on it', async () => {
    const made = await large();
    expect(await tick(made, [GREET])).toBe('SUCCESS');
    const record = recordOf(made);
    const written = statSync(path.join(record ?? '', 'index')).mtimeMs;
    for (const attack of [
      [GREET, { sh: DISGUISED }],
      [GREET, { sh: 'rm data/part2/file2' }],
      [GREET, { sh: 'mkdir data/new && touch data/new/file' }],
      [GREET, { sh: 'mv data/part3 data/part03 && ln -s part03 data/part3' }],
      [GREET, { sh: 'chmod 600 data/part4/file4' }],
    ]) {
      expect(await tick(made, attack)).toMatch(/^STOP_SCOPE_VIOLATION/);
      expect(status(made)).toBe('');
      expect(statSync(path.join(made.repo, 'data/part4/file4')).mode & 0o777).toBe(0o644);
    }
    expect(await tick(made, [{ ...GREET, text: GREET.text.replace('Hello', 'Hi') }])).toBe('SUCCESS');
    expect(recordOf(made)).toBe(record);
    expect(statSync(path.join(record ?? '', 'index')).mtimeMs).toBe(written);
  }, 120_000);

  it('is not fooled by a record that the Hands rewrote', async () => {
    const made = await large();
    expect(await tick(made, [GREET])).toBe('SUCCESS');
    const index = path.join(recordOf(made) ?? '', 'index');
    // Times of the record entry become zeros or ones, whatever makes git say nothing: an index without entries does.
    const forge = `printf 'DIRC\\000\\000\\000\\002\\000\\000\\000\\000' >'${index}' && printf '01234567890123456789' >>'${index}'`;
    expect(await tick(made, [GREET, { sh: `${DISGUISED} && ${forge}` }])).toBe('STOP_SCOPE_VIOLATION_OUTSIDE_ALLOWED');
    expect(readFileSync(path.join(made.repo, 'data/part1/file1'), 'utf8')).toBe('1\n');
    expect(recordOf(made)).toBeUndefined();
    expect(await tick(made, [{ ...GREET, text: '// other\n' }])).toBe('SUCCESS');
    expect(recordOf(made)).toBeDefined();
  }, 120_000);
});
