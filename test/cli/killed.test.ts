import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Scratch } from '../../src/rehearse/scratch.js';
import { differences, snapshot } from '../../src/rehearse/snapshot.js';
import { packageRoot } from '../../src/world/packageRoot.js';
import { HONEST, json, relais, scripted } from './relais.js';

const PROGRAM = path.join(packageRoot(), 'dist', 'cli.js');
const PHASES = ['LOCK', 'PREFLIGHT', 'BASELINE', 'ORCHESTRATE', 'BUILD', 'JUDGE', 'VERIFY', 'SETTLE', 'REPORT'];
const at = (scratch: Scratch) => ({ cwd: scratch.repo, env: scratch.env });

/** `kill -9` of everything in the tick's group as soon as it says that a phase begins. */
function killedIn(phase: string, { repo, env }: Scratch): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [PROGRAM, 'run'], { cwd: repo, env, detached: true });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (text.split('\n').some((line) => line.startsWith(`${phase} `))) process.kill(-(child.pid ?? 0), 'SIGKILL');
  });
  return new Promise((resolve) => {
    child.once('exit', (_code, signal) => resolve(signal));
  });
}

/** What the next command says and, where it names a remedy, what that does and the tick after it. */
async function goOn(scratch: Scratch): Promise<string> {
  const next = json(await relais(['run', '--json'], at(scratch)));
  if (next.code !== 'BLOCKED_CRASH_RECOVERY_REQUIRED') return next.code;
  const recovered = await relais(['recover'], at(scratch));
  const last = json(await relais(['run', '--json'], at(scratch)));
  return `${next.code}: ${next.blocked.remedy} → ${recovered.code} → ${last.code}`;
}

describe('kill -9 of the whole process group', () => {
  it.each(PHASES)('in %s leaves one code, and one remedy that works', async (phase) => {
    const scratch = await scripted(HONEST);
    const before = await snapshot(scratch.repo, scratch.env);
    expect(await killedIn(phase, scratch)).toBe('SIGKILL');
    expect(['SUCCESS', 'BLOCKED_CRASH_RECOVERY_REQUIRED: Run `relais recover`. → 0 → SUCCESS']).toContain(
      await goOn(scratch),
    );
    const changed = differences(before, await snapshot(scratch.repo, scratch.env));
    // Accepted ticks write one file and move the branch; nothing else is another than before.
    const theirs = /^(?:src\/greet\.js$|\.git\/(?:index|refs\/heads\/main|refs\/relais\/.*)$|ref refs\/|HEAD)/;
    expect(changed.filter((name) => !theirs.test(name))).toEqual([]);
    expect(existsSync(path.join(scratch.repo, 'relais/lock.json'))).toBe(false);
  });
});
