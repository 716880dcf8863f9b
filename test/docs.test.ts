import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { CODES } from '../src/generated/codes.js';
import { EXIT_CODE } from '../src/outcome.js';
import { worstCase } from '../src/rules/budget.js';
import { detect } from '../src/rules/detect.js';
import { starterConfig } from '../src/rules/starter.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...markdownIn('docs')];

function markdownIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return markdownIn(name);
    return name.endsWith('.md') ? [name] : [];
  });
}

function textOf(name: string): string {
  return readFileSync(path.join(root, name), 'utf8');
}

/** What stands outside of code, where brackets are links. */
function proseOf(name: string): string {
  return textOf(name)
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
    .replaceAll(/(`+)[^`]+\1/g, (span) => (span.includes('](') ? '' : span));
}

/** The names GitHub gives to a page's headings. */
function anchorsOf(name: string): string[] {
  return [...proseOf(name).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

function brokenLinks(name: string): string[] {
  const links = [...proseOf(name).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return links.filter((target) => {
    if (/^https?:/.test(target)) return false;
    const [file = '', anchor] = target.split('#');
    const place = file === '' ? name : path.posix.join(path.posix.dirname(name), file);
    if (!existsSync(path.join(root, place))) return true;
    return anchor !== undefined && !anchorsOf(place).includes(anchor);
  });
}

/** The cells of the first column of the table that follows a marker. */
function firstColumn(name: string, part: string): string[] {
  const [, table = ''] = new RegExp(`<!-- generated:${part} -->\\n([\\s\\S]*?)<!-- /generated:${part} -->`).exec(
    textOf(name),
  ) ?? [''];
  return [...table.matchAll(/^\| `?([^`|]+?)`? \|/gm)].map(([, cell = '']) => cell).slice(1);
}

async function relais(...args: string[]): Promise<string> {
  const { stdout } = await execa(process.execPath, ['dist/cli.js', ...args], { cwd: root });
  return stdout;
}

describe('the documentation', () => {
  it.each(pages)('%s has no link that leads nowhere', (name) => {
    expect(brokenLinks(name)).toEqual([]);
  });

  it('names only commands and options that exist', async () => {
    const help = await relais('--help');
    const known = [...help.matchAll(/^ {2}([a-z]+)(?: \[| {2})/gm)].map(([, name = '']) => name);
    expect(known).toContain('run');
    const named = pages.flatMap((name) =>
      [...textOf(name).matchAll(/(?:`|^ *|npx |while |; |\|\| )relais ([a-z]+)((?: +(?:--[a-z-]+|[A-Z]\d+))*)/gm)].map(
        ([, command = '', rest = '']) => [command, rest.match(/--[a-z-]+/g) ?? []] as const,
      ),
    );
    expect(named.length).toBeGreaterThan(20);
    for (const command of new Set(named.map(([name]) => name))) {
      expect(known).toContain(command);
      const options = named.filter(([name]) => name === command).flatMap(([, given]) => given);
      const text = options.length === 0 ? '' : await relais(command, '--help');
      expect(options.filter((option) => !text.includes(option))).toEqual([]);
    }
  });

  it('lists every command in the README', async () => {
    const commands = [...(await relais('--help')).matchAll(/^ {2}([a-z]+)(?: \[| {2})/gm)].map(([, name = '']) => name);
    const readme = textOf('README.md');
    expect(commands.filter((name) => name !== 'help' && !readme.includes(`relais ${name}`))).toEqual([]);
  });

  it('shows in the README what the demo really prints', async () => {
    const [, excerpt = ''] = /<!-- demo excerpt[^\n]*-->\n```text\n([\s\S]*?)```/.exec(textOf('README.md')) ?? [];
    const plain = (text: string): string => text.replaceAll(/\b[0-9a-f]{10}\b/g, '<commit>');
    // Between two marks of omission every line is there, in its place.
    const pieces = plain(excerpt).split('…\n');
    expect(pieces.length).toBeGreaterThan(2);
    const printed = `\n${plain(await relais('demo'))}`;
    let at = 0;
    const missing = pieces.filter((piece) => {
      const found = printed.indexOf(`\n${piece}`, at);
      if (found >= 0) at = found + piece.length;
      return found < 0;
    });
    expect(missing).toEqual([]);
  });

  it('tells the money caps that init writes', async () => {
    const config = starterConfig(detect({ paths: [], texts: new Map() }), '');
    const tick = worstCase(config).estimated_cost_usd;
    const caps = [config.orchestrator.max_budget_usd, config.builder.claude_code.max_budget_usd].map((cap) =>
      cap.toFixed(2),
    );
    const milestone = String(config.budgets.per_milestone.max_estimated_cost_usd);
    const told = (text: string): string[] =>
      [...text.replaceAll(/\s+/g, ' ').matchAll(/(\d+(?:\.\d+)?) USD/g)].map(([, amount = '']) => amount);
    const fiveSettings = /## The five settings[\s\S]*?## Rules/.exec(textOf('docs/config.md'))?.[0] ?? '';
    expect(told(textOf('README.md'))).toEqual([...caps, tick.toFixed(2), milestone]);
    expect(told(fiveSettings)).toEqual([...caps, milestone, tick.toFixed(2)]);
    expect(told(textOf('docs/exit-codes.md'))).toEqual([(5 * tick).toFixed(2)]);
    expect(told(await relais('run', '--help'))).toEqual([...caps, milestone]);
  });

  it('explains every code and every exit code', () => {
    expect(firstColumn('README.md', 'codes')).toEqual([...CODES]);
    expect(firstColumn('docs/exit-codes.md', 'code-exits')).toEqual([...CODES]);
    expect(firstColumn('docs/crash-recovery.md', 'blocked-codes')).toEqual(
      CODES.filter((code) => code.startsWith('BLOCKED_')),
    );
    expect(firstColumn('README.md', 'exit-codes')).toEqual(Object.values(EXIT_CODE).map(String));
  });

  it('explains every key of the config', () => {
    const schema = JSON.parse(textOf('schemas/config.schema.json')) as { properties: Record<string, object> };
    const keys = firstColumn('docs/config.md', 'config');
    expect(keys.filter((key) => !key.includes('.'))).toEqual(Object.keys(schema.properties));
    expect(keys).toContain('verification.templates[].params.*.kind');
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has generated parts that are fresh', async () => {
    const { exitCode, stderr } = await execa(process.execPath, ['scripts/gen.mjs', '--check'], {
      cwd: root,
      reject: false,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  });

  it('keeps decision records numbered without gaps, short, and in three parts', () => {
    const records = markdownIn('docs/decisions');
    expect(records.map((name) => path.basename(name).slice(0, 4))).toEqual(
      records.map((_, index) => String(index + 1).padStart(4, '0')),
    );
    for (const name of records) {
      const text = textOf(name);
      expect(text.split('\n').length, name).toBeLessThanOrEqual(26);
      for (const part of ['**Context.**', '**Decision.**', '**Consequence.**']) expect(text, name).toContain(part);
    }
  });
});
