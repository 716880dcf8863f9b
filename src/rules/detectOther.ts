import type { Language, Seen, Template } from './detect.js';

type LanguageTemplate = Template & { readonly language?: Language };

/** The checks of everything that is not a Node package; a Makefile's only where nothing else was found. */
export function otherChecks(languages: readonly Language[], seen: Seen): LanguageTemplate[] {
  const names = new Set(seen.paths);
  const found: LanguageTemplate[] = [];
  if (languages.includes('python')) found.push(...pythonChecks(seen, names));
  if (languages.includes('go')) {
    found.push(
      { language: 'go', id: 'lint', cmd: 'go', args: ['vet', './...'] },
      { language: 'go', id: 'build', cmd: 'go', args: ['build', './...'] },
      { language: 'go', id: 'test', cmd: 'go', args: ['test', './...'] },
    );
  }
  if (languages.includes('rust')) found.push(...rustChecks(names));
  return languages.length === 0 ? makeChecks(seen) : found;
}

function pythonChecks(seen: Seen, names: ReadonlySet<string>): LanguageTemplate[] {
  const text = ['pyproject.toml', 'setup.cfg', 'requirements.txt', 'requirements-dev.txt', 'tox.ini']
    .map((name) => seen.texts.get(name) ?? '')
    .join('\n');
  const has = (...files: string[]): boolean => files.some((file) => names.has(file));
  const check = (id: string, module: string, ...args: string[]): LanguageTemplate => ({
    language: 'python',
    id,
    ...pythonRun(names, module, args),
  });
  const found: LanguageTemplate[] = [];
  if (/\bruff\b/.test(text) || has('ruff.toml', '.ruff.toml')) found.push(check('lint', 'ruff', 'check', '.'));
  if (/\bmypy\b/.test(text) || has('mypy.ini')) found.push(check('typecheck', 'mypy', '.'));
  if (/\bpytest\b/.test(text) || has('pytest.ini', 'conftest.py', 'tests/conftest.py')) {
    // The cache folder would be a new file in repositories that do not ignore it.
    found.push(check('test', 'pytest', '-q', '-p', 'no:cacheprovider'));
  } else if (has('tests/', 'test/')) {
    found.push(check('test', 'unittest', 'discover', '-s', has('tests/') ? 'tests' : 'test'));
  }
  return found;
}

/** How this project starts a Python module, without installing anything on the way. */
function pythonRun(
  names: ReadonlySet<string>,
  module: string,
  args: readonly string[],
): { cmd: string; args: string[] } {
  const asModule = ['python', '-m', module, ...args];
  if (names.has('uv.lock')) return { cmd: 'uv', args: ['run', '--no-sync', ...asModule] };
  if (names.has('poetry.lock')) return { cmd: 'poetry', args: ['run', ...asModule] };
  if (names.has('pdm.lock')) return { cmd: 'pdm', args: ['run', ...asModule] };
  return { cmd: 'python3', args: asModule.slice(1) };
}

function rustChecks(names: ReadonlySet<string>): LanguageTemplate[] {
  const rust = (id: string, ...args: string[]): LanguageTemplate => ({ language: 'rust', id, cmd: 'cargo', args });
  return [
    ...(names.has('clippy.toml') || names.has('.clippy.toml')
      ? [rust('lint', 'clippy', '--all-targets', '--', '-D', 'warnings')]
      : []),
    ...(names.has('rustfmt.toml') || names.has('.rustfmt.toml') ? [rust('format', 'fmt', '--check')] : []),
    rust('typecheck', 'check', '--all-targets'),
    rust('test', 'test'),
  ];
}

function makeChecks(seen: Seen): LanguageTemplate[] {
  const makefile = seen.texts.get('Makefile') ?? '';
  return ['lint', 'test']
    .filter((target) => new RegExp(`^${target}\\s*:(?!=)`, 'm').test(makefile))
    .map((target) => ({ id: target, cmd: 'make', args: [target] }));
}
