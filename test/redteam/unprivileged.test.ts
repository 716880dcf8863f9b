import { beforeAll, describe, expect, it } from 'vitest';
import { attackProblems } from './attack.js';
import { listAttacks } from './cases.js';

const NOBODY = 65534;
const wanted = (process.env['RELAIS_REDTEAM'] ?? '').split(' ').filter((name) => name !== '');
const played = listAttacks().filter(
  ({ name, unprivileged }) => unprivileged === true && (wanted.length === 0 || wanted.includes(name)),
);

beforeAll(() => {
  // Nothing is closed to root. This file has a process of its own, so nobody else is affected.
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
});

describe.skipIf(played.length === 0)(
  'an attack by and on somebody without privileges is found, stopped and undone',
  () => {
    it.concurrent.each(played.map((attack) => [`${attack.family}: ${attack.name}`, attack] as const))(
      '%s',
      async (_name, attack) => {
        expect(await attackProblems(attack)).toEqual([]);
      },
      60_000,
    );
  },
);
