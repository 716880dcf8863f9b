import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { git, makeGround, playTick, textIn, type Ground, type Slot } from './properties/ground.js';

const exec = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, '..');

/** Read afresh: the schema file itself decides, not the code that was generated from it. */
const ajv = new Ajv2020({ allErrors: true, strict: false });
formats.default(ajv);
const isReport = ajv.compile(JSON.parse(readFileSync(path.join(ROOT, 'schemas', 'report.schema.json'), 'utf8')));

let made: Ground;

beforeAll(async () => {
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1');
  made = await makeGround();
  vi.stubEnv('HOME', made.home);
});

afterAll(async () => {
  await made.dispose();
  vi.unstubAllEnvs();
});

interface Wanted {
  readonly code: string;
  readonly task?: Parameters<typeof playTick>[1]['task'];
  readonly hands: string;
}

interface Found {
  readonly slot: Slot;
  readonly report: any;
  readonly meta: any;
}

/** One tick whose report must fit the schema and be rendered alike everywhere; then the case's own look. */
async function reported(wanted: Wanted, look: (found: Found) => void): Promise<void> {
  const slot = await made.take();
  try {
    const task = { diff_limits: { max_files_touched: 500, max_lines_changed: 20_000 }, ...wanted.task };
    const ended = await playTick(slot, { task, hands: Buffer.from(wanted.hands) });
    expect(`${ended.outcome.code} ${ended.outcome.evidence.slice(0, 3).join('; ')}`).toContain(wanted.code);
    const report: unknown = JSON.parse(textIn(slot, 'relais/REPORT.json'));
    isReport(report);
    expect(isReport.errors ?? []).toEqual([]);
    await expectRendering(slot);
    expect(await git(slot, 'status', '--porcelain', '-uall')).toBe('');
    look({ slot, report, meta: JSON.parse(textIn(slot, `relais/history/${ended.runId}/meta.json`)) });
  } finally {
    made.give(slot);
  }
}

const PLACES = [
  { TZ: 'Pacific/Auckland', LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' },
  { TZ: 'UTC', LC_ALL: 'C', LANG: 'C' },
];

/** REPORT.md again from REPORT.json, twice, in a process that believes itself elsewhere. */
async function expectRendering(slot: Slot): Promise<void> {
  const bundle = path.join(slot.root, 'render.mjs');
  await build({
    stdin: {
      contents: `
        import { readFileSync } from 'node:fs';
        import { renderReport } from './src/rules/reportMd.js';
        const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
        const where = [new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().locale];
        process.stdout.write(JSON.stringify({ where, texts: [renderReport(report, 6000), renderReport(report, 6000)] }));`,
      resolveDir: ROOT,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    outfile: bundle,
    logLevel: 'silent',
  });
  const written = textIn(slot, 'relais/REPORT.md');
  const places = new Set<string>();
  for (const place of PLACES) {
    const args = [bundle, path.join(slot.repo, 'relais', 'REPORT.json')];
    const { stdout } = await exec(process.execPath, args, { env: { ...slot.env, ...place } });
    const { where, texts } = JSON.parse(stdout) as { where: unknown; texts: string[] };
    places.add(JSON.stringify(where));
    expect(texts, place.TZ).toEqual([written, written]);
  }
  expect(places.size).toBe(PLACES.length);
}

describe('REPORT.json fits its schema and REPORT.md is its rendering', () => {
  it('after an ordinary success', async () => {
    const hands = "printf 'I\\304\\260\\304\\261\\n' >> src/plain.js";
    const task = { intent: 'TITLE I\u0130\u0131i `code` <b>1.234,5</b>', verification: { fast: ['pass'], slow: [] } };
    await reported({ code: 'SUCCESS', task, hands }, ({ report }) => {
      expect(report.blast_radius).toEqual({ files_touched: 1, lines_added: 1, lines_deleted: 0, new_files: 0 });
    });
  });

  it('with 10,000 touched files', async () => {
    const hands = 'i=0; while [ $i -lt 10000 ]; do echo $i > "src/f$i"; i=$((i+1)); done';
    await reported({ code: 'STOP_SCOPE_VIOLATION_NEW_FILE', hands }, ({ report, meta }) => {
      expect(report.blast_radius).toEqual({
        files_touched: 10_000,
        lines_added: 10_000,
        lines_deleted: 0,
        new_files: 10_000,
      });
      expect(report.scope.touched_paths).toHaveLength(500);
      expect(report.scope.touched_paths.at(-1)).toContain('9501 more');
      expect(report.scope.violations).toHaveLength(200);
      expect(meta.touched).toHaveLength(10_000);
    });
  }, 120_000);

  it('with 10,000 touched files that are only too many', async () => {
    const hands = 'i=0; while [ $i -lt 10000 ]; do : > "src/f$i"; i=$((i+1)); done';
    const task = { scope: { allow_new_files: true } };
    await reported({ code: 'STOP_DIFF_TOO_LARGE', task, hands }, ({ report }) => {
      expect(report.scope.violations).toHaveLength(1);
      expect(report.diff.files_changed).toBe(10_000);
    });
  }, 120_000);

  const folders = (count: number): string =>
    `n=${'n'.repeat(99)}; cd src; i=0; while [ $i -lt ${count} ]; do mkdir $n && cd $n; i=$((i+1)); done; echo x > end.js`;

  it('with a path as long as the system takes', async () => {
    await reported({ code: 'STOP_SCOPE_VIOLATION_NEW_FILE', hands: folders(35) }, ({ report, meta }) => {
      expect(meta.touched[0].path.length).toBeGreaterThan(3500);
      expect(report.scope.touched_paths[0].length).toBeLessThanOrEqual(400);
    });
  });

  it('with a path of 5,000 characters, longer than any call takes', async () => {
    await reported({ code: 'STOP_', hands: folders(50) }, ({ report }) => {
      expect(report.verdict).toBe('stop');
      expect(report.scope.touched_paths.length).toBeGreaterThan(0);
    });
  });

  it('with a name of 5,000 characters in a patch', async () => {
    const name = `src/${'n'.repeat(5000)}`;
    const patch = `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`;
    const task = { scope: { allow_new_files: true }, builder: { mode: 'patch', max_turns: 1, patch } };
    await reported({ code: 'STOP_', task, hands: '' }, ({ report }) => expect(report.verdict).toBe('stop'));
  });

  it('with a check killed by a signal', async () => {
    const task = { verification: { fast: ['killed'], slow: [] } };
    await reported({ code: 'STOP_VERIFY_FAILED_FAST', task, hands: 'echo x >> src/plain.js' }, ({ report }) => {
      expect(report.verification.runs).toMatchObject([{ template_id: 'killed', exit_code: 137, timed_out: false }]);
    });
  });

  it('with names of control characters, and bytes that are no text', async () => {
    const hands = `mkdir src/x; cd src/x; for i in 1 2 3 4 5 6 7 10 13 16 33 177; do : > "$(printf "a\\\\$i.")"; done; : > "$(printf '\\377\\200')"; : > "$(printf '\\342\\200\\256evil')"`;
    await reported({ code: 'STOP_SCOPE_VIOLATION_NEW_FILE', hands }, ({ slot, report }) => {
      expect(report.blast_radius.new_files).toBe(14);
      const shown = `${textIn(slot, 'relais/REPORT.json')}${textIn(slot, 'relais/REPORT.md')}`;
      expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/);
    });
  });
});
