import type { State } from '../generated/types.js';
import { EXIT_CODE } from '../outcome.js';
import { clean } from '../rules/text.js';
import { lockTick } from '../stages/lock.js';
import { isReady, locate, workspaceOf } from '../stages/place.js';
import { readWorkspace } from '../stages/preflight.js';
import { createWorld } from '../world/world.js';
import { printJson, refuse, speaker, type CommandOptions, type Problem } from './output.js';

const MAX_ANSWER = 4000;

interface Given {
  readonly text: string;
  readonly choice?: number;
}

type Question = NonNullable<State['pending_question']>;

/** `relais answer [--choice N | text]`: records the operator's answer to the pending question, under the lock. */
export async function answerCommand(options: CommandOptions & Given): Promise<number> {
  const world = await createWorld(options);
  const place = await locate(world);
  if (!isReady(place)) {
    const why = 'there is no repository with a valid relais.config.json here';
    return refuse(
      options.json,
      { why, remedy: '`relais status --preflight` says what is missing.' },
      EXIT_CODE.blocked,
    );
  }
  const { repository, config } = place;
  const lock = await lockTick(world, place, { id: world.newRunId(), startedAt: world.clock.now() });
  if (lock.fact.state !== 'mine') {
    const why = `another relais is at work: ${lock.fact.why}`;
    return refuse(options.json, { why, remedy: 'Answer when it has ended.' }, EXIT_CODE.blocked);
  }
  try {
    const { state, blocked, invalid } = await readWorkspace(world, repository, config);
    const question = state.pending_question;
    if (question === undefined || invalid.length > 0)
      return refuse(options.json, nothingToAnswer(invalid), EXIT_CODE.blocked);
    const text = answerText(question, options);
    if (typeof text !== 'string') return refuse(options.json, text, EXIT_CODE.usage);
    const { pending_question: _asked, ...rest } = state;
    const { run_id, prompt } = question;
    const answer = { run_id, prompt, text, answered_at: world.clock.now().toISOString() };
    const folder = workspaceOf(world, repository, config);
    await world.files.writeJson(world.join(folder, 'STATE.json'), { ...rest, answer });
    if (blocked?.code === 'BLOCKED_AWAITING_ANSWER') await world.files.removeFile(world.join(folder, 'BLOCKED.json'));
    if (options.json) printJson({ ok: true, run_id, question: prompt, answer: text });
    speaker(options.json)('Answer recorded. The next `relais run` passes it on.');
    return EXIT_CODE.done;
  } finally {
    await lock.release();
  }
}

function nothingToAnswer(invalid: readonly string[]): Problem {
  return invalid[0] === undefined
    ? { why: 'no question is pending', remedy: '`relais status` shows where things stand.' }
    : { why: invalid[0], remedy: 'Run `relais recover` first.' };
}

function answerText({ prompt, choices }: Question, { text, choice }: Given): string | Problem {
  const asked = [`Question: ${prompt}`, ...choices.map((one, index) => `  ${index + 1}. ${one}`)].join('\n');
  const remedy =
    choices.length > 0
      ? `Answer with \`relais answer --choice N\`, N from 1 to ${choices.length}, or \`relais answer "text"\`.`
      : 'Answer with `relais answer "text"`.';
  const refused = (why: string): Problem => ({ why: `${why}\n${asked}`, remedy });
  const words = clean(text).trim();
  if (choice !== undefined && words !== '') return refused('give a choice or a text, not both');
  if (choice !== undefined) return choices[choice - 1] ?? refused(`there is no choice ${choice}`);
  if (words === '') return refused('there is no answer on the command line');
  return words.length > MAX_ANSWER ? refused(`the answer is longer than ${MAX_ANSWER} characters`) : words;
}
