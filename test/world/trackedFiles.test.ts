import { describe, expect, it } from 'vitest';
import { ListedIndex } from '../../src/world/git/trackedFiles.js';
import { pathBytes } from '../../src/world/paths.js';

const OID = 'a'.repeat(40);

function listed(...records: [letter: string, mode: string, path: string][]): ListedIndex {
  return new ListedIndex(
    Buffer.concat(
      records.flatMap(([letter, mode, path]) => [
        Buffer.from(`${letter} ${mode} ${OID} 0\t`),
        pathBytes(path),
        Buffer.of(0),
      ]),
    ),
  );
}

const index = listed(
  ['H', '100644', '.gitattributes'],
  ['h', '100644', 'a'],
  ['H', '100755', 'a-b'],
  ['H', '100644', 'a/.gitattributes'],
  ['S', '100644', 'a/b c\n'],
  ['H', '100644', 'a/not.gitattributes'],
  ['H', '160000', 'module'],
  ['H', '120000', 'node_modules/x'],
  ['H', '100644', '\udcff'],
);

describe('the listed index', () => {
  it('is searched by the bytes of a path', () => {
    expect([...index.keys()].every((path) => index.has(path))).toBe(true);
    expect(index.get('a-b')).toEqual({ mode: '100755', oid: OID, flagged: false });
    expect(index.get('\udcff')?.mode).toBe('100644');
    for (const none of ['', 'A', 'a/', 'a/b', 'zzz', 'modul', 'module/']) expect(index.get(none)).toBeUndefined();
    expect([index.size, [...index].length]).toEqual([9, 9]);
  });

  it('knows what git does not look at, and submodules', () => {
    expect(index.flagged).toEqual(['a', 'a/b c\n']);
    expect(index.submodules).toEqual(['module']);
  });

  it('finds names, texts and folders', () => {
    expect(index.named('.gitattributes')).toEqual(['.gitattributes', 'a/.gitattributes']);
    expect(index.containing('node_modules/')).toEqual(['node_modules/x']);
    // Not in what stands before the path.
    expect(index.containing('100644')).toEqual([]);
    expect(['a', 'node_modules', 'module', 'a-', '.git', '\udcff'].map((folder) => index.hasInside(folder))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it('tells of ascending paths which are tracked', () => {
    const isTracked = index.ascending();
    const asked = ['.env', '.gitattributes', 'a', 'a-', 'a-b', 'a/z', 'module', 'zz', '\udcfe', '\udcff'];
    expect(
      asked.filter((path) => {
        const bytes = Buffer.concat([Buffer.from('??'), pathBytes(path), Buffer.from('!')]);
        return isTracked(bytes, 2, bytes.length - 1);
      }),
    ).toEqual(['.gitattributes', 'a', 'a-b', 'module', '\udcff']);
  });

  it('may be empty, but neither cut nor of another form', () => {
    expect([...listed()]).toEqual([]);
    expect(() => new ListedIndex(Buffer.from(`H 100644 ${OID} 0\ta`))).toThrow('incompletely');
    expect(() => new ListedIndex(Buffer.from(`H 100644 ${OID} 0\ta\0H 100644 b\0`))).toThrow('form');
  });
});
