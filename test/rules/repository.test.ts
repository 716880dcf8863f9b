import { describe, expect, test } from 'vitest';
import { summarize } from '../../src/rules/repository.js';

describe('the summary of a repository', () => {
  test('counts files by folder and ending and lists the commits', () => {
    const paths = ['README.md', 'src/a.ts', 'src/b.ts', 'src/deep/er/c.ts', 'test/a.test.ts', 'LICENSE'];
    expect(summarize(paths, ['second', 'first\nline'])).toBe(
      [
        '6 tracked files',
        'by ending: .ts 4, .md 1',
        'folders (files):',
        '  . (2)',
        '  src (2)',
        '  src/deep (1)',
        '  test (1)',
        'recent commits:',
        '  second',
        '  first line',
      ].join('\n'),
    );
  });

  test('does not depend on the order of the paths', () => {
    const paths = ['b/x.ts', 'a/y.js', 'a/z.ts', 'c/w.js'];
    expect(summarize([...paths].reverse(), [])).toBe(summarize(paths, []));
  });

  test('is bounded, and says what was left out', () => {
    const paths = Array.from({ length: 5000 }, (_, at) => `d${at}/f.e${at % 300}`);
    const lines = summarize(paths, []).split('\n');
    expect(lines).toHaveLength(45);
    expect(lines).toContain('  … 4960 more folders');
    expect(lines[1]?.split(',')).toHaveLength(8);
  });

  test('shows no control characters, and says when there is no ending', () => {
    const text = summarize(['a\u001b[2J/x'], ['sub\u001bject']);
    expect(text).not.toContain('\u001b');
    expect(text).toContain('by ending: (none)');
  });
});
