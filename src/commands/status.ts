import type { Config, Report, State } from '../generated/types.js';
import { CODE_MEANING, EXIT_CODE } from '../outcome.js';
import { countersOf, summary } from '../rules/budget.js';
import { blastLine } from '../rules/judge.js';
import { PREFLIGHT_ROWS } from '../rules/preflight.js';
import { decideAll } from '../rules/table.js';
import { checkReport, parseJson } from '../schemas.js';
import { readJournal } from '../stages/journal.js';
import { lockFact } from '../stages/lock.js';
import { locate, lockPath, workspaceOf, type Place } from '../stages/place.js';
import { gatherPreflight, readWorkspace } from '../stages/preflight.js';
import { createWorld, type World } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions, type Problem } from './output.js';

const MAX_REPORT = 8 * 1024 * 1024;
const SHOWN = 8;

type LockFact = ReturnType<typeof lockFact>;

/** What the workspace tells about the past and the present. */
interface Standing {
  readonly config: Config;
  readonly state: State;
  readonly invalid: readonly string[];
  readonly lock: LockFact;
  readonly interrupted?: { readonly run_id: string; readonly phase: string; readonly hands_started: boolean };
  readonly last?: Report;
}

/** `relais status [--preflight]`: reads, prints, writes nothing, takes no lock, calls no agent. */
export async function statusCommand(options: CommandOptions & { readonly preflight: boolean }): Promise<number> {
  const world = await createWorld(options);
  const place = await locate(world);
  const standing = await stand(world, place);
  if (options.preflight) return preflight(world, place, standing, options.json);
  if (standing === undefined) return refuse(options.json, placeProblem(place), EXIT_CODE.blocked);
  for (const line of standingLines(standing)) speaker(options.json)(line);
  if (options.json) printJson({ ok: standing.invalid.length === 0, ...standingJson(standing) });
  if (standing.invalid.length > 0) return EXIT_CODE.blocked;
  return standing.state.pending_question === undefined ? EXIT_CODE.done : EXIT_CODE.waiting;
}

function placeProblem({ facts: { config, git } }: Place): Problem {
  if (!git.ok) return { why: git.why, remedy: 'Go to your repository, or make one here with git init.' };
  const why = config.state === 'ok' ? [] : config.why;
  if (config.state === 'missing') return { why: why.join('; '), remedy: 'Run `relais init`.' };
  const more = why.length > SHOWN ? `; ${why.length - SHOWN} more` : '';
  return {
    why: `${why.slice(0, SHOWN).join('; ')}${more}`,
    remedy: 'Correct it as said; relais/schemas/config.schema.json describes every key.',
  };
}

async function stand(world: World, { repository, config }: Place): Promise<Standing | undefined> {
  if (repository === undefined || config === undefined) return undefined;
  const { state, invalid } = await readWorkspace(world, repository, config);
  const { journal, damaged } = await readJournal(world, world.privateDir(repository.commonDir));
  const read = await world.files.readText(
    world.join(workspaceOf(world, repository, config), 'REPORT.json'),
    MAX_REPORT,
  );
  const json = read.found === 'text' ? parseJson(read.text) : undefined;
  const report = json?.ok ? checkReport(json.value) : undefined;
  return {
    config,
    state,
    invalid: [...(damaged === undefined ? [] : [damaged]), ...invalid],
    lock: lockFact(await world.lock.inspectLock(lockPath(world, repository, config), world.host)),
    ...(journal && {
      interrupted: { run_id: journal.run_id, phase: journal.phase, hands_started: journal.hands_started },
    }),
    ...(report?.ok && { last: report.value }),
  };
}

function standingJson({ config, state, lock, interrupted, last, invalid }: Standing): object {
  const milestone = config.project.milestone_id;
  return {
    milestone_id: milestone,
    counters: countersOf(state, milestone),
    pending_question: state.pending_question ?? null,
    notices: state.notices,
    last_run_id: state.last_run_id ?? null,
    last_report: last === undefined ? null : { run_id: last.run_id, verdict: last.verdict, code: last.code },
    lock,
    interrupted: interrupted ?? null,
    invalid,
  };
}

function standingLines({ config, state, lock, interrupted, last, invalid }: Standing): string[] {
  const milestone = config.project.milestone_id;
  const question = state.pending_question;
  const running = lock.state === 'held';
  return [
    `product      ${config.product_name}`,
    `milestone    ${milestone}`,
    ...summary(config, countersOf(state, milestone))
      .split('\n')
      .map((line) => `  ${line}`),
    last === undefined
      ? `last run     ${state.last_run_id ?? 'none yet'}`
      : `last report  ${last.code}, ${blastLine(last.blast_radius)} (${last.run_id})`,
    ...(lock.state === 'free' ? [] : [`lock         ${lock.state}: ${lock.why ?? ''}`]),
    ...(interrupted === undefined || running
      ? []
      : [`interrupted  ${interrupted.run_id} in ${interrupted.phase}  (put it in order with \`relais recover\`)`]),
    ...invalid.map((line) => `damaged      ${line}  (put it in order with \`relais recover\`)`),
    ...state.notices.map((notice) => `notice       ${notice.text}  (seen? \`relais recover\` clears it)`),
    ...(state.answer === undefined ? [] : [`answer       "${state.answer.text}" waits for the next tick`]),
    ...(question === undefined
      ? []
      : [
          `question     ${question.prompt}`,
          ...question.choices.map((choice, index) => `  ${index + 1}. ${choice}`),
          '  answer it with `relais answer`',
        ]),
    'next         `relais status --preflight` says whether a tick could start',
  ];
}

async function preflight(world: World, place: Place, standing: Standing | undefined, json: boolean): Promise<number> {
  const say = speaker(json);
  const facts = await gatherPreflight(world, place, standing?.lock ?? { state: 'free', why: '' });
  const failing = decideAll(PREFLIGHT_ROWS, facts).map(({ id, outcome }) => ({
    row: id,
    code: outcome.code,
    evidence: outcome.evidence,
    remedy: outcome.remedy ?? CODE_MEANING[outcome.code].remedy,
    ...(outcome.notBefore !== undefined && { not_before: outcome.notBefore }),
  }));
  const [first] = failing;
  for (const notice of standing?.state.notices ?? [])
    say(`notice: ${notice.text}  (seen? \`relais recover\` clears it)`);
  if (first === undefined) say('Ready: `relais run` can start.');
  else say(failing.length === 1 ? 'Not ready:' : `Not ready, for ${failing.length} reasons; the first one decides:`);
  for (const { code, evidence, remedy } of failing) {
    say(code);
    for (const line of evidence.slice(0, SHOWN)) say(`  - ${line}`);
    if (evidence.length > SHOWN) say(`  - … ${evidence.length - SHOWN} more`);
    say(`  remedy: ${remedy}`);
  }
  if (json) printJson({ ready: first === undefined, failing, ...(standing && standingJson(standing)) });
  if (first === undefined) return EXIT_CODE.done;
  return first.code === 'BLOCKED_AWAITING_ANSWER' ? EXIT_CODE.waiting : EXIT_CODE.blocked;
}
