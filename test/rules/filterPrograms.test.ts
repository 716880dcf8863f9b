import { describe, expect, test } from 'vitest';
import { filterPrograms } from '../../src/rules/filterPrograms.js';

const tracked = new Map(['clean.sh', 'tools/filter.mjs', 'tools/lib/a.mjs', 'src/a.ts'].map((path) => [path, true]));

describe('the tracked files a filter needs', () => {
  test.each<[string, string[]]>([
    ['git-lfs clean -- %f', []],
    ['./clean.sh %f', ['clean.sh']],
    ['sh clean.sh', ['clean.sh']],
    ["node './tools/filter.mjs' clean", ['tools/filter.mjs', 'tools/lib/a.mjs']],
    ['node "tools/filter.mjs" < src/other.ts', ['tools/filter.mjs', 'tools/lib/a.mjs']],
  ])('%s', (command, needed) => {
    expect(filterPrograms([command], tracked)).toEqual(needed);
  });
});
