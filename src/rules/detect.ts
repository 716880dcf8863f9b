import { otherChecks } from './detectOther.js';
import type { Config } from '../generated/types.js';

export type Template = Config['verification']['templates'][number];
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';
export type Language = 'typescript' | 'javascript' | 'python' | 'go' | 'rust';

/** What init looked at: paths down to the second level (folders end in `/`) and the text of the manifests among them. */
export interface Seen {
  readonly paths: readonly string[];
  readonly texts: ReadonlyMap<string, string>;
}

/** What a repository is made of, as far as its manifests tell. */
export interface Detected {
  readonly packageManager?: PackageManager;
  readonly languages: readonly Language[];
  readonly templates: readonly Template[];
  readonly allowedGlobs: readonly string[];
  readonly lockfiles: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Sentences for the operator about what could not be decided. */
  readonly notes: readonly string[];
}

/** The files whose text `detect` wants to see. */
export const MANIFESTS = [
  'package.json',
  'pyproject.toml',
  'setup.cfg',
  'requirements.txt',
  'requirements-dev.txt',
  'tox.ini',
  'Makefile',
] as const;

const NODE_LOCKS: readonly (readonly [string, PackageManager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
];

const CONTRACT_LOCKFILES = [
  'pnpm-lock.yaml',
  'package-lock.json',
  'yarn.lock',
  'bun.lockb',
  'bun.lock',
  'npm-shrinkwrap.json',
];
const OTHER_LOCKFILES: Partial<Record<Language, readonly string[]>> = {
  python: ['uv.lock', 'poetry.lock', 'pdm.lock', 'Pipfile.lock'],
  go: ['go.sum'],
  rust: ['Cargo.lock'],
};

const SOURCE_FOLDERS =
  'src app apps lib packages server client components pages cmd internal pkg crates test tests __tests__ spec e2e examples benches'.split(
    ' ',
  );
const FALLBACK_GLOBS = ['src/**', 'app/**', 'packages/**', 'tests/**', 'README.md'];

/** Each check with the script names that stand for it, the usual one first. */
const SCRIPTS: readonly (readonly [id: string, names: readonly string[]])[] = [
  ['lint', ['lint']],
  ['format', ['format:check', 'fmt:check', 'check:format']],
  ['typecheck', ['typecheck', 'type-check', 'check-types', 'check:types', 'types', 'tsc']],
  ['test', ['test', 'test:unit', 'unit']],
  ['build', ['build']],
];

interface Manifest {
  readonly scripts: ReadonlyMap<string, string>;
  readonly dependencies: ReadonlySet<string>;
  readonly packageManager?: string;
  readonly workspaces: boolean;
}

/** Package manager, languages, checks and scope defaults of a repository, from names and manifests alone. */
export function detect(seen: Seen): Detected {
  const notes: string[] = [];
  const names = new Set(seen.paths);
  const manifestText = seen.texts.get('package.json');
  const manifest = manifestText === undefined ? undefined : readManifest(manifestText, notes);
  const packageManager = manifest && nodeManager(names, manifest, notes);
  const languages = detectLanguages(names, manifest);
  const found = [
    ...(manifest && packageManager ? nodeChecks(manifest, packageManager, names) : []),
    ...otherChecks(languages, seen),
  ];
  const templates = withUniqueIds(found);
  if (templates.length === 0)
    notes.push(
      'no check was recognised: add at least one to verification.templates, or every tick is judged by scope alone',
    );
  return {
    ...(packageManager && { packageManager }),
    languages,
    templates,
    allowedGlobs: allowedGlobs(seen.paths, languages),
    lockfiles: [...CONTRACT_LOCKFILES, ...languages.flatMap((language) => OTHER_LOCKFILES[language] ?? [])],
    // Most watchers and progress bars stay quiet and end by themselves when CI is set.
    env: { CI: '1', ...(languages.includes('python') && { PYTHONDONTWRITEBYTECODE: '1' }) },
    notes,
  };
}

function readManifest(text: string, notes: string[]): Manifest | undefined {
  const value = parsed(text);
  if (!isObject(value)) {
    notes.push('package.json is not a JSON object, so its scripts were not read');
    return undefined;
  }
  const scripts = new Map(Object.entries(isObject(value['scripts']) ? value['scripts'] : {}).filter(isTextEntry));
  const dependencies = new Set(
    ['dependencies', 'devDependencies'].flatMap((key) => (isObject(value[key]) ? Object.keys(value[key]) : [])),
  );
  const named = value['packageManager'];
  return {
    scripts,
    dependencies,
    workspaces: value['workspaces'] !== undefined,
    ...(typeof named === 'string' && { packageManager: named }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextEntry(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string';
}

function nodeManager(names: ReadonlySet<string>, manifest: Manifest, notes: string[]): PackageManager {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(manifest.packageManager ?? '')?.[1] as PackageManager | undefined;
  if (named) return named;
  const locks = NODE_LOCKS.filter(([file]) => names.has(file));
  const managers = [...new Set(locks.map(([, manager]) => manager))];
  const first = managers[0] ?? (names.has('pnpm-workspace.yaml') ? 'pnpm' : 'npm');
  if (managers.length > 1) notes.push(`lockfiles of ${managers.join(' and ')} were found; ${first} was taken`);
  return first;
}

function detectLanguages(names: ReadonlySet<string>, manifest: Manifest | undefined): Language[] {
  const languages: Language[] = [];
  const has = (...files: string[]): boolean => files.some((file) => names.has(file));
  if (has('tsconfig.json') || manifest?.dependencies.has('typescript')) languages.push('typescript');
  else if (manifest || has('package.json')) languages.push('javascript');
  if (has('pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'Pipfile')) languages.push('python');
  if (has('go.mod')) languages.push('go');
  if (has('Cargo.toml')) languages.push('rust');
  return languages;
}

function nodeChecks(manifest: Manifest, manager: PackageManager, names: ReadonlySet<string>): Template[] {
  const templates: Template[] = [];
  for (const [id, candidates] of SCRIPTS) {
    const script = candidates.find((name) => isUsable(manifest.scripts.get(name)));
    if (script !== undefined) templates.push({ id, cmd: manager, args: ['run', script] });
    else if (id === 'typecheck' && names.has('tsconfig.json') && manifest.dependencies.has('typescript'))
      templates.push(tscTemplate(manager));
  }
  const test = manifest.scripts.get('test') ?? '';
  // Only where the file name certainly reaches the runner: one command, nothing chained behind it.
  if (/^(vitest|jest)\b[^&|;]*$/.test(test)) {
    const args = manager === 'npm' ? ['run', 'test', '--', '{{file}}'] : ['run', 'test', '{{file}}'];
    templates.push({ id: 'test_file', cmd: manager, args, params: { file: { kind: 'path' } } });
  }
  if (manifest.workspaces || names.has('pnpm-workspace.yaml')) templates.push(packageTemplate(manager));
  return templates;
}

/** npm's own placeholder fails always; a check that cannot pass is no check. */
function isUsable(script: string | undefined): boolean {
  return script !== undefined && script.trim() !== '' && !script.includes('no test specified');
}

function tscTemplate(manager: PackageManager): Template {
  const id = 'typecheck';
  if (manager === 'npm') return { id, cmd: 'npm', args: ['exec', '--offline', '--', 'tsc', '--noEmit', '-p', '.'] };
  if (manager === 'pnpm') return { id, cmd: 'pnpm', args: ['exec', 'tsc', '--noEmit', '-p', '.'] };
  return { id, cmd: manager, args: ['run', 'tsc', '--noEmit', '-p', '.'] };
}

function packageTemplate(manager: PackageManager): Template {
  const args: Record<PackageManager, string[]> = {
    npm: ['run', 'test', '--workspace={{pkg}}'],
    pnpm: ['--fail-if-no-match', '--filter={{pkg}}', 'run', 'test'],
    yarn: ['workspace', '{{pkg}}', 'run', 'test'],
    bun: ['run', '--filter={{pkg}}', 'test'],
  };
  return { id: 'test_package', cmd: manager, args: args[manager], params: { pkg: { kind: 'string_token' } } };
}

function withUniqueIds(found: readonly (Template & { readonly language?: Language })[]): Template[] {
  const taken = new Set<string>();
  return found.map(({ language, ...template }) => {
    const id = taken.has(template.id) && language !== undefined ? `${language}_${template.id}` : template.id;
    taken.add(id);
    return { ...template, id };
  });
}

function allowedGlobs(paths: readonly string[], languages: readonly Language[]): string[] {
  const names = new Set(paths);
  const globs = SOURCE_FOLDERS.filter((folder) => names.has(`${folder}/`)).map((folder) => `${folder}/**`);
  if (languages.includes('python')) {
    const packages = paths
      .filter((name) => /^[^/]+\/__init__\.py$/.test(name))
      .map((name) => `${name.slice(0, name.indexOf('/'))}/**`);
    globs.push(...packages.filter((glob) => !globs.includes(glob)));
  }
  if (languages.includes('go') && paths.some((name) => /^[^/]+\.go$/.test(name))) globs.push('**/*.go');
  if (globs.length === 0) return [...FALLBACK_GLOBS];
  return [...globs, ...(names.has('README.md') ? ['README.md'] : [])].slice(0, 64);
}
