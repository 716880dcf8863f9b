import { describe, expect, test } from 'vitest';
import { CONFIG_KEYS } from '../../src/generated/configKeys.js';
import { readConfig } from '../../src/rules/config.js';
import { contractConfig } from '../helpers/contractConfig.js';

describe('a config that can be used', () => {
  test('the contract’s own example is accepted and the added keys get their defaults', () => {
    const config = accepted(contractConfig());
    expect(config.project).toEqual({ goal: '', milestone_id: 'M1' });
    expect(config.runner.commit_on_success).toBe(true);
    expect(config.orchestrator.agent).toBe('claude');
    expect(config.orchestrator.max_prompt_chars).toBe(60_000);
    expect(config.builder.agent).toBe('claude');
    expect(config.builder.claude_code.max_prompt_chars).toBe(120_000);
    expect(config.verification.env).toEqual({});
    expect(config.scope.fence_globs).toBeUndefined();
  });

  test('what the operator wrote is kept instead of a default', () => {
    const raw = contractConfig();
    raw['project'] = { milestone_id: 'M7' };
    raw['runner'].commit_on_success = false;
    const config = accepted(raw);
    expect(config.project).toEqual({ goal: '', milestone_id: 'M7' });
    expect(config.runner.commit_on_success).toBe(false);
  });

  test('nothing in it can be changed afterwards', () => {
    const config = accepted(contractConfig());
    expect(() => config.scope.default_allowed_globs.push('**')).toThrow(TypeError);
    expect(() => {
      config.verification.env['PATH'] = '/somewhere';
    }).toThrow(TypeError);
  });
});

describe('what a schema can state', () => {
  test('a syntax error is named with its line and column', () => {
    expect(errorsOf('{\n  "version": "1.0",\n  "workspace_dir" "relais"\n}')).toEqual([
      `not JSON at 3:19: expected ':', found "\\""`,
    ]);
  });

  test('a mistyped key is an error with a suggestion', () => {
    const raw = contractConfig();
    raw['runner'].max_tick_second = 5;
    raw['verification'].templates[0].arg = [];
    raw['projct'] = {};
    const errors = rejected(raw);
    expect(errors).toContain('unknown key "runner.max_tick_second", did you mean "max_tick_seconds"?');
    expect(errors).toContain('unknown key "verification.templates[0].arg", did you mean "args"?');
    expect(errors).toContain('unknown key "projct", did you mean "project"?');
  });

  test('a key that resembles nothing gets no suggestion', () => {
    const raw = contractConfig();
    raw['zzzzzzzz'] = 1;
    expect(rejected(raw)).toEqual(['unknown key "zzzzzzzz"']);
  });

  test('a missing key of the contract is an error, whichever it is', () => {
    for (const key of Object.keys(contractConfig())) {
      const raw = contractConfig();
      delete raw[key];
      expect(rejected(raw), key).toEqual([`missing key "${key}"`]);
    }
  });

  const everyKey = leaves(contractConfig());

  test.each(everyKey)('%s is needed', (key) => {
    const raw = contractConfig();
    const { holder, name } = placeOf(raw, key);
    delete holder[name];
    expect(rejected(raw)).toEqual([`missing key "${key}"`]);
  });

  test.each(everyKey)('%s with a value of another kind is an error that names it', (key) => {
    const raw = contractConfig();
    const { holder, name } = placeOf(raw, key);
    holder[name] = { not: 'this' };
    expect(rejected(raw).join('\n')).toContain(key);
  });

  test.each([...CONFIG_KEYS.keys()].filter((place) => !place.includes('[]')))(
    'an unknown key in "%s" is an error',
    (place) => {
      const raw = contractConfig();
      raw['project'] = {};
      raw['scope'].ceilings = {};
      const holder = place === '' ? raw : placeOf(raw, `${place}.x`).holder;
      holder['qqqqqqqqqqqq'] = 1;
      const name = place === '' ? 'qqqqqqqqqqqq' : `${place}.qqqqqqqqqqqq`;
      expect(rejected(raw)).toEqual([`unknown key "${name}"`]);
    },
  );

  const added: [key: string, good: unknown, bad: unknown][] = [
    ['$schema', './relais/schemas/config.schema.json', 7],
    ['project', { goal: 'g', milestone_id: 'M2' }, { milestone_id: '' }],
    ['runner.commit_on_success', false, 'no'],
    ['orchestrator.agent', 'scripted', 'nobody'],
    ['builder.agent', 'scripted', 'nobody'],
    ['orchestrator.max_prompt_chars', 5000, 10],
    ['builder.claude_code.max_prompt_chars', 5000, 10],
    ['verification.env', { CI: '1' }, { 'not a name': 'x' }],
    ['scope.fence_globs', ['src/**'], []],
    ['scope.ceilings', { allow_new_files: false, max_lines_changed: 10 }, { max_files_touched: 'x' }],
  ];
  test.each(added)('%s may be given, and is checked', (key, good, bad) => {
    const raw = contractConfig();
    const { holder, name } = placeOf(raw, key);
    holder[name] = good;
    expect(placeOf(accepted(raw), key).value).toEqual(good);
    holder[name] = bad;
    expect(rejected(raw).join('\n')).toContain(key);
  });

  const ranges: [key: string, low: number, high: number][] = [
    ['orchestrator.max_parse_retries_per_tick', -1, 2],
    ['budgets.warn_at_fraction', -0.1, 1.1],
    ['runner.render_report_md.max_chars', 499, 1_000_001],
    ['verification.max_param_len', 0, 4097],
  ];
  test.each(ranges)('%s has its bounds', (key, low, high) => {
    for (const value of [low, high]) {
      const raw = contractConfig();
      const { holder, name } = placeOf(raw, key);
      holder[name] = value;
      expect(rejected(raw).join('\n'), String(value)).toContain(key);
    }
  });

  test('a key named __proto__ is refused', () => {
    expect(errorsOf('{"runner":{"__proto__":{"x":1}}}')).toEqual(['the key "runner.__proto__" is not allowed']);
  });
});

describe('what a schema cannot state', () => {
  const cases: [title: string, change: (raw: Record<string, any>) => void, error: string][] = [
    ['git cannot be given up', (raw) => (raw['runner'].require_git = false), 'runner.require_git must be true'],
    ['the workspace is one folder', (raw) => (raw['workspace_dir'] = 'a/b'), 'workspace_dir must be one folder'],
    ['the workspace is not the root', (raw) => (raw['workspace_dir'] = '.'), 'workspace_dir must be written plainly'],
    ['the workspace is not above', (raw) => (raw['workspace_dir'] = '..'), 'workspace_dir must not contain ".."'],
    ['the workspace is not git’s folder', (raw) => (raw['workspace_dir'] = '.GIT'), 'workspace_dir must not be git'],
    ['the lock is not absolute', (raw) => (raw['runner'].lockfile = '/run/lock'), 'runner.lockfile must be relative'],
    [
      'the lock is in the workspace',
      (raw) => (raw['runner'].lockfile = 'lock.json'),
      'runner.lockfile must be inside "relais/"',
    ],
    [
      'the lock is no other file',
      (raw) => (raw['runner'].lockfile = 'relais/STATE.json'),
      'runner.lockfile must not be "relais/STATE.json"',
    ],
    ['the history stays inside', (raw) => (raw['history'].dir = 'relais/../x'), 'history.dir must not contain ".."'],
    [
      'prompts are in the workspace',
      (raw) => (raw['orchestrator'].user_prompt_file = 'src/p.txt'),
      'orchestrator.user_prompt_file must be inside',
    ],
    [
      'schemas are in the workspace',
      (raw) => (raw['builder'].claude_code.builder_result_schema_file = 'x.json'),
      'builder_result_schema_file must be inside',
    ],
    [
      'only files directly inside are cleaned up',
      (raw) => (raw['runner'].crash_cleanup.delete_tmp_glob = 'relais/**/*.tmp'),
      'delete_tmp_glob must name files directly inside',
    ],
    [
      'what the cleanup removes is none of the runner’s files',
      (raw) => (raw['runner'].crash_cleanup.delete_tmp_glob = 'relais/*'),
      'delete_tmp_glob must not match "relais/STATE.json"',
    ],
    [
      'nor the lock',
      (raw) => (raw['runner'].crash_cleanup.delete_tmp_glob = 'relais/lock*'),
      'delete_tmp_glob must not match "relais/lock.json"',
    ],
    [
      'the history is no file of the runner',
      (raw) => (raw['history'].dir = 'relais/FACTS.md'),
      'history.dir must not be "relais/FACTS.md"',
    ],
    [
      'a path is written plainly',
      (raw) => (raw['history'].dir = 'relais//history'),
      'history.dir must be written plainly',
    ],
    [
      'a path has no backslash',
      (raw) => (raw['runner'].lockfile = 'relais/a\\b'),
      'runner.lockfile must not contain backslashes',
    ],
    [
      'a runner-owned glob is a glob',
      (raw) => raw['runner'].runner_owned_globs.push('a/../b'),
      'runner.runner_owned_globs: the glob "a/../b" is not usable',
    ],
    [
      'a forbidden glob is a glob',
      (raw) => raw['scope'].default_forbidden_globs.push('/etc/**'),
      'scope.default_forbidden_globs: the glob "/etc/**" is not usable',
    ],
    [
      'a glob that negates is refused',
      (raw) => raw['scope'].default_allowed_globs.push('!src/**'),
      'scope.default_allowed_globs: the glob "!src/**" is not usable',
    ],
    [
      'a glob that leaves is refused',
      (raw) => (raw['scope'].fence_globs = ['../**']),
      'scope.fence_globs: the glob "../**" is not usable',
    ],
    [
      'a lockfile is a name',
      (raw) => raw['scope'].lockfiles.push('a/yarn.lock'),
      'scope.lockfiles: "a/yarn.lock" must be a file name',
    ],
    [
      'an id is given once',
      (raw) => raw['verification'].templates.push({ id: 'lint', cmd: 'x', args: [] }),
      'the id "lint" is given twice',
    ],
    [
      'a placeholder is described',
      (raw) => raw['verification'].templates[0].args.push('{{x}}'),
      '"lint" uses {{x}}, but its params',
    ],
    [
      'a parameter is used',
      (raw) => (raw['verification'].templates[0].params = { x: { kind: 'path' } }),
      '"lint" describes the parameter "x"',
    ],
    [
      'the agent is not in the repository',
      (raw) => (raw['claude_code_cli'].command = './claude'),
      'claude_code_cli.command must be a bare name',
    ],
  ];
  test.each(cases)('%s', (_title, change, error) => {
    const raw = contractConfig();
    change(raw);
    expect(rejected(raw).join('\n')).toContain(error);
  });

  test.each(['(a+)+$', '[a][b]', '[a]*', '^[a]', '[a', '[]', '[^]', '[z-a]', 'a', '[a\\]'])(
    'the expression %s is not one usable character class',
    (pattern) => {
      const raw = contractConfig();
      raw['verification'].reject_metachars_regex = pattern;
      expect(rejected(raw).join('\n')).toContain('verification.reject_metachars_regex');
    },
  );
});

describe('paths that must lie in the workspace', () => {
  test.each([
    'orchestrator.system_prompt_file',
    'orchestrator.user_prompt_file',
    'orchestrator.task_schema_file',
    'builder.claude_code.system_prompt_file',
    'builder.claude_code.user_prompt_file',
    'builder.claude_code.builder_result_schema_file',
    'runner.lockfile',
    'history.dir',
  ])('%s', (key) => {
    for (const value of ['elsewhere/x', '/etc/x', 'relais/../x', 'relaisx/y']) {
      const raw = contractConfig();
      const { holder, name } = placeOf(raw, key);
      holder[name] = value;
      expect(rejected(raw).join('\n'), value).toContain(`${key} must`);
    }
  });

  test('an agent program may be a bare name or an absolute path', () => {
    for (const command of ['claude', '/opt/claude']) {
      const raw = contractConfig();
      raw['claude_code_cli'].command = command;
      expect(accepted(raw).claude_code_cli.command).toBe(command);
    }
  });
});

/** Every key of the example that holds a plain value or a list, as `a.b.c`. */
function leaves(value: Record<string, any>, place = ''): string[] {
  return Object.entries(value).flatMap(([key, child]) =>
    typeof child === 'object' && !Array.isArray(child) ? leaves(child, `${place}${key}.`) : [`${place}${key}`],
  );
}

function placeOf(
  root: Record<string, any>,
  key: string,
): { holder: Record<string, any>; name: string; value: unknown } {
  const names = key.split('.');
  const name = names.pop() ?? '';
  const holder = names.reduce((object, part) => object[part], root);
  return { holder, name, value: holder[name] };
}

function accepted(raw: object) {
  const read = readConfig(JSON.stringify(raw));
  if (!read.ok) throw new Error(read.errors.join('\n'));
  return read.value;
}

function rejected(raw: object): string[] {
  return errorsOf(JSON.stringify(raw));
}

function errorsOf(text: string): string[] {
  const read = readConfig(text);
  if (read.ok) throw new Error('the config was accepted');
  return read.errors;
}
