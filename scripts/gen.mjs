// Makes src/generated/ from schemas/ (types, codes, config keys, validators) and the marked parts of README.md and docs/.
// With --check it writes nothing and fails when the committed files differ.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';
import formats from 'ajv-formats';
import { build } from 'esbuild';
import { compile } from 'json-schema-to-typescript';
import { docFiles } from './genDocs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const target = path.join(root, 'src/generated');
const banner = '// Generated from schemas/ by `npm run gen`. Do not edit.\n';
const names = readdirSync(path.join(root, 'schemas'))
  .filter((file) => file.endsWith('.schema.json'))
  .map((file) => file.slice(0, -'.schema.json'.length))
  .toSorted();
const schemas = new Map(names.map((name) => [name, readSchema(name)]));

const files = new Map([
  ['types.ts', await types()],
  ['codes.ts', codes()],
  ['configKeys.ts', configKeys()],
  ['validators.js', await validators()],
  ['validators.d.ts', declarations()],
]);
const docs = await docFiles(root, schemas);
if (process.argv.includes('--check')) check();
else write();

function readSchema(name) {
  return JSON.parse(readFileSync(path.join(root, 'schemas', `${name}.schema.json`), 'utf8'));
}

function typeName(name) {
  return name.replaceAll(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());
}

async function types() {
  const parts = [];
  for (const [name, schema] of schemas) {
    const shape = { ...forTypes(schema), title: typeName(name) };
    parts.push(
      await compile(shape, typeName(name), {
        ignoreMinAndMaxItems: true,
        bannerComment: '',
        additionalProperties: false,
        style: { singleQuote: true, printWidth: 120 },
      }),
    );
  }
  return `${banner}\n${parts.join('\n')}`;
}

// A type says what a value is once it was read: a key with a default is always there, a condition
// changes no shape, and another schema is its type's name.
function forTypes(node) {
  if (Array.isArray(node)) return node.map(forTypes);
  if (node === null || typeof node !== 'object') return node;
  if (typeof node.$ref === 'string') return { tsType: typeName(node.$ref.replace('.schema.json', '')) };
  const { allOf: _conditions, default: _default, propertyNames: _names, ...rest } = node;
  const copy = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, forTypes(value)]));
  if (node.properties) {
    const filled = Object.keys(node.properties).filter((key) => 'default' in node.properties[key]);
    copy.required = [...(node.required ?? []), ...filled];
  }
  return copy;
}

function codes() {
  const list = schemas
    .get('report')
    .properties.code.enum.map((code) => `  '${code}',\n`)
    .join('');
  return `${banner}
/** Every reason a tick can end with, in the report schema's order. */
export const CODES = [\n${list}] as const;

/** One reason a tick can end with. */
export type Code = (typeof CODES)[number];
`;
}

// Where each object of the config is, and the keys it knows; `[]` stands for any item.
function configKeys() {
  const found = [];
  const visit = (node, at) => {
    if (node.properties) {
      found.push([at, Object.keys(node.properties)]);
      for (const [key, child] of Object.entries(node.properties)) visit(child, at === '' ? key : `${at}.${key}`);
    }
    if (node.items) visit(node.items, `${at}[]`);
  };
  visit(schemas.get('config'), '');
  const lines = found.map(([at, keys]) => `  ['${at}', [${keys.map((key) => `'${key}'`).join(', ')}]],\n`);
  return `${banner}
/** The keys each object of the config knows, by its place; \`[]\` stands for any item of a list. */
export const CONFIG_KEYS: ReadonlyMap<string, readonly string[]> = new Map([\n${lines.join('')}]);
`;
}

async function validators() {
  const ajv = new Ajv2020({
    schemas: [...schemas.values()],
    allErrors: true,
    useDefaults: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    strictTypes: false,
    inlineRefs: false,
    code: { source: true, esm: true },
  });
  formats.default(ajv);
  const source = standalone.default(ajv, Object.fromEntries([...schemas].map(([name, schema]) => [name, schema.$id])));
  // Bundled, so that start-up loads neither ajv nor its formats.
  const bundle = await build({
    stdin: { contents: source, resolveDir: root, loader: 'js' },
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    minify: true,
    lineLimit: 400,
    write: false,
  });
  return banner + bundle.outputFiles[0].text;
}

function declarations() {
  const lines = names.map((name) => `export declare const ${name}: Validator;\n`);
  return `${banner}import type { ErrorObject } from 'ajv';

/** True when the value matches; the errors of the last call stand in \`errors\`. Defaults are filled in. */
export interface Validator {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

${lines.join('')}`;
}

function write() {
  mkdirSync(target, { recursive: true });
  for (const [file, text] of files) writeFileSync(path.join(target, file), text);
  for (const [file, text] of docs) writeFileSync(path.join(root, file), text);
}

function check() {
  const committed = existsSync(target) ? readdirSync(target) : [];
  const stray = committed.filter((file) => !files.has(file));
  const stale = [...files].filter(
    ([file, text]) => !committed.includes(file) || readFileSync(path.join(target, file), 'utf8') !== text,
  );
  const problems = [...stale.map(([file]) => file), ...stray].map((file) => `src/generated/${file}`);
  problems.push(
    ...[...docs].flatMap(([file, text]) => (readFileSync(path.join(root, file), 'utf8') === text ? [] : [file])),
  );
  if (problems.length === 0) return;
  console.error(`these differ from what schemas/ and src/ give: ${problems.join(', ')}. Run \`npm run gen\`.`);
  process.exitCode = 1;
}
