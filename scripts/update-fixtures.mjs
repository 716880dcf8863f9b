// Rewrites fixtures/*/expect.report.json from what the fixtures do now; read the difference before you commit it.
import { spawnSync } from 'node:child_process';

const names = process.argv.slice(2).join(' ');
const env = { ...process.env, RELAIS_UPDATE_FIXTURES: '1', RELAIS_FIXTURES: names };
const { status } = spawnSync('npx', ['vitest', 'run', 'test/fixtures.test.ts'], { env, stdio: 'inherit' });
process.exitCode = status ?? 1;
