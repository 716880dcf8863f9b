import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const read = (name: string): string => readFileSync(new URL(`../../prompts/${name}`, import.meta.url), 'utf8');
const placeholders = (text: string): string[] =>
  [...text.matchAll(/\{\{([A-Z_]+)\}\}/g)].map((match) => match[1] ?? '').toSorted();

describe('the prompts', () => {
  test.each([
    ['orchestrator.system.txt', []],
    ['builder.system.txt', []],
    [
      'orchestrator.user.txt',
      [
        'ANSWER',
        'BLOCKED_JSON_OR_EMPTY',
        'BUDGETS_SUMMARY',
        'FACTS_MD',
        'LAST_REPORT_MD',
        'MILESTONE_ID',
        'PROJECT_GOAL',
        'REPO_SUMMARY',
        'RETRY_REASON',
        'SCOPE_DEFAULTS',
        'TASK_SCHEMA',
        'VERIFY_TEMPLATE_IDS',
      ],
    ],
    [
      'builder.user.txt',
      [
        'ALLOWED_GLOBS',
        'ALLOW_LOCKFILE_CHANGES',
        'ALLOW_NEW_FILES',
        'FORBIDDEN_GLOBS',
        'MAX_FILES_TOUCHED',
        'MAX_LINES_CHANGED',
        'TASK_JSON',
      ],
    ],
  ])('%s has exactly its placeholders, each once', (name, wanted) => {
    expect(placeholders(read(name))).toEqual(wanted.toSorted());
  });

  test.each(['orchestrator.user.txt', 'builder.user.txt'])('%s begins with a heading', (name) => {
    expect(read(name)).toMatch(/^# \S/);
  });

  test.each(['orchestrator.system.txt', 'builder.system.txt'])(
    '%s names every path that is always forbidden',
    (name) => {
      for (const glob of ['relais/**', '.git/**', '**/.env*', '**/*secret*', '**/*token*', '**/node_modules/**'])
        expect(read(name)).toContain(glob);
    },
  );
});
