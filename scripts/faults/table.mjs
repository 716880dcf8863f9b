import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { STAGES } from '../bench/timing.mjs';

const PAGE = fileURLToPath(new URL('../../docs/crash-safety.md', import.meta.url));
const PHASES = ['START', ...STAGES, 'EXIT'];

/** What is let loose at every point. */
export const FAULTS = ['SIGKILL', 'SIGTERM', 'exception', 'ENOSPC'];

/** Puts the matrix of a run between the markers of docs/crash-safety.md. */
export function writeTable(points, results) {
  const text = readFileSync(PAGE, 'utf8');
  const [begin, end] = ['<!-- matrix -->', '<!-- /matrix -->'];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${PAGE} lacks ${begin} … ${end}`);
  writeFileSync(PAGE, `${text.slice(0, from)}${begin}\n${matrix(points, results)}\n${text.slice(to)}`);
}

function matrix(points, results) {
  const losses = results.filter(({ problems }) => problems.length > 0).length;
  const lines = [`${points} points, ${FAULTS.length} faults, ${results.length} runs, ${losses} losses.`];
  for (const scenario of new Set(results.map((result) => result.scenario))) {
    const own = results.filter((result) => result.scenario === scenario);
    lines.push(
      '',
      `**${scenario}**`,
      '',
      `| phase | points | ${FAULTS.join(' | ')} |`,
      `|---|---|${'---|'.repeat(FAULTS.length)}`,
    );
    for (const phase of PHASES.filter((name) => own.some((result) => result.phase === name))) {
      const here = own.filter((result) => result.phase === phase);
      const cells = FAULTS.map((fault) => cell(here.filter((result) => result.fault === fault)));
      lines.push(`| ${phase} | ${new Set(here.map(({ point }) => point)).size} | ${cells.join(' | ')} |`);
    }
  }
  return lines.join('\n');
}

/** How many ended in which way, and what was needed to go on. */
function cell(results) {
  const counts = new Map();
  for (const { end, way, problems } of results) {
    const ended = end === 'killed' ? '' : `${short(end)}, then `;
    const state = problems.length > 0 ? 'LOSS' : `${ended}${way}`;
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  if (counts.size === 0) return '–';
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([state, count]) => `${count} × ${state}`)
    .join('<br>');
}

function short(end) {
  return /^[A-Z_]+$/.test(end) ? end.replace('STOP_SCOPE_VIOLATION_FORBIDDEN', 'STOP (scope)') : 'error';
}
