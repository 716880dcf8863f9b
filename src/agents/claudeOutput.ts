import type { ChildEnd } from '../model.js';
import { cut, oneLine } from '../rules/text.js';
import type { AgentRequest, AgentResult, CallFacts, FailureClass } from './agent.js';
import { isBlank, isObject, readOutput, type Json, type Output } from './claudeEvents.js';
import { FAILURE_MEANING, failureClass } from './claudeFailures.js';
import { limitIn, untilEpoch } from './limits.js';

/** No call costs more; a number like that is a mistake, and the cost is unknown. */
const MOST_USD = 100_000;

/** Of an output that was cut off, only its end is looked at, for the cost. */
const TAIL_BYTES = 1024 * 1024;
/** Where a first line is looked for. */
const HEAD = 64 * 1024;
/** More refused tools or kinds of tokens than this are a flood. */
const MOST_DENIALS = 1000;
const MOST_TOKEN_KINDS = 100;

/** Turns the end of a claude child into the one typed result: no single field of its output is believed alone. */
export function readClaude(
  end: ChildEnd,
  request: AgentRequest,
  who: { readonly agent: string; readonly argv: readonly string[] },
): AgentResult {
  const capped = end.how === 'output_cap' || end.cut;
  const output = readOutput(capped ? end.stdout.subarray(-TAIL_BYTES) : end.stdout);
  const call = callFacts(end, output, who);
  const stderr = firstLine(end.stderr.toString('utf8', 0, HEAD));
  const failed = (failure: FailureClass, detail: string): AgentResult => {
    const [happened, next] = FAILURE_MEANING[failure];
    return {
      kind: 'failed',
      call,
      class: failure,
      message: `${happened}${detail === '' ? '' : `: ${detail}`} (${next})`,
    };
  };
  if (end.how === 'not_started') return failed('not_started', firstLine(`${who.argv[0] ?? ''} ${end.error ?? ''}`));
  if (end.how === 'interrupted') return { kind: 'interrupted', call, message: 'the call was interrupted' };
  if (end.how === 'timed_out')
    return { kind: 'timed_out', call, message: `no answer within ${seconds(request.timeoutMs)}` };
  if (capped) return failed('output_cap', '');
  // 128+n by itself: the program turns a signal into an exit code.
  if (end.how === 'signalled' || (end.exitCode > 128 && !output.result))
    return failed('killed', `exit code ${end.exitCode}`);
  if (!output.result) {
    if (!isBlank(end.stdout)) return failed('unreadable', output.problem ?? `exit code ${end.exitCode}`);
    return end.exitCode === 0 ? failed('no_output', stderr) : failed('refused', stderr || `exit code ${end.exitCode}`);
  }
  return readResult(output.result, output, { end, request, call, failed });
}

interface ReadContext {
  readonly end: ChildEnd;
  readonly request: AgentRequest;
  readonly call: CallFacts;
  readonly failed: (failure: FailureClass, detail: string) => AgentResult;
}

function readResult(result: Json, output: Output, context: ReadContext): AgentResult {
  const { end, call, failed } = context;
  const subtype = typeof result['subtype'] === 'string' ? result['subtype'] : '';
  if (subtype === 'error_during_execution')
    return { kind: 'interrupted', call, message: 'the agent program was interrupted' };
  if (result['is_error'] !== false || subtype !== 'success') return readError(result, output, context);
  if (end.exitCode !== 0) return failed('unknown', `it reported success with exit code ${end.exitCode}`);
  const text = result['result'];
  const structured = result['structured_output'];
  // A command of the program's own was run instead of the prompt.
  if (result['num_turns'] === 0) return failed('not_asked', typeof text === 'string' ? firstLine(text) : '');
  if (isObject(structured))
    return { kind: 'answered', call, text: typeof text === 'string' ? text : JSON.stringify(structured), structured };
  if (typeof text !== 'string') return failed('unreadable', 'the result holds no text');
  if (text.trim() === '') return failed('empty', '');
  return { kind: 'answered', call, text };
}

function readError(result: Json, output: Output, { request, call, failed }: ReadContext): AgentResult {
  const errors = Array.isArray(result['errors']) ? result['errors'].filter((error) => typeof error === 'string') : [];
  const text = typeof result['result'] === 'string' ? result['result'] : errors.join('; ');
  const status = typeof result['api_error_status'] === 'number' ? result['api_error_status'] : undefined;
  const subtype = typeof result['subtype'] === 'string' ? result['subtype'] : '';
  const now = request.now?.() ?? new Date();
  const limit = limitIn(text, now);
  const resetsAt = output.rateLimit?.['resetsAt'];
  const rejected = output.rateLimit?.['status'] === 'rejected' && (status === 429 || limit?.kind === 'quota');
  if (limit?.kind === 'quota' || (rejected && limit === undefined)) {
    const until =
      rejected && typeof resetsAt === 'number'
        ? untilEpoch(resetsAt, now)
        : limit?.kind === 'quota'
          ? limit.until
          : undefined;
    return {
      kind: 'limited',
      call,
      message: firstLine(text) || 'a limit of the account was reached',
      ...(until !== undefined && { until }),
    };
  }
  if (limit?.kind === 'throttled') return failed('throttled', firstLine(text));
  return failed(failureClass({ subtype, status, text, synthetic: output.synthetic }), firstLine(text));
}

function callFacts(
  end: ChildEnd,
  output: Output,
  who: { readonly agent: string; readonly argv: readonly string[] },
): CallFacts {
  const result = output.result ?? {};
  const cost = result['total_cost_usd'];
  const turns = result['num_turns'];
  const usage = isObject(result['usage'])
    ? Object.entries(result['usage']).filter((pair): pair is [string, number] => typeof pair[1] === 'number')
    : [];
  const cutOff = result['terminal_reason'] === 'aborted_streaming';
  const denials = Array.isArray(result['permission_denials']) ? result['permission_denials'].filter(isObject) : [];
  const near = output.rateLimit?.['status'] === 'allowed_warning' ? output.rateLimit['utilization'] : undefined;
  return {
    agent: who.agent,
    argv: who.argv,
    // An answer cut off in mid-stream is not in the sum.
    costUsd: typeof cost === 'number' && cost >= 0 && cost <= MOST_USD && !cutOff ? cost : null,
    denials: denials.slice(0, MOST_DENIALS).map((denial) => nameOf(denial['tool_name'])),
    durationMs: end.durationMs,
    ...(output.version !== undefined && { version: firstLine(output.version) }),
    ...(usage.length > 0 && { tokens: Object.fromEntries(usage.slice(0, MOST_TOKEN_KINDS)) }),
    ...(typeof turns === 'number' && { turns }),
    ...(typeof near === 'number' && { notice: `${Math.round(near * 100)}% of the account's limit is used` }),
  };
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** The first line that says something, short enough for a report. */
function firstLine(text: string): string {
  return cut(
    oneLine(
      text
        .slice(0, HEAD)
        .split(/[\r\n]/)
        .find((line) => line.trim() !== '') ?? '',
    ),
    300,
  );
}

function nameOf(tool: unknown): string {
  return typeof tool === 'string' ? firstLine(tool) : 'unknown';
}
