import { clean } from '../rules/text.js';
import { lockTick } from '../stages/lock.js';
import { locate, workspaceOf } from '../stages/place.js';
import { readWorkspace } from '../stages/preflight.js';
import { createWorld } from '../world/world.js';

const MAX_ANSWER = 4000;

/** `relais answer [--choice N | text]`: records the operator's answer to the pending question, under the lock. */
export async function answerCommand(options: {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  text?: string;
  choice?: number;
  json: boolean;
}): Promise<number> {
  const world = await createWorld(options);
  const say = (line: string): void => void process.stderr.write(`${clean(line)}\n`);
  const place = await locate(world);
  const { repository, config } = place;
  if (repository === undefined || config === undefined) {
    say('No repository with a valid relais.config.json here. Try `relais status --preflight`.');
    return 3;
  }
  const lock = await lockTick(world, place, { id: world.newRunId(), startedAt: world.clock.now() });
  if (lock.fact.state !== 'mine') {
    say(`A tick is running; answer when it has ended: ${lock.fact.why}`);
    return 3;
  }
  try {
    const { state, invalid } = await readWorkspace(world, repository, config);
    const question = state.pending_question;
    if (invalid.length > 0) {
      say(`${invalid[0]}. Run \`relais recover\` first.`);
      return 3;
    }
    if (question === undefined) {
      say('No question is pending. `relais status` shows where things stand.');
      return 3;
    }
    const text = options.choice === undefined ? options.text?.trim() : question.choices[options.choice - 1];
    if (text === undefined || text === '' || text.length > MAX_ANSWER) {
      say(`Question: ${question.prompt}`);
      question.choices.forEach((choice, index) => say(`  ${index + 1}. ${choice}`));
      say(
        question.choices.length > 0
          ? 'Answer with `relais answer --choice N` or `relais answer "text"`.'
          : `Answer with \`relais answer "text"\` (1 to ${MAX_ANSWER} characters).`,
      );
      return 64;
    }
    const { pending_question: _asked, ...rest } = state;
    await world.files.writeJson(world.join(workspaceOf(world, repository, config), 'STATE.json'), {
      ...rest,
      answer: { run_id: question.run_id, prompt: question.prompt, text, answered_at: world.clock.now().toISOString() },
    });
    if (options.json) process.stdout.write(`${JSON.stringify({ run_id: question.run_id, answer: text })}\n`);
    say('Answer recorded. The next `relais run` passes it on.');
    return 0;
  } finally {
    await lock.release();
  }
}
