import fc from 'fast-check';
import type { Config, Task } from '../../src/generated/types.js';
import { readConfig } from '../../src/rules/config.js';
import type { TouchedPath } from '../../src/rules/judge.js';
import type { Scope } from '../../src/rules/scope.js';
import { contractConfig } from '../helpers/contractConfig.js';

/** The contract's config, read as the product reads it, after one change. */
export function sampleConfig(change: (raw: Record<string, any>) => void = () => undefined): Config {
  const raw = contractConfig();
  change(raw);
  const read = readConfig(JSON.stringify(raw));
  if (!read.ok) throw new Error(read.errors.join('\n'));
  return read.value;
}

/** A small execute task that fits the sample config. */
export function sampleTask(change: Partial<Task> = {}): Task {
  return {
    task_id: 'T1',
    milestone_id: 'M1',
    task_kind: 'execute',
    intent: 'Make the sum right.',
    scope: { allowed_globs: ['src/**'], forbidden_globs: [], allow_new_files: false, allow_lockfile_changes: false },
    diff_limits: { max_files_touched: 5, max_lines_changed: 50 },
    verification: { fast: [], slow: [] },
    builder: { mode: 'claude_code', max_turns: 4, instructions: 'Correct src/sum.js.' },
    ...change,
  };
}

/** A scope that lets src/ be edited. */
export const SRC_SCOPE: Scope = {
  allowed: ['src/**'],
  forbidden: ['**/.env*'],
  allowNewFiles: false,
  allowLockfileChanges: false,
  maxFiles: 5,
  maxLines: 50,
};

/** A modified file, unless told otherwise. */
export function touch(path: string, change: Partial<TouchedPath> = {}): TouchedPath {
  return {
    path,
    change: 'modified',
    kind: 'file',
    linesAdded: 1,
    linesDeleted: 1,
    estimated: false,
    ownedByRunner: false,
    insideSubmodule: false,
    ...change,
  };
}

/** Any of the characters, or of the longer pieces after them. */
export function oneOf(characters: string, ...pieces: readonly string[]): fc.Arbitrary<string> {
  return fc.constantFrom(...Array.from(characters), ...pieces);
}
