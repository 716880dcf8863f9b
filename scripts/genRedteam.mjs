// The red-team table of docs/security.md, made from fixtures/redteam.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Families in the order of the docs; a file without a title here is an error, so that none is forgotten. */
const TITLES = new Map(
  Object.entries({
    'git-metadata': 'Git metadata',
    paths: 'Paths',
    files: 'Files that are not files',
    hidden: 'Hidden from git',
    time: 'Time',
    'next-tick': 'The next tick',
    output: 'Output',
  }),
);

/** One table per family: what is done, how the tick ends, how it is found and undone. */
export function redteamTables(root, table) {
  const folder = path.join(root, 'fixtures', 'redteam');
  const names = readdirSync(folder).flatMap((name) => (name.endsWith('.json') ? [path.basename(name, '.json')] : []));
  const unknown = names.filter((name) => !TITLES.has(name));
  if (unknown.length > 0) throw new Error(`scripts/genRedteam.mjs has no title for ${unknown.join(', ')}`);
  const families = [...TITLES].filter(([name]) => names.includes(name));
  const cases = families.map(([name, title]) => ({
    title,
    attacks: JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8')),
  }));
  const count = cases.reduce((sum, { attacks }) => sum + attacks.length, 0);
  const parts = cases.map(({ title, attacks }) => {
    const rows = attacks.map((one) => [`\`${one.name}\``, one.attack, `\`${one.code}\``, one.found, one.undone]);
    return `\n### ${title}\n\n${table(['case', 'attack', 'code', 'found by', 'undone by'], rows)}`;
  });
  return `${count} attacks in ${cases.length} families.\n${parts.join('')}`;
}
