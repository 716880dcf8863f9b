import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/rules/config.js';
import { detect } from '../../src/rules/detect.js';
import { matcher } from '../../src/rules/globs.js';
import { starterConfig } from '../../src/rules/starter.js';
import { contractConfig } from '../helpers/contractConfig.js';

const bare = detect({ paths: [], texts: new Map() });

describe('the config that init writes', () => {
  const config = starterConfig(bare, 'A goal.');

  test('is accepted as it is, with nothing left to default', () => {
    const read = readConfig(JSON.stringify(config));
    expect(read).toEqual({ ok: true, value: config });
  });

  test('has every key of the contract’s example', () => {
    const keysOf = (value: unknown, place = ''): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([key, child]) => [`${place}${key}`, ...keysOf(child, `${place}${key}.`)])
        : [];
    const missing = keysOf(contractConfig()).filter((key) => !keysOf(config).includes(key));
    expect(missing).toEqual([]);
  });

  test('carries the goal', () => {
    expect(config.project).toEqual({ goal: 'A goal.', milestone_id: 'M1' });
  });

  test('does not skip permissions by default', () => {
    expect(config.builder.claude_code.permission_mode).toBe('acceptEdits');
    expect(config.orchestrator).toMatchObject({ permission_mode: 'plan', allowed_tools: '' });
  });

  test.each([
    '.git/config',
    'relais/STATE.json',
    'a/.env.local',
    'my-secret.txt',
    'a/token.json',
    'a/node_modules/x',
    '.claude/settings.json',
    '.mcp.json',
    'CLAUDE.md',
    'src/CLAUDE.md',
    'src/deep/.claude/settings.json',
    'src/.gitattributes',
    'AGENTS.md',
    '.codex/x',
    '.gemini/x',
    '.github/workflows/ci.yml',
    '.gitattributes',
    '.gitmodules',
  ])('forbids %s', (path) => {
    expect(matcher(config.scope.default_forbidden_globs, { twins: true })(path)).toBeDefined();
  });

  test('takes checks, folders, lockfiles and variables from what was found', () => {
    const detected = detect({
      paths: ['package.json', 'src/', 'go.mod'],
      texts: new Map([['package.json', '{"scripts":{"test":"vitest run"},"workspaces":["a"]}']]),
    });
    const found = starterConfig(detected, '');
    expect(found.verification.templates).toEqual(detected.templates);
    expect(found.scope.default_allowed_globs).toEqual(detected.allowedGlobs);
    expect(found.scope.lockfiles).toContain('go.sum');
    expect(found.verification.env).toEqual({ CI: '1' });
    expect(readConfig(JSON.stringify(found)).ok).toBe(true);
  });
});
