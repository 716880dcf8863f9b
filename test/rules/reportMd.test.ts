import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outcome } from '../../src/outcome.js';
import { buildReport } from '../../src/rules/report.js';
import { renderReport } from '../../src/rules/reportMd.js';
import { hostileFacts, ran, reportFacts } from './reportFacts.js';
import { sampleTask, touch } from './samples.js';

describe('REPORT.md', () => {
  test('of a success', () => {
    expect(renderReport(buildReport(reportFacts({ warnings: ['budget critical'] })), 6000)).toBe(
      `# Relais: SUCCESS

- Blast radius: 1 file, +1/-1, 0 new
- Task: \`T1\` (execute), milestone \`M1\`
- Intent: \`Make the sum right.\`
- Run: \`20300101T000000Z-abcdef\`, \`2030-01-01T00:00:00.000Z\` to \`2030-01-01T00:00:05.000Z\`, 5000 ms
- Commits: base \`${'a'.repeat(40)}\`, head \`${'b'.repeat(40)}\`
- Scope: ok
- Diff: 1 file, 2 lines, patch \`relais/history/20300101T000000Z-abcdef/diff.patch\`
- Budget: 1 ticks, 1 orchestrator calls, 1 builder calls, 0 verify runs, 0.25 USD
- History: \`relais/history/20300101T000000Z-abcdef\`

## Verification

- \`test\` (fast): exit 0, 1234 ms, \`npm run test\`
- Log: \`relais/history/20300101T000000Z-abcdef/verify.log\`

## Warnings

- \`budget critical\`

## Touched

- \`src/sum.js\`
`,
    );
  });

  test('of a stop names the evidence and how each check ended', () => {
    const text = renderReport(
      buildReport(
        reportFacts({
          outcome: outcome('STOP_DIFF_TOO_LARGE', ['51 lines']),
          violations: ['51 lines'],
          runs: [ran({ exit_code: 137 }), ran({ timed_out: true, exit_code: 143 })],
        }),
      ),
      6000,
    );
    expect(text).toContain('# Relais: STOP `STOP_DIFF_TOO_LARGE`');
    expect(text).toContain('- Scope: violated');
    expect(text).toContain('## Evidence\n\n- `51 lines`');
    expect(text).toContain('(fast): exit 137,');
    expect(text).toContain('(fast): timed out,');
  });

  test('of a tick without checks says so', () => {
    expect(renderReport(buildReport(reportFacts({ runs: [] })), 6000)).toContain('No check was run.');
  });

  test('values can be neither Markdown nor HTML', () => {
    const intent = '`` x ``` <b>bold</b> [link](http://x) \n# heading';
    const text = renderReport(buildReport(reportFacts({ task: sampleTask({ intent }) })), 6000);
    expect(text).toContain('- Intent: ```` `` x ``` <b>bold</b> [link](http://x) # heading ````\n');
    expect(text.match(/^# /gm)).toHaveLength(1);
  });

  test('an empty value is shown as empty', () => {
    expect(renderReport(buildReport(reportFacts({ task: sampleTask({ intent: '\u0007' }) })), 6000)).toContain(
      '- Intent: `(empty)`',
    );
  });
});

describe('a report that is too long', () => {
  const report = buildReport(
    reportFacts({ touched: Array.from({ length: 400 }, (_, at) => touch(`src/file${at}.ts`)) }),
  );
  const whole = renderReport(report, 1_000_000);

  test('is cut after a whole line, says how many are missing, and begins like the whole one', () => {
    for (const max of [500, 700, 1000, 3000, whole.length - 1]) {
      const text = renderReport(report, max);
      expect(text.length).toBeLessThanOrEqual(max);
      const [kept = '', missing] = text.split(/\n… (\d+) more lines, cut here; REPORT\.json has all\n$/);
      expect(whole.startsWith(kept)).toBe(true);
      expect(kept.endsWith('\n')).toBe(true);
      expect(kept.split('\n').length - 1 + Number(missing)).toBe(whole.split('\n').length - 1);
    }
  });

  test('exactly the length is not cut', () => {
    expect(renderReport(report, whole.length)).toBe(whole);
  });

  test('a limit that is too small for anything still holds', () => {
    for (const max of [0, 1, 10, 60]) expect(renderReport(report, max).length).toBeLessThanOrEqual(max);
  });

  test('10,000 hostile paths fit, and hold no terminal escape', () => {
    const text = renderReport(buildReport(hostileFacts()), 6000);
    expect(text.length).toBeLessThanOrEqual(6000);
    expect(text.length).toBeGreaterThan(5000);
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u{e0000}-\u{e007f}]/u);
  });
});

describe('on another machine', () => {
  let folder = '';
  const script = (): string => path.join(folder, 'render.mjs');

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'relais-render-'));
    await build({
      stdin: {
        contents: `
          import { buildReport } from './src/rules/report.js';
          import { renderReport } from './src/rules/reportMd.js';
          import { hostileFacts } from './test/rules/reportFacts.js';
          import { readFileSync } from 'node:fs';
          const where = { zone: new Date(0).getTimezoneOffset(), number: (1234.5).toLocaleString() };
          const given = JSON.parse(readFileSync(process.argv[2], 'utf8'));
          const own = buildReport(hostileFacts());
          process.stdout.write(JSON.stringify({ where, given: renderReport(given, 6000), own, md: renderReport(own, 6000) }));`,
        resolveDir: process.cwd(),
        loader: 'ts',
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile: script(),
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
      logLevel: 'silent',
    });
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test('another zone, language and locale give the same bytes', async () => {
    const report = buildReport(reportFacts({ counters: { ...reportFacts().counters, estimated_cost_usd: 1234.5 } }));
    const file = path.join(folder, 'REPORT.json');
    await writeFile(file, JSON.stringify(report));
    const render = async (env: Record<string, string>) => {
      const { stdout } = await execa(process.execPath, [script(), file], { env, extendEnv: false });
      return JSON.parse(stdout) as { where: object; given: string; own: unknown; md: string };
    };
    const results = [
      await render({ TZ: 'UTC', LC_ALL: 'C', LANG: 'C' }),
      await render({ TZ: 'Pacific/Kiritimati', LC_ALL: 'de_DE.UTF-8', LANG: 'de_DE.UTF-8' }),
      await render({ TZ: 'America/St_Johns', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' }),
    ];
    // The processes really differ, or this would prove nothing.
    expect(new Set(results.map(({ where }) => JSON.stringify(where))).size).toBe(3);
    for (const result of results) {
      expect(result.given).toBe(renderReport(report, 6000));
      expect(result.own).toEqual(buildReport(hostileFacts()));
      expect(result.md).toBe(renderReport(buildReport(hostileFacts()), 6000));
    }
  });
});
