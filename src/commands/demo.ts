import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { EXIT_CODE } from '../outcome.js';
import { blastLine } from '../rules/judge.js';
import { DEMO_SCENARIO, demoConfig, DEMO_FILES, DEMO_SECRETS } from '../rehearse/demo.js';
import { readBase } from '../rehearse/fixture.js';
import { makeScratch, writeFiles, type Scratch } from '../rehearse/scratch.js';
import { differences, snapshot } from '../rehearse/snapshot.js';
import { printJson, refuse, speaker } from './output.js';
import { runTick } from './run.js';

type TickEnd = Awaited<ReturnType<typeof runTick>>;

interface DemoOptions {
  readonly keep: boolean;
  readonly json: boolean;
  readonly signal?: AbortSignal;
}

/** Plays two ticks with a scripted agent in a scratch repository: one that is kept, one that is stopped. */
export async function demoCommand(options: DemoOptions): Promise<number> {
  const scratch = await makeScratch({
    config: demoConfig(await readBase('config.json')),
    files: DEMO_FILES,
    scenario: DEMO_SCENARIO,
  });
  try {
    return await play(scratch, options);
  } finally {
    if (!options.keep) await scratch.dispose();
  }
}

async function play(scratch: Scratch, options: DemoOptions): Promise<number> {
  const say = speaker(options.json);
  await writeFiles(scratch.repo, DEMO_SECRETS);
  say('A scratch repository with one failing test, and a scripted agent: no model, no network, no cost.\n');
  say('Tick 1: the Hands repair src/price.js, which the task allows.');
  const kept = await tick(scratch, options);
  if (kept.outcome.verdict === 'success') say('  The change is one commit on the branch.');
  if (options.signal?.aborted) return interrupted(options);
  say('\nTick 2: the Hands do as asked, and also edit .env, which is forbidden and which git ignores.');
  const before = await snapshot(scratch.repo, scratch.env);
  const stopped = await tick(scratch, options);
  if (options.signal?.aborted) return interrupted(options);
  const left = differences(before, await snapshot(scratch.repo, scratch.env));
  say(
    left.length === 0
      ? '  Every file is back as it was, compared byte by byte; the rejected work is kept under refs/relais/rejected.'
      : `  Not as before: ${left.join(', ')}`,
  );
  const report = await readFile(path.join(scratch.repo, 'relais', 'REPORT.md'), 'utf8');
  say(`\nrelais/REPORT.md of tick 2:\n\n${indent(report)}`);
  say(afterwards);
  const good =
    kept.outcome.code === 'SUCCESS' && stopped.outcome.code === 'STOP_SCOPE_VIOLATION_FORBIDDEN' && left.length === 0;
  if (!good)
    say(`The demo did not go as planned: ${kept.outcome.code}, then ${stopped.outcome.code}. Please report this.`);
  if (options.keep) {
    say(`\nKept: ${scratch.repo}`);
    say(`Look around: cd ${quoted(scratch.repo)}${stopped.rejectedRef ? ` && git show ${stopped.rejectedRef}` : ''}`);
  }
  if (options.json) printJson({ ok: good, ...summary(kept, stopped, options.keep ? scratch.repo : null) });
  return good ? EXIT_CODE.done : EXIT_CODE.internal;
}

function interrupted({ json, signal }: DemoOptions): number {
  const exitCode = signal?.reason === 'SIGTERM' ? EXIT_CODE.SIGTERM : EXIT_CODE.SIGINT;
  return refuse(json, { why: 'the demo was interrupted', remedy: 'Start it again with `relais demo`.' }, exitCode);
}

async function tick(scratch: Scratch, { json, signal }: DemoOptions): Promise<TickEnd> {
  const say = speaker(json);
  const end = await runTick({
    cwd: scratch.repo,
    env: scratch.env,
    ...(signal && { signal }),
    onPhase: ({ phase, text }) => say(`  ${phase.padEnd(12)}${text}`),
  });
  const { verdict, code } = end.outcome;
  say(verdict === 'success' ? '  SUCCESS' : `  ${verdict.toUpperCase()}  ${code}`);
  if (end.report !== undefined) say(`  blast radius: ${blastLine(end.report.blast_radius)}`);
  for (const line of end.outcome.evidence) say(`  because: ${line}`);
  return end;
}

const afterwards = `
What to try next:
  npx relais demo --keep     this demo again, keeping the repository to look around
  npm link                   first, in the folder of Relais: makes relais a command in every folder
Then, in a repository of your own:
  relais init                set it up
  relais doctor              see whether everything needed is there, the agent program above all
  relais run                 one tick; this calls the agent and may cost money`;

/** As a shell takes it: the folder's name has spaces. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function indent(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (line === '' ? '' : `    ${line}`))
    .join('\n');
}

function summary(kept: TickEnd, stopped: TickEnd, repository: string | null): object {
  const ticks = [kept, stopped].map(({ outcome, report, runId }) => ({
    run_id: runId,
    verdict: outcome.verdict,
    code: outcome.code,
    evidence: outcome.evidence,
    blast_radius: report?.blast_radius ?? null,
  }));
  return { ticks, repository };
}
