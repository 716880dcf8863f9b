import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Entry, Inventory } from '../../src/model.js';
import { absolute, walk } from '../../src/world/walk/inventory.js';
import { openVault } from '../../src/world/keep/vault.js';

let base: string;
let root: string;
let dir: string;

beforeEach(() => {
  base = mkdtempSync(path.join(tmpdir(), 'vault-'));
  root = path.join(base, 'tree');
  dir = path.join(base, 'state/vault');
  mkdirSync(root);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const look = (): Promise<Inventory> => walk(root, { skip: () => false, prune: () => false });

/** The same inventory as if everything in it had last changed long ago. */
function aged(inventory: Inventory): Inventory {
  return new Map(
    [...inventory].map(([name, entry]): [string, Entry] => [name, { ...entry, ctimeMs: entry.ctimeMs - 10_000 }]),
  );
}

describe('vault', () => {
  it('keeps copies across openings and gives them back', async () => {
    writeFileSync(path.join(root, '.env'), 'hello\n');
    writeFileSync(absolute(root, '\udcff'), 'odd');
    const vault = await openVault(dir);
    expect(await vault.keep('tree', root, ['.env', '\udcff', 'none'], await look())).toEqual({
      kept: ['.env', '\udcff'],
      tooLarge: [],
    });
    await vault.save();
    rmSync(root, { recursive: true });
    const again = await openVault(dir);
    expect(again.has('tree', '.env')).toBe(true);
    expect(again.has('git', '.env')).toBe(false);
    expect(again.hashOf('tree', '.env')).toBe('ce013625030ba8dba906f756967f9e9ca394464a');
    expect((await again.bytes('tree', '\udcff')).toString()).toBe('odd');
    await again.copyTo('tree', '\udcff', `${base}/out/deep/\udcff`);
    await again.copyTo('tree', '.env', path.join(base, 'out/deep/.env'));
    await again.copyTo('tree', '.env', path.join(base, 'out/deep/.env'));
    expect(readFileSync(absolute(base, 'out/deep/\udcff'), 'utf8')).toBe('odd');
    expect(readFileSync(path.join(base, 'out/deep/.env'), 'utf8')).toBe('hello\n');
  });

  it('is closed to everybody else, and refuses a folder that is a link', async () => {
    await openVault(dir);
    expect(lstatSync(dir).mode & 0o777).toBe(0o700);
    chmodSync(dir, 0o755);
    await openVault(dir);
    expect(lstatSync(dir).mode & 0o777).toBe(0o700);
    symlinkSync(dir, path.join(base, 'link'));
    await expect(openVault(path.join(base, 'link'))).rejects.toThrow(/not a link/);
  });

  it('does not read a file again whose fingerprint is known, unless it was too young to trust', async () => {
    writeFileSync(path.join(root, 'old'), 'old');
    await new Promise((resolve) => setTimeout(resolve, 2100));
    writeFileSync(path.join(root, 'young'), 'young');
    const vault = await openVault(dir);
    await vault.keep('tree', root, ['old', 'young'], await look());
    rmSync(path.join(dir, 'objects'), { recursive: true });
    mkdirSync(path.join(dir, 'objects'));
    await vault.keep('tree', root, ['old', 'young'], await look());
    expect((await vault.bytes('tree', 'young')).toString()).toBe('young');
    await expect(vault.bytes('tree', 'old')).rejects.toThrow(/ENOENT/);
  });

  it('forgets a copy when the file has changed, also when it is no longer asked for', async () => {
    writeFileSync(path.join(root, 'a'), 'one');
    writeFileSync(path.join(root, 'b'), 'b');
    const vault = await openVault(dir);
    await vault.keep('tree', root, ['a', 'b'], await look());
    writeFileSync(path.join(root, 'a'), 'changed');
    await vault.keep('tree', root, ['b'], await look());
    expect([vault.has('tree', 'a'), vault.has('tree', 'b')]).toEqual([false, true]);
    await expect(vault.bytes('tree', 'a')).rejects.toThrow(/no copy/);
  });

  it('names files that are too large, and skips links and folders', async () => {
    writeFileSync(path.join(root, 'big'), '');
    truncateSync(path.join(root, 'big'), 16 * 1024 * 1024 + 1);
    mkdirSync(path.join(root, 'd'));
    symlinkSync('big', path.join(root, 'l'));
    const vault = await openVault(dir);
    expect(await vault.keep('tree', root, ['big', 'd', 'l'], await look())).toEqual({ kept: [], tooLarge: ['big'] });
  });

  it('fails when the file is no longer what the inventory says', async () => {
    writeFileSync(path.join(root, 'a'), 'one');
    const seen = await look();
    const vault = await openVault(dir);
    await expect(vault.keep('tree', root, ['a'], aged(seen))).rejects.toThrow(/changed while/);
    rmSync(path.join(root, 'a'));
    symlinkSync('/etc/hostname', path.join(root, 'a'));
    await expect(vault.keep('tree', root, ['a'], seen)).rejects.toThrow();
  });

  it('notices that a copy was altered', async () => {
    writeFileSync(path.join(root, 'a'), 'one');
    const vault = await openVault(dir);
    await vault.keep('tree', root, ['a'], await look());
    const [name] = readdirSync(path.join(dir, 'objects'));
    writeFileSync(path.join(dir, 'objects', name ?? ''), 'two');
    await expect(vault.bytes('tree', 'a')).rejects.toThrow(/altered/);
  });

  it('prunes what nothing refers to and keeps the rest', async () => {
    writeFileSync(path.join(root, 'a'), 'one');
    const vault = await openVault(dir);
    await vault.keep('tree', root, ['a'], await look());
    writeFileSync(path.join(root, 'a'), 'two!');
    await vault.keep('tree', root, ['a'], await look());
    expect(readdirSync(path.join(dir, 'objects'))).toHaveLength(2);
    await vault.prune();
    expect(readdirSync(path.join(dir, 'objects'))).toHaveLength(1);
    expect((await (await openVault(dir)).bytes('tree', 'a')).toString()).toBe('two!');
  });

  it('says so when its list is damaged, and starts anew for another object format', async () => {
    writeFileSync(path.join(root, 'a'), 'one');
    utimesSync(path.join(root, 'a'), 1, 1);
    const vault = await openVault(dir);
    await vault.keep('tree', root, ['a'], await look());
    await vault.save();
    expect((await openVault(dir, 'sha256')).has('tree', 'a')).toBe(false);
    writeFileSync(path.join(dir, 'index.json'), '{"version":1,');
    await expect(openVault(dir)).rejects.toThrow(/cannot be read/);
    expect(existsSync(dir)).toBe(true);
  });
});
