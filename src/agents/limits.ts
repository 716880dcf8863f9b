/** What an error text says about a provider's limit. */
export type Limit =
  | { readonly kind: 'quota'; readonly until?: string }
  | { readonly kind: 'credit' }
  | { readonly kind: 'throttled' };

const QUOTA =
  /\b(hit|reached) your\b.*\blimit\b|usage limit reached|(?<!rate )\blimit reached\b|out of (usage credits|extra usage)/i;
const CREDIT = /credit balance is too low/i;
const THROTTLED = /\(not your usage limit\)/i;
const RESET = /resets?(?: at)? (?:([A-Z][a-z]{2}) (\d{1,2}), )?(\d{1,2})(?::(\d\d))?\s*([ap]m)(?: \(([^)]+)\))?/i;
const EPOCH = /\|(\d{10})\b/;
const PROMISES_RESET = /\bresets?\b|\|\d/i;

const MINUTE = 60_000;
const JUST_NOW = 5 * MINUTE;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A monthly limit is the longest there is; anything later was misread. */
const LONGEST_WAIT = 32 * DAY;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Reads a limit out of an error text; only for texts of calls that failed, never of a transcript. */
export function limitIn(text: string, now: Date): Limit | undefined {
  const head = text.slice(0, 2000);
  if (THROTTLED.test(head)) return { kind: 'throttled' };
  if (CREDIT.test(head)) return { kind: 'credit' };
  if (!QUOTA.test(head)) return undefined;
  const epoch = EPOCH.exec(head);
  if (epoch) return { kind: 'quota', until: untilEpoch(Number(epoch[1]), now) };
  const at = resetTime(head, now);
  if (at !== undefined) return { kind: 'quota', until: clamp(at, now) };
  return PROMISES_RESET.test(head) ? { kind: 'quota', until: clamp(Number.NaN, now) } : { kind: 'quota' };
}

/** The reset time of an epoch in seconds, made believable. */
export function untilEpoch(seconds: number, now: Date): string {
  return clamp(seconds * 1000, now);
}

/** Never before the next minute; a time nobody can mean becomes one hour. */
function clamp(at: number, now: Date): string {
  const start = now.getTime();
  const believable = Number.isFinite(at) && at - start <= LONGEST_WAIT;
  return new Date(believable ? Math.max(at, start + MINUTE) : start + HOUR).toISOString();
}

function resetTime(text: string, now: Date): number | undefined {
  const found = RESET.exec(text);
  if (!found) return undefined;
  const [, monthName, dayText, hourText, minuteText, half, zone] = found;
  const hour12 = Number(hourText);
  const minute = Number(minuteText ?? '0');
  if (hour12 < 1 || hour12 > 12 || minute > 59 || !isZone(zone)) return undefined;
  const time = { hour: (hour12 % 12) + (half?.toLowerCase() === 'pm' ? 12 : 0), minute };
  const today = new Date(wallClock(now.getTime(), zone));
  const year = today.getUTCFullYear();
  if (monthName === undefined) {
    const days = [0, 1, 2].map((ahead) => Date.UTC(year, today.getUTCMonth(), today.getUTCDate() + ahead));
    // The program cuts the seconds off: a time that has just passed is not tomorrow's.
    return days.map((day) => instant(day, time, zone)).find((at) => at > now.getTime() - JUST_NOW);
  }
  const month = MONTHS.indexOf(monthName.toLowerCase());
  if (month < 0) return undefined;
  const [thisYear, nextYear] = [year, year + 1].map((y) => instant(Date.UTC(y, month, Number(dayText)), time, zone));
  return thisYear! > now.getTime() - DAY ? thisYear : nextYear;
}

/** The instant at which clocks in the zone show this day and time. */
function instant(dayUtc: number, time: { hour: number; minute: number }, zone: string | undefined): number {
  const wall = dayUtc + time.hour * HOUR + time.minute * MINUTE;
  const offset = (at: number): number => wallClock(at, zone) - at;
  // Twice, because the offset at the first guess may be that of the other side of a clock change.
  return wall - offset(wall - offset(wall));
}

/** What clocks in the zone show at an instant, as if it were UTC; the host's zone where none is given. */
function wallClock(at: number, zone: string | undefined): number {
  const format = new Intl.DateTimeFormat('en-US', {
    ...(zone !== undefined && { timeZone: zone }),
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const part = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const of = (name: Intl.DateTimeFormatPartTypes): number => part.get(name) ?? Number.NaN;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) + (at % 1000);
}

function isZone(zone: string | undefined): boolean {
  if (zone === undefined) return true;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
