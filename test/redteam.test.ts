import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { attackProblems } from './redteam/attack.js';
import { formProblems, listAttacks } from './redteam/cases.js';

const attacks = listAttacks();
const wanted = (process.env['RELAIS_REDTEAM'] ?? '').split(' ').filter((name) => name !== '');
const isRoot = process.getuid?.() === 0;
// Asked of the system, not of the product: a product that does not use its namespaces must fail here.
const unshare = [...(isRoot ? [] : ['--user', '--map-current-user']), '--pid', '--fork', '--mount-proc', 'true'];
const hasNamespace = spawnSync('unshare', unshare).status === 0;
const played = attacks
  .filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  .filter(({ unprivileged }) => unprivileged !== true)
  .filter((attack) => (isRoot || attack.needs_root !== true) && (hasNamespace || attack.needs_namespace !== true));

describe.skipIf(played.length === 0)('an attack is found, stopped and undone', () => {
  it.concurrent.each(played.map((attack) => [`${attack.family}: ${attack.name}`, attack] as const))(
    '%s',
    async (_name, attack) => {
      expect(await attackProblems(attack)).toEqual([]);
    },
    60_000,
  );
});

it('every attack is written down as the README says', () => {
  expect(attacks.flatMap(formProblems)).toEqual([]);
});

it('every attack has a name and a sentence of its own', () => {
  for (const key of ['name', 'attack'] as const)
    expect(new Set(attacks.map((one) => one[key])).size).toBe(attacks.length);
});

it('some attacks are played without privileges', () => {
  expect(attacks.filter(({ unprivileged }) => unprivileged === true).length).toBeGreaterThan(0);
});

it('there are at least 120 attacks', () => {
  expect(attacks.length).toBeGreaterThanOrEqual(120);
});
