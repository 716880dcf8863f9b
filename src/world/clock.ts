/** The two clocks a tick reads: the calendar for what is written, the monotonic one for durations. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** A run id that sorts by time, like 20261118T083915Z-3fa9c1d2. */
export function newRunId(now: Date, random: () => string): string {
  const stamp = now
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '');
  return `${stamp}-${random()}`;
}
