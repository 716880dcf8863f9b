import { describe, expect, test } from 'vitest';
import type { Language } from '../../src/rules/detect.js';
import { otherChecks } from '../../src/rules/detectOther.js';

function commands(
  languages: readonly Language[],
  paths: readonly string[],
  texts: Record<string, string> = {},
): string[] {
  return otherChecks(languages, { paths, texts: new Map(Object.entries(texts)) }).map(
    ({ id, cmd, args }) => `${id}: ${[cmd, ...args].join(' ')}`,
  );
}

describe('Python', () => {
  test('the tools that the manifests name', () => {
    const texts = { 'pyproject.toml': '[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]' };
    expect(commands(['python'], ['pyproject.toml'], texts)).toEqual([
      'lint: python3 -m ruff check .',
      'typecheck: python3 -m mypy .',
      'test: python3 -m pytest -q -p no:cacheprovider',
    ]);
  });

  test.each([
    ['ruff.toml', 'lint'],
    ['mypy.ini', 'typecheck'],
    ['conftest.py', 'test'],
    ['tests/conftest.py', 'test'],
  ])('%s alone stands for %s', (file, id) => {
    expect(commands(['python'], [file]).map((line) => line.split(':')[0])).toEqual([id]);
  });

  test('unittest where only a folder of tests is there', () => {
    expect(commands(['python'], ['tests/'])).toEqual(['test: python3 -m unittest discover -s tests']);
    expect(commands(['python'], ['test/'])).toEqual(['test: python3 -m unittest discover -s test']);
  });

  test.each([
    ['uv.lock', 'uv run --no-sync python -m pytest'],
    ['poetry.lock', 'poetry run python -m pytest'],
    ['pdm.lock', 'pdm run python -m pytest'],
  ])('%s says how modules are started', (lock, start) => {
    expect(commands(['python'], [lock, 'pytest.ini'])[0]).toContain(`test: ${start} `);
  });

  test('a word inside another is not the tool', () => {
    expect(commands(['python'], [], { 'requirements.txt': 'pytestify\nscruffy' })).toEqual([]);
  });
});

describe('Go and Rust', () => {
  test('Go', () => {
    expect(commands(['go'], ['go.mod'])).toEqual([
      'lint: go vet ./...',
      'build: go build ./...',
      'test: go test ./...',
    ]);
  });

  test('Rust, with the optional tools only where they are set up', () => {
    expect(commands(['rust'], [])).toEqual(['typecheck: cargo check --all-targets', 'test: cargo test']);
    expect(commands(['rust'], ['clippy.toml', '.rustfmt.toml']).slice(0, 2)).toEqual([
      'lint: cargo clippy --all-targets -- -D warnings',
      'format: cargo fmt --check',
    ]);
  });
});

describe('a Makefile', () => {
  const texts = { Makefile: 'test := no\nlint: x\n\tdo\ntests:\n' };

  test('its targets count only where no language was found', () => {
    expect(commands([], ['Makefile'], texts)).toEqual(['lint: make lint']);
    expect(commands(['go'], ['Makefile'], texts)).not.toContain('lint: make lint');
  });
});
