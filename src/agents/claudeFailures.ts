import type { FailureClass } from './agent.js';

/** What a failed result says about itself. */
export interface FailureFacts {
  readonly subtype: string;
  /** HTTP status, or undefined. */
  readonly status: number | undefined;
  /** `result`, or `errors` joined. */
  readonly text: string;
  /** The error word of the program's own synthetic message. */
  readonly synthetic: string | undefined;
}

type FailureRow = readonly [failure: FailureClass, holds: (facts: FailureFacts) => boolean];

/** First match wins: what the subtype says, then the words, then the status, then the synthetic word. */
const FAILURE_ROWS: readonly FailureRow[] = [
  ['max_turns', ({ subtype }) => subtype === 'error_max_turns'],
  ['max_budget', ({ subtype }) => subtype === 'error_max_budget_usd'],
  ['schema', ({ subtype }) => subtype === 'error_max_structured_output_retries'],
  ['billing', ({ text }) => /credit balance is too low/i.test(text)],
  ['auth', ({ text }) => /^(not logged in|invalid api key|failed to authenticate)/i.test(text)],
  ['too_long', ({ text }) => /^prompt is too long/i.test(text)],
  ['refusal', ({ text }) => /usage policy|safeguards flagged this message/i.test(text)],
  ['max_output', ({ text }) => /exceeded the \d+ output token maximum/i.test(text)],
  ['auth', ({ status }) => status === 401 || status === 403],
  ['model', ({ status }) => status === 404],
  ['throttled', ({ status }) => status === 429],
  ['server', ({ status }) => status !== undefined && status >= 500],
  ['invalid_request', ({ status }) => status !== undefined && status >= 400],
  ['server', ({ text }) => /529 overloaded/i.test(text)],
  [
    'network',
    ({ text }) => /request timed out|unable to connect|connection refused|\bE(CONN|NOTFOUND|TIMEDOUT|AI_)/i.test(text),
  ],
  ['auth', ({ synthetic }) => synthetic === 'authentication_failed'],
  ['billing', ({ synthetic }) => synthetic === 'billing_error'],
  ['throttled', ({ synthetic }) => synthetic === 'rate_limit'],
  ['server', ({ synthetic }) => synthetic === 'server_error'],
  ['invalid_request', ({ synthetic }) => synthetic === 'invalid_request'],
];

/** The class of a result that reports an error. */
export function failureClass(facts: FailureFacts): FailureClass {
  return FAILURE_ROWS.find(([, holds]) => holds(facts))?.[0] ?? 'unknown';
}

/** What happened and what to do next, for each class. */
export const FAILURE_MEANING: Readonly<Record<FailureClass, readonly [happened: string, next: string]>> = {
  not_started: ['the agent program could not be started', 'install it or correct claude_code_cli.command'],
  refused: ['the agent program ended without an answer', 'run `relais doctor`; its version may not know the options'],
  killed: ['the agent program was ended by a signal from elsewhere', 'run again'],
  output_cap: ['the agent program wrote more output than the runner accepts', 'give a smaller task'],
  no_output: ['the agent program ended without a word', 'run again; if it stays so, run `relais doctor`'],
  unreadable: [
    'the output of the agent program could not be read as its result',
    'run again; if it stays so, run `relais doctor`',
  ],
  empty: ['the agent answered with nothing', 'run again'],
  not_asked: ['the prompt never reached the model', 'let the prompt begin with a heading'],
  auth: [
    'the agent program is not logged in, or its key was refused',
    'log in (`claude auth login`) or correct the key',
  ],
  billing: ['the account has no credit left', 'add credit'],
  throttled: ['the provider is slowing requests down', 'wait a few minutes and run again'],
  server: ['the provider had an error or was overloaded', 'wait a few minutes and run again'],
  network: ['the provider could not be reached', 'check the network and run again'],
  model: ['the model is not known or not open to this account', 'correct models.* in the config'],
  too_long: ['the prompt was too long for the model', 'lower max_prompt_chars'],
  refusal: ['the provider declined to answer this prompt', 'reword the goal or the facts'],
  max_output: ['the answer was longer than the model may write', 'give a smaller task'],
  invalid_request: ['the provider refused the request', 'read the message; the same request will fail again'],
  max_turns: ['the agent used up its turns before it had answered', 'raise max_turns or give a smaller task'],
  max_budget: ['the agent used up the budget of the call', 'raise max_budget_usd or give a smaller task'],
  schema: ['the agent never gave an answer of the wanted form', 'run again, or use another model'],
  unknown: ['the agent program reported an error', 'read the message'],
};
