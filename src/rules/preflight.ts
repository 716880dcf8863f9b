import type { Row } from './table.js';
import { oneLine } from './text.js';

/** Everything the A1 table looks at; gathered completely before the first row is asked. */
export interface PreflightFacts {
  readonly config:
    | { readonly state: 'ok' }
    | {
        readonly state: 'missing' | 'unreadable' | 'invalid';
        readonly why: readonly string[];
        readonly remedy?: string;
      };
  readonly git: { readonly ok: true } | { readonly ok: false; readonly why: string };
  readonly lock: { readonly state: 'free' | 'stale' | 'held' | 'corrupt' | 'mine'; readonly why?: string };
  /** A tick that was interrupted after its Hands had started. */
  readonly journal?: { readonly run_id: string; readonly phase: string };
  readonly dirty: readonly string[];
  readonly historyBytes: number;
  readonly historyCapBytes: number;
  /** Runner-owned JSON files that do not validate, each with the reason. */
  readonly invalidFiles: readonly string[];
  /** What `shortfalls` of rules/budget.ts found. */
  readonly budget: readonly string[];
  /** ISO times; no call before `notBefore`. */
  readonly notBefore?: string;
  readonly now: string;
  readonly pendingQuestion?: string;
}

/** A1: may a tick start? First match wins; config and git come first because the lock's place is read from the config. */
export const PREFLIGHT_ROWS: readonly Row<PreflightFacts>[] = [
  ['config', 'BLOCKED_MISSING_CONFIG', configProblems, configRemedy],
  ['git', 'BLOCKED_MISSING_CONFIG', ({ git }) => (git.ok ? [] : [git.why])],
  ['lock', 'BLOCKED_LOCK_HELD', lockProblems, lockRemedy],
  [
    'journal',
    'BLOCKED_CRASH_RECOVERY_REQUIRED',
    ({ journal }) =>
      journal === undefined ? [] : [`the tick ${journal.run_id} was interrupted in ${journal.phase.toUpperCase()}`],
  ],
  ['dirty', 'BLOCKED_DIRTY_WORKTREE', ({ dirty }) => dirty],
  ['history', 'BLOCKED_HISTORY_CAP_CLEANUP_REQUIRED', historyProblems],
  ['crash_artifacts', 'BLOCKED_CRASH_RECOVERY_REQUIRED', ({ invalidFiles }) => invalidFiles],
  ['budget', 'BLOCKED_BUDGET_EXHAUSTED', budgetProblems, limitRemedy],
  [
    'pending_question',
    'BLOCKED_AWAITING_ANSWER',
    ({ pendingQuestion }) =>
      pendingQuestion === undefined ? [] : [`waiting for an answer: ${oneLine(pendingQuestion)}`],
  ],
];

function configProblems({ config }: PreflightFacts): readonly string[] {
  if (config.state === 'ok') return [];
  return config.why.length > 0 ? config.why : [`relais.config.json is ${config.state}`];
}

function configRemedy({ config }: PreflightFacts): { remedy?: string } {
  return config.state === 'ok' || config.remedy === undefined ? {} : { remedy: config.remedy };
}

function lockProblems({ lock }: PreflightFacts): string[] {
  if (lock.state !== 'held' && lock.state !== 'corrupt') return [];
  return [lock.why ?? `the lock is ${lock.state}`];
}

function lockRemedy({ lock }: PreflightFacts): { remedy?: string } {
  return lock.state === 'corrupt'
    ? { remedy: 'Make sure that no tick is running; `relais unlock` shows the lock and says how to remove it.' }
    : {};
}

function historyProblems({ historyBytes, historyCapBytes }: PreflightFacts): string[] {
  if (historyBytes <= historyCapBytes) return [];
  return [`the history holds ${historyBytes} bytes, the cap is ${historyCapBytes}`];
}

function limitRemedy(facts: PreflightFacts): { notBefore?: string; remedy?: string } {
  const { notBefore, budget } = facts;
  if (notBefore === undefined || !limited(facts)) return {};
  return { notBefore, ...(budget.length === 0 && { remedy: `Wait until ${notBefore}, then run again.` }) };
}

function budgetProblems(facts: PreflightFacts): string[] {
  return [...(limited(facts) ? [`the provider's limit lasts until ${facts.notBefore}`] : []), ...facts.budget];
}

function limited({ notBefore, now }: PreflightFacts): boolean {
  // Negated so that a time that can't be read counts as not yet reached.
  return notBefore !== undefined && !(Date.parse(notBefore) <= Date.parse(now));
}
