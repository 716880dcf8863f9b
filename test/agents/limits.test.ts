import { describe, expect, test } from 'vitest';
import { limitIn, untilEpoch } from '../../src/agents/limits.js';

const now = new Date('2026-11-18T06:00:00.000Z');
const HOUR_AHEAD = '2026-11-18T07:00:00.000Z';

const WORDINGS: readonly [text: string, until: string | undefined][] = [
  ["You've hit your session limit · resets 7:22am (UTC)", '2026-11-18T07:22:00.000Z'],
  ["You've hit your 5-hour limit · resets 8:15am (UTC)", '2026-11-18T08:15:00.000Z'],
  ["You've hit your weekly limit · resets Nov 21, 5:22am (UTC)", '2026-11-21T05:22:00.000Z'],
  ["You've hit your Opus limit · resets Nov 21, 5:22am (UTC)", '2026-11-21T05:22:00.000Z'],
  ["You've hit your Sonnet limit · resets Nov 21, 5pm (Asia/Kolkata)", '2026-11-21T11:30:00.000Z'],
  ["You've hit your limit · resets 8:22am (UTC)", '2026-11-18T08:22:00.000Z'],
  ["You've hit your org's monthly spend limit · ask your admin", undefined],
  ["You're out of extra usage · resets 7am (UTC)", '2026-11-18T07:00:00.000Z'],
  ['Claude AI usage limit reached|1794990141', new Date(1_794_990_141_000).toISOString()],
  ['Claude usage limit reached. Your limit will reset at 3pm (America/Bogota).', '2026-11-18T20:00:00.000Z'],
  // The next occurrence, in the zone's own day.
  ["You've hit your session limit · resets 5:54am (UTC)", '2026-11-19T05:54:00.000Z'],
  // Just passed: the seconds were cut off, so it is a matter of a minute.
  ["You've hit your session limit · resets 5:59am (UTC)", '2026-11-18T06:01:00.000Z'],
  ["You've hit your session limit · resets 12am (UTC)", '2026-11-19T00:00:00.000Z'],
  ["You've hit your session limit · resets 12pm (UTC)", '2026-11-18T12:00:00.000Z'],
  ["You've hit your session limit · resets 11pm (America/Los_Angeles)", '2026-11-18T07:00:00.000Z'],
  ["You've hit your session limit · resets 1am (Pacific/Auckland)", '2026-11-18T12:00:00.000Z'],
  // Announced but not to be believed: one hour.
  ["You've hit your session limit · resets 7:22am (Mars/Base)", HOUR_AHEAD],
  ["You've hit your session limit · resets 27am (UTC)", HOUR_AHEAD],
  ["You've hit your session limit · resets soon", HOUR_AHEAD],
  ["You've hit your weekly limit · resets Jun 3, 5am (UTC)", HOUR_AHEAD],
  ["You've hit your weekly limit · resets Xyz 3, 5am (UTC)", HOUR_AHEAD],
  ['Claude AI usage limit reached|9999999999', HOUR_AHEAD],
  // Over already: a minute.
  ['Claude AI usage limit reached|1762952400', '2026-11-18T06:01:00.000Z'],
  ["You've hit your weekly limit · resets Nov 18, 5am (UTC)", '2026-11-18T06:01:00.000Z'],
];

describe('a limit', () => {
  test.each(WORDINGS)('%s', (text, until) => {
    expect(limitIn(text, now)).toEqual({ kind: 'quota', ...(until !== undefined && { until }) });
  });

  test('without a zone is read on the host’s clock', () => {
    const limit = limitIn('5-hour limit reached ∙ resets 5:30am', now);
    const until = new Date(limit?.kind === 'quota' ? (limit.until ?? '') : '');
    expect([until.getHours(), until.getMinutes()]).toEqual([5, 30]);
    expect(until.getTime() - now.getTime()).toBeGreaterThan(0);
    expect(until.getTime() - now.getTime()).toBeLessThanOrEqual(86_400_000);
  });

  test('over the turn of the year is in the next year', () => {
    const limit = limitIn("You've hit your weekly limit · resets Jan 2, 5am (UTC)", new Date('2026-12-30T00:00:00Z'));
    expect(limit).toEqual({ kind: 'quota', until: '2027-01-02T05:00:00.000Z' });
  });

  test.each([
    // The night the clocks go back in New York: 7am is five hours behind UTC, before it was four.
    ['2026-11-01T03:00:00Z', '7am', '2026-11-01T12:00:00.000Z'],
    // The night they go forward.
    ['2026-03-08T05:00:00Z', '7am', '2026-03-08T11:00:00.000Z'],
  ])('across a clock change (%s) is right', (at, time, until) => {
    expect(limitIn(`You've hit your session limit · resets ${time} (America/New_York)`, new Date(at))).toEqual({
      kind: 'quota',
      until,
    });
  });

  test.each([
    ['Credit balance is too low', 'credit'],
    ['API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited', 'throttled'],
  ])('%s is told apart', (text, kind) => {
    expect(limitIn(text, now)).toEqual({ kind });
  });

  test.each([
    'API Error: Request rejected (429) · slow down',
    'API Error: rate limit reached',
    'API Error: 500',
    'Reached maximum number of turns (1)',
    '',
  ])('is not read into %j', (text) => {
    expect(limitIn(text, now)).toBeUndefined();
  });

  test('of an event is clamped the same way', () => {
    expect(untilEpoch(now.getTime() / 1000 + 3 * 3600, now)).toBe('2026-11-18T09:00:00.000Z');
    expect(untilEpoch(0, now)).toBe('2026-11-18T06:01:00.000Z');
    expect(untilEpoch(1e15, now)).toBe(HOUR_AHEAD);
    expect(untilEpoch(Number.NaN, now)).toBe(HOUR_AHEAD);
  });
});
