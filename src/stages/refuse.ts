import type { Outcome } from '../outcome.js';
import { countersOf } from '../rules/budget.js';
import { buildReport } from '../rules/report.js';
import { renderReport } from '../rules/reportMd.js';
import type { World } from '../world/world.js';
import { isReady, workspaceOf, type Place } from './place.js';
import { readWorkspace } from './preflight.js';
import { blockedNote, pathsOf, timing, writeLog, writeMarkdown, type Begun, type Ended } from './writing.js';

/** Ends a tick that never started: BLOCKED.json with the remedy, and a report where one can be valid. */
export async function refuse(world: World, place: Place, begun: Begun, blocked: Outcome): Promise<Ended> {
  const note = blockedNote(world, begun.id, blocked);
  const ended: Ended = { runId: begun.id, outcome: blocked, blocked: note };
  const folder = workspaceAt(world, place);
  if (!(await world.files.exists(folder))) return ended;
  try {
    await world.files.writeJson(world.join(folder, 'BLOCKED.json'), note);
    // Whoever holds the lock may be judging right now: nothing else of ours may appear in the workspace.
    if (blocked.code === 'BLOCKED_LOCK_HELD') return ended;
    return await writeLog(world, folder, await reported(world, place, begun, ended));
  } catch (error) {
    // The caller still learns everything from the outcome.
    world.say('REPORT', `nothing could be written: ${error instanceof Error ? error.message : String(error)}`);
    return ended;
  }
}

/** Without a config or a HEAD no report would be valid. */
async function reported(world: World, place: Place, begun: Begun, ended: Ended): Promise<Ended> {
  if (!isReady(place)) return ended;
  const { repository, config } = place;
  const head = await (await place.git()).head();
  if (head === undefined) return ended;
  const { state } = await readWorkspace(world, repository, config);
  const report = buildReport({
    ...timing(world, begun),
    base_commit: head.commit,
    head_commit: head.commit,
    milestone_id: config.project.milestone_id,
    outcome: ended.outcome,
    touched: [],
    violations: ended.outcome.evidence,
    runs: [],
    counters: countersOf(state, config.project.milestone_id),
    warnings: [],
    paths: pathsOf(config, undefined),
  });
  const folder = workspaceAt(world, place);
  const reportMd = renderReport(report, config.runner.render_report_md.max_chars);
  await world.files.writeJson(world.join(folder, 'REPORT.json'), report);
  await writeMarkdown(world, folder, config, reportMd);
  return { ...ended, report, reportMd };
}

/** Also without a repository or a valid config, the workspace is looked for where it usually lies. */
function workspaceAt(world: World, { repository, config, root }: Place): string {
  if (repository !== undefined && config !== undefined) return workspaceOf(world, repository, config);
  return world.join(root, config?.workspace_dir ?? 'relais');
}
