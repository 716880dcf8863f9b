import { parseJson, type Checked } from '../schemas.js';

/** The largest patch a task may hold fits well in this; far more of the shortest values would fill the memory. */
const MAX_CHARS = 2 * 1024 * 1024;
const FENCED = /^```[A-Za-z0-9]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;

/**
 * The one JSON object an agent's answer has to be. Where allowed, a single fenced block around it is
 * taken off; anything else around it, or a second object, makes the answer invalid: none is picked.
 */
export function soleObject(text: string, options: { readonly allowFence: boolean }): Checked<unknown> {
  const answer = text.replace(/^\ufeff/, '').trim();
  if (answer === '') return refused('the answer is empty');
  if (answer.length > MAX_CHARS)
    return refused(`the answer has ${answer.length} characters, at most ${MAX_CHARS} are read`);
  const fence = FENCED.exec(answer);
  if (fence !== null && !options.allowFence)
    return refused('the answer is in a code fence; only the JSON object itself is accepted');
  const body = (fence?.[1] ?? answer).trim();
  if (!body.startsWith('{'))
    return refused(
      body.startsWith('[')
        ? 'the answer is a JSON array, not one object'
        : 'the answer does not begin with "{": text around the JSON object is not accepted',
    );
  const parsed = parseJson(body);
  if (!parsed.ok)
    return { ok: false, errors: parsed.errors.map((error) => `the answer is not one JSON object: ${error}`) };
  return parsed;
}

function refused(error: string): { ok: false; errors: string[] } {
  return { ok: false, errors: [error] };
}
