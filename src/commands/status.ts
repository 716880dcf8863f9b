import { CODE_MEANING } from '../outcome.js';
import { countersOf, summary } from '../rules/budget.js';
import { PREFLIGHT_ROWS } from '../rules/preflight.js';
import { decideAll } from '../rules/table.js';
import { clean } from '../rules/text.js';
import { lockFact } from '../stages/lock.js';
import { locate, lockPath } from '../stages/place.js';
import { gatherPreflight, readWorkspace } from '../stages/preflight.js';
import { createWorld } from '../world/world.js';

/** `relais status [--preflight]`: reads, prints, writes nothing, takes no lock, calls no agent. */
export async function statusCommand(options: {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  preflight: boolean;
  json: boolean;
}): Promise<number> {
  const world = await createWorld(options);
  const place = await locate(world);
  const { repository, config } = place;
  const found =
    repository === undefined || config === undefined
      ? undefined
      : await world.lock.inspectLock(lockPath(world, repository, config), world.host);
  const facts = await gatherPreflight(world, place, found === undefined ? { state: 'free', why: '' } : lockFact(found));
  const failing = decideAll(PREFLIGHT_ROWS, facts).map(({ id, outcome }) => ({
    row: id,
    code: outcome.code,
    evidence: outcome.evidence,
    remedy: outcome.remedy ?? CODE_MEANING[outcome.code].remedy,
  }));
  const state =
    repository === undefined || config === undefined
      ? undefined
      : (await readWorkspace(world, repository, config)).state;
  const waiting = state?.pending_question;
  const say = (line: string): void => void process.stderr.write(`${clean(line)}\n`);
  if (options.json) {
    process.stdout.write(
      `${JSON.stringify({ ready: failing.length === 0, failing, milestone_id: config?.project.milestone_id ?? null, counters: config === undefined || state === undefined ? null : countersOf(state, config.project.milestone_id), pending_question: waiting ?? null, notices: state?.notices ?? [], last_run_id: state?.last_run_id ?? null })}\n`,
    );
  }
  if (config !== undefined && state !== undefined && !options.preflight) {
    say(`milestone    ${config.project.milestone_id}`);
    for (const line of summary(config, countersOf(state, config.project.milestone_id)).split('\n')) say(`  ${line}`);
    say(`last run     ${state.last_run_id ?? 'none yet'}`);
    if (waiting !== undefined) say(`question     ${waiting.prompt}  (answer it with \`relais answer\`)`);
  }
  for (const notice of state?.notices ?? []) say(`notice       ${notice.text}  (seen? \`relais recover\` clears it)`);
  say(
    failing.length === 0
      ? 'preflight    ok: `relais run` can start'
      : `preflight    ${failing.length} row(s) would block; the first one decides:`,
  );
  for (const row of failing) {
    say(`  ${row.code}`);
    for (const line of row.evidence.slice(0, 8)) say(`    - ${line}`);
    say(`    next: ${row.remedy}`);
  }
  if (failing.length === 0) return 0;
  return failing[0]?.code === 'BLOCKED_AWAITING_ANSWER' ? 1 : 3;
}
