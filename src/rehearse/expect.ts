import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { execa } from 'execa';
import type { Report } from '../generated/types.js';
import { renderReport } from '../rules/reportMd.js';
import { checkBlocked, checkMeta, checkReport } from '../schemas.js';
import type { NamedFixture } from './fixture.js';
import { normalReport } from './normal.js';
import { isObject, type Json } from './overlay.js';
import { textOf, type Played, type TickEnd } from './play.js';
import { budgetProblems } from './expectState.js';
import { differences, isRuntime } from './snapshot.js';

interface Case {
  readonly fixture: NamedFixture;
  readonly played: Played;
  readonly end: TickEnd;
  /** REPORT.json of the last tick, where this ending writes one. */
  readonly report: Report | undefined;
  setting(...keys: readonly string[]): Json | undefined;
  file(name: string): Promise<string | undefined>;
}

type Check = (one: Case) => Promise<readonly string[]> | readonly string[];

/** Whether an ending leaves the last report alone and speaks through BLOCKED.json only: always, or without config or HEAD. */
function isReportless({ outcome, report }: TickEnd): boolean {
  return outcome.code === 'BLOCKED_LOCK_HELD' || (outcome.code === 'BLOCKED_MISSING_CONFIG' && report === undefined);
}

/** Everything a fixture gets wrong: the contract that holds for all of them, its own promise, then its whole report. */
export async function problems(fixture: NamedFixture, played: Played): Promise<string[]> {
  return [...(await brokenPromises(fixture, played)), ...(await reportProblems(fixture, played))];
}

/** The contract that holds for all fixtures and this one's own promise, without its recorded report. */
export async function brokenPromises(fixture: NamedFixture, played: Played): Promise<string[]> {
  const end = played.ends.at(-1);
  if (end === undefined) return ['no tick was played'];
  const file = (name: string): Promise<string | undefined> => textOf(path.join(played.scratch.repo, name));
  const text = isReportless(end) ? undefined : await file('relais/REPORT.json');
  const report = text === undefined ? undefined : (JSON.parse(text) as Report);
  const setting = (...keys: readonly string[]): Json | undefined =>
    keys.reduce<Json | undefined>((value, key) => (isObject(value) ? value[key] : undefined), played.config);
  const one: Case = { fixture, played, end, report, setting, file };
  const found: string[] = [];
  for (const check of [...CONTRACT, ...PROMISE]) found.push(...(await check(one)));
  return found;
}

/** The whole report, compared with only ids, times and hashes made equal; undefined where there is none. */
export function reportText(played: Played): string | undefined {
  const { report } = played.ends.at(-1) ?? {};
  return report === undefined ? undefined : normalReport(report, played);
}

const CONTRACT: readonly Check[] = [
  reportIsValid,
  markdownIsRendered,
  blockedIsWritten,
  lockIsReleased,
  noStrayFile,
  historyIsWritten,
  nothingMoved,
];
const PROMISE: readonly Check[] = [ending, calls, evidence, gone, cleanTree];

function reportIsValid({ report, end }: Case): string[] {
  if (isReportless(end)) return end.report === undefined ? [] : ['a report was made though this ending has none'];
  if (report === undefined) return ['there is no relais/REPORT.json'];
  const checked = checkReport(report);
  if (!checked.ok) return checked.errors.map((error) => `REPORT.json: ${error}`);
  return JSON.stringify(report) === JSON.stringify(end.report)
    ? []
    : ['REPORT.json is not the report the tick returned'];
}

async function markdownIsRendered({ report, setting, file }: Case): Promise<string[]> {
  if (report === undefined) return [];
  const written = await file('relais/REPORT.md');
  if (setting('runner', 'render_report_md', 'enabled') === false)
    return written === undefined ? [] : ['REPORT.md was written though rendering is off'];
  const wanted = renderReport(report, Number(setting('runner', 'render_report_md', 'max_chars')));
  return written === wanted ? [] : ['REPORT.md is not the rendering of REPORT.json'];
}

async function blockedIsWritten({ end, fixture, file }: Case): Promise<string[]> {
  const text = await file('relais/BLOCKED.json');
  if (end.outcome.verdict !== 'blocked')
    return text === undefined ? [] : ['BLOCKED.json is left though the tick was not blocked'];
  if (text === undefined) return ['there is no relais/BLOCKED.json'];
  const checked = checkBlocked(JSON.parse(text));
  if (!checked.ok) return checked.errors.map((error) => `BLOCKED.json: ${error}`);
  return checked.value.code === fixture.expect.code ? [] : [`BLOCKED.json says ${checked.value.code}`];
}

async function lockIsReleased({ played, fixture, file }: Case): Promise<string[]> {
  const lock = await file('relais/lock.json');
  const foreign = fixture.lock === 'held' || fixture.lock === 'corrupt';
  if (foreign) return lock === played.lockBefore ? [] : ['the lock of another process was touched'];
  return lock === undefined ? [] : ['the lock was not released'];
}

async function noStrayFile({ played }: Case): Promise<string[]> {
  const known = [...played.before.keys()];
  const names = await readdir(path.join(played.scratch.repo, 'relais')).catch((): string[] => []);
  const stray = names.filter((name) => !isRuntime(`relais/${name}`) && !known.includes(`relais/${name}`));
  return stray.map((name) => `stray file relais/${name}`);
}

async function historyIsWritten({ played, report, end, setting, fixture }: Case): Promise<string[]> {
  const dir = path.join(played.scratch.repo, 'relais', 'history', end.runId);
  const names = await readdir(dir).catch((): string[] => []);
  const none = report === undefined || end.outcome.verdict === 'blocked' || setting('history', 'enabled') === false;
  if (none) return names.length === 0 ? [] : [`history was written: ${names.join(' ')}`];
  const wanted = ['meta.json', 'report.json'];
  if (setting('runner', 'render_report_md', 'enabled') !== false) wanted.push('report.md');
  if (setting('history', 'include_diff_patch') !== false && fixture.expect.calls.builder > 0) wanted.push('diff.patch');
  if (setting('history', 'include_verify_log') !== false && fixture.expect.verify_runs > 0) wanted.push('verify.log');
  const found = wanted.filter((name) => !names.includes(name)).map((name) => `history lacks ${name}`);
  if (setting('history', 'include_diff_patch') === false && names.includes('diff.patch'))
    found.push('history holds diff.patch though it is off');
  if (setting('history', 'include_verify_log') === false && names.includes('verify.log'))
    found.push('history holds verify.log though it is off');
  if (found.length > 0) return found;
  const meta = checkMeta(JSON.parse(await readFile(path.join(dir, 'meta.json'), 'utf8')));
  if (!meta.ok) found.push(...meta.errors.map((error) => `meta.json: ${error}`));
  const kept = JSON.parse(await readFile(path.join(dir, 'report.json'), 'utf8')) as Report;
  return JSON.stringify(kept) === JSON.stringify(report) ? found : [...found, 'history/report.json is not REPORT.json'];
}

/** A tick that did not succeed leaves every byte, mode, link, ref and index entry as it found it. */
function nothingMoved({ played, end, fixture }: Case): string[] {
  if (end.outcome.verdict === 'success') return [];
  const left = fixture.expect.left ?? [];
  return differences(played.before, played.after)
    .filter((name) => !left.includes(name))
    .map((name) => `${name} is not as it was before the tick`);
}

function ending({ end, fixture: { expect } }: Case): string[] {
  const found: string[] = [];
  const { verdict, code } = end.outcome;
  if (code !== expect.code)
    found.push(`code ${code} instead of ${expect.code} (${end.outcome.evidence.slice(0, 3).join('; ')})`);
  if (verdict !== expect.verdict) found.push(`verdict ${verdict} instead of ${expect.verdict}`);
  if (end.exitCode !== expect.exit_code) found.push(`exit code ${end.exitCode} instead of ${expect.exit_code}`);
  return found;
}

async function calls({ played, fixture: { expect }, end, report, file }: Case): Promise<string[]> {
  const found: string[] = [];
  for (const role of ['orchestrator', 'builder'] as const) {
    const counted = played.calls[role] ?? 0;
    if (counted !== expect.calls[role]) found.push(`${counted} ${role} calls instead of ${expect.calls[role]}`);
  }
  if (played.checks !== expect.verify_runs) found.push(`${played.checks} checks ran instead of ${expect.verify_runs}`);
  if (report !== undefined && played.ends.length === 1 && report.verification.runs.length !== played.checks) {
    found.push(`the report tells of ${report.verification.runs.length} checks, ${played.checks} ran`);
  }
  if (
    end.outcome.code === 'BLOCKED_CRASH_RECOVERY_REQUIRED' ||
    end.outcome.code === 'BLOCKED_MISSING_CONFIG' ||
    isReportless(end)
  )
    return found;
  return [...found, ...budgetProblems(played, expect, await file('relais/STATE.json'))];
}

async function evidence({ end, report, fixture, file }: Case): Promise<string[]> {
  const said = [
    ...(report?.scope.violations ?? []),
    ...(report?.budgets.warnings ?? []),
    ...end.outcome.evidence,
    (await file('relais/BLOCKED.json')) ?? '',
  ];
  const wanted = fixture.expect.contains_evidence ?? [];
  return wanted
    .filter((text) => !said.some((line) => line.includes(text)))
    .map((text) => `nothing says "${text}"; said: ${said.slice(0, 4).join(' | ')}`);
}

async function gone({ fixture: { expect }, file }: Case): Promise<string[]> {
  const found: string[] = [];
  for (const name of expect.gone ?? []) if ((await file(name)) !== undefined) found.push(`${name} is still there`);
  return found;
}

async function cleanTree({ played, end, fixture: { expect } }: Case): Promise<string[]> {
  const found: string[] = [];
  const { repo, env } = played.scratch;
  const status = await execa('git', ['status', '--porcelain', '-uall'], {
    cwd: repo,
    env,
    extendEnv: false,
    reject: false,
  });
  if (status.exitCode === 0 && (status.stdout === '') !== expect.clean)
    found.push(expect.clean ? `not clean: ${status.stdout}` : 'clean though changes should be left');
  const moved = played.headBefore !== played.headAfter;
  const wanted = expect.committed ?? false;
  if (moved !== wanted) found.push(wanted ? 'nothing was committed' : 'HEAD moved');
  if (wanted && end.outcome.verdict === 'success') {
    const parent = await execa('git', ['rev-parse', 'HEAD^'], { cwd: repo, env, extendEnv: false, reject: false });
    if (parent.stdout !== played.headBefore) found.push('the branch did not move by exactly one commit');
  }
  return found;
}

async function reportProblems(fixture: NamedFixture, played: Played): Promise<string[]> {
  const wanted = await textOf(path.join(fixture.dir, 'expect.report.json'));
  const got = reportText(played);
  if (wanted === got) return [];
  if (wanted === undefined) return ['expect.report.json is missing'];
  if (got === undefined) return ['expect.report.json stands, but there is no report'];
  const lines = wanted.split('\n');
  const at = got.split('\n').findIndex((line, index) => line !== lines[index]);
  return [`the report differs in line ${at + 1}: ${got.split('\n')[at]?.trim()} instead of ${lines[at]?.trim()}`];
}
