// Bundles the command and the scripted agent, so that start-up reads a few files instead of hundreds.
import { chmodSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const entryPoints = { cli: 'src/cli.ts', 'scripted-agent': 'src/agents/scripted/program.ts' };

rmSync(`${root}/dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  packages: 'external',
  legalComments: 'none',
  logLevel: 'warning',
});
for (const name of Object.keys(entryPoints)) chmodSync(`${root}/dist/${name}.js`, 0o755);
