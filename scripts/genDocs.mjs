// Makes the marked parts of README.md and docs/ from the schemas and from src/, so that no table is kept by hand.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { redteamTables } from './genRedteam.mjs';

const MARKED = /<!-- generated:([a-z-]+) -->\n[\s\S]*?<!-- \/generated:\1 -->/g;

/** What an exit code means, by its name in EXIT_CODE. */
const EXIT_MEANING = {
  done: 'Done. A tick ended in SUCCESS, or the command did what it was asked for.',
  waiting: 'Waiting for you: a question needs `relais answer`, or you declined what `relais init` wanted to write.',
  stop: 'STOP: the tick ended and its work was undone. Also: a fixture failed, or `relais recover` could not finish.',
  blocked: 'BLOCKED: the tick could not start or go on. Also: the config or the machine is not in order.',
  usage: 'The command line is wrong.',
  internal: 'An internal error: please report it.',
  SIGINT: 'Interrupted by SIGINT (Ctrl-C), cleaned up.',
  SIGTERM: 'Interrupted by SIGTERM, cleaned up.',
};

/** Examples for keys that `relais init` leaves out or empty. */
const EXAMPLES = new Map(
  Object.entries({
    'scope.fence_globs': ['src/**', 'tests/**'],
    'scope.ceilings.allow_new_files': false,
    'scope.ceilings.allow_lockfile_changes': false,
    'scope.ceilings.max_files_touched': 20,
    'scope.ceilings.max_lines_changed': 800,
    'verification.templates[].id': 'test',
    'verification.templates[].cmd': 'npm',
    'verification.templates[].args': ['run', 'test', '--', '{{file}}'],
    'verification.templates[].params': { file: { kind: 'path' } },
    'verification.templates[].params.*.kind': 'path',
    'verification.env': { CI: '1' },
    'project.goal': 'A small library that computes prices with tax.',
  }),
);

/** Every file with marked parts, as it should be; keys are relative to the root. */
export async function docFiles(root, schemas) {
  const source = await readSource(root);
  const parts = new Map([
    ['codes', codeTable(schemas, source, () => true)],
    ['blocked-codes', codeTable(schemas, source, (code) => code.startsWith('BLOCKED_'))],
    ['exit-codes', exitTable(source)],
    ['code-exits', codeExitTable(schemas, source)],
    ['config', configTable(schemas.get('config'), source)],
    ['redteam', redteamTables(root, table)],
    ...['report', 'task', 'meta', 'state', 'blocked', 'lock'].map((name) => [name, fieldTable(schemas.get(name))]),
  ]);
  const files = new Map();
  for (const name of ['README.md', ...markdownIn(root, 'docs')]) {
    const text = readFileSync(path.join(root, name), 'utf8');
    const fresh = text.replaceAll(MARKED, (_, part) => {
      if (!parts.has(part)) throw new Error(`${name}: nothing is called "generated:${part}"`);
      return `<!-- generated:${part} -->\n${parts.get(part)}<!-- /generated:${part} -->`;
    });
    if ((text.match(/<!-- \/?generated:/g) ?? []).length !== 2 * [...text.matchAll(MARKED)].length)
      throw new Error(`${name}: a generated part is not closed`);
    if (text.includes('<!-- generated:')) files.set(name, fresh);
  }
  return files;
}

function markdownIn(root, folder) {
  return readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}

/** The TypeScript that holds the texts, bundled and run: there is no second copy of it here. */
async function readSource(root) {
  const contents = `
    export { CODE_MEANING, EXIT_CODE, exitCode, outcome } from './src/outcome.ts';
    export { starterConfig } from './src/rules/starter.ts';
    export { detect } from './src/rules/detect.ts';`;
  const bundle = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const [{ text }] = bundle.outputFiles;
  return import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
}

function codeTable(schemas, { CODE_MEANING }, wanted) {
  const rows = codesOf(schemas)
    .filter(wanted)
    .map((code) => [`\`${code}\``, CODE_MEANING[code].meaning, CODE_MEANING[code].remedy]);
  return table(['code', 'meaning', 'remedy'], rows);
}

function exitTable({ EXIT_CODE }) {
  const rows = Object.entries(EXIT_CODE).map(([name, number]) => {
    if (!Object.hasOwn(EXIT_MEANING, name)) throw new Error(`scripts/genDocs.mjs does not know the exit code ${name}`);
    return [String(number), EXIT_MEANING[name]];
  });
  return table(['exit code', 'meaning'], rows);
}

function codeExitTable(schemas, { exitCode, outcome }) {
  const rows = codesOf(schemas).map((code) => {
    const ending = outcome(code, []);
    const usual = exitCode(ending, { pendingQuestion: false });
    const others = new Set([
      exitCode(ending, { pendingQuestion: true }),
      exitCode(ending, { pendingQuestion: false, signal: 'SIGINT' }),
      exitCode(ending, { pendingQuestion: false, signal: 'SIGTERM' }),
    ]);
    others.delete(usual);
    return [`\`${code}\``, ending.verdict, [usual, ...others].join(', ')];
  });
  return table(['code', 'verdict', 'exit code'], rows);
}

function codesOf(schemas) {
  return schemas.get('report').properties.code.enum;
}

function configTable(schema, { starterConfig, detect }) {
  const starter = starterConfig(detect({ paths: [], texts: new Map() }), '');
  const rows = fields(schema).map(({ at, node, needed }) => {
    const example = EXAMPLES.get(at) ?? valueAt(starter, at);
    if (example === undefined && !isGroup(node)) throw new Error(`scripts/genDocs.mjs needs an example for ${at}`);
    const fallback = node.default === undefined ? (needed ? 'required' : 'absent') : json(node.default);
    return [`\`${at}\``, typeOf(node), fallback, node.description ?? '', isGroup(node) ? '' : json(example)];
  });
  return table(['key', 'type', 'default', 'meaning', 'example'], rows);
}

function fieldTable(schema) {
  const rows = fields(schema).map(({ at, node, needed }) => [
    `\`${at}\``,
    `${typeOf(node)}${needed ? '' : ', optional'}`,
    node.description ?? '',
  ]);
  return table(['field', 'type', 'meaning'], rows);
}

/** Every key of a schema in its order; `[]` stands for any item of a list, `*` for any name. */
function fields(schema, at = '') {
  const own = Object.entries(schema.properties ?? {}).map(([key, node]) => [
    at === '' ? key : `${at}.${key}`,
    node,
    (schema.required ?? []).includes(key),
  ]);
  if (schema.additionalProperties?.properties) own.push([`${at}.*`, schema.additionalProperties, false]);
  return own.flatMap(([place, node, needed]) => [
    ...(place.endsWith('*') ? [] : [{ at: place, node, needed }]),
    ...fields(node, place),
    ...(node.items?.properties ? fields(node.items, `${place}[]`) : []),
  ]);
}

function isGroup(node) {
  return node.properties !== undefined || node.items?.properties !== undefined;
}

function valueAt(value, at) {
  return at.split('.').reduce((found, key) => found?.[key], value);
}

function typeOf(node) {
  if (node.const !== undefined) return json(node.const);
  if (node.enum !== undefined && node.enum.length <= 8) return node.enum.map(json).join(' or ');
  if (node.enum !== undefined) return 'one of the codes';
  if (node.anyOf !== undefined) return 'object or null';
  if (node.type === 'array') return `list of ${node.items.properties ? 'objects' : `${node.items.type}s`}`;
  const range = [node.minimum, node.maximum].filter((bound) => bound !== undefined);
  const name = Array.isArray(node.type) ? node.type.join(' or ') : node.type;
  if (range.length === 2) return `${name}, ${range.join(' to ')}`;
  return node.minimum === undefined || node.minimum === 0 ? name : `${name}, from ${node.minimum}`;
}

/** A code span; doubled marks where the value itself holds one. */
function json(value) {
  const text = JSON.stringify(value);
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function table(heads, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return [line(heads), `|${'---|'.repeat(heads.length)}\n`, ...rows.map(line)].join('');
}
