import { spawn } from 'node:child_process';

/** The phases a tick announces, in order. */
export const STAGES = new Set([
  'LOCK',
  'PREFLIGHT',
  'BASELINE',
  'ORCHESTRATE',
  'BUILD',
  'JUDGE',
  'VERIFY',
  'SETTLE',
  'REPORT',
]);

/** Runs a program once; wall time from just before its start to its exit, and when each stderr line arrived. */
export function timed(argv, { cwd, env, signal, exit = 0 }) {
  return new Promise((resolve, reject) => {
    const [program, ...args] = argv;
    const out = { stdout: '', stderr: '', lines: [], ms: 0 };
    let failure;
    const begun = performance.now();
    const child = spawn(program, args, { cwd, env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8').on('data', (text) => (out.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => {
      out.stderr += text;
      for (const line of text.split('\n')) out.lines.push({ ms: performance.now() - begun, line });
    });
    child.once('error', (error) => {
      failure = error;
      if (child.pid === undefined) reject(error);
    });
    child.once('exit', () => (out.ms = performance.now() - begun));
    // An interrupted child may still be cleaning up: only its end counts.
    child.once('close', (code, killedBy) => {
      if (failure !== undefined) reject(failure);
      else if (code === exit) resolve(out);
      else
        reject(new Error(`${argv.join(' ')} ended with ${killedBy ?? code}, not ${exit}:\n${out.stderr.slice(-2000)}`));
    });
  });
}

/** The time between the first lines of the phases a tick announced, in order; START is what came before the first. */
export function phasesOf({ lines, ms }) {
  const found = { START: 0 };
  let [phase, since] = ['START', 0];
  for (const { ms: at, line } of lines) {
    const name = line.split(' ', 1)[0];
    if (name === phase || !STAGES.has(name)) continue;
    found[phase] = (found[phase] ?? 0) + at - since;
    [phase, since] = [name, at];
  }
  found[phase] = (found[phase] ?? 0) + ms - since;
  return found;
}

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of every key over several objects of numbers. */
export function medians(objects) {
  const keys = [...new Set(objects.flatMap((object) => Object.keys(object)))];
  return Object.fromEntries(keys.map((key) => [key, round(median(objects.map((object) => object[key] ?? 0)))]));
}

/** Two digits after the point: more would claim a precision nobody has. */
export function round(value) {
  return Math.round(value * 100) / 100;
}
