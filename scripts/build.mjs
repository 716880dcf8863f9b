// Bundles the command and the scripted agent, so that start-up reads a few files instead of hundreds.
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const COMMONJS = [
  "import { createRequire as relaisCreateRequire } from 'node:module';",
  "import { fileURLToPath as relaisPath } from 'node:url';",
  'const require = relaisCreateRequire(import.meta.url);',
  'const __filename = relaisPath(import.meta.url);',
  "const __dirname = relaisPath(new URL('.', import.meta.url));",
].join('\n');
const root = fileURLToPath(new URL('..', import.meta.url));
const entryPoints = {
  cli: 'src/cli.ts',
  'scripted-agent': 'src/agents/scripted/program.ts',
};

const [dist, fresh, old] = ['dist', `dist.new-${process.pid}`, `dist.old-${process.pid}`].map(
  (name) => `${root}/${name}`,
);

await build({
  absWorkingDir: root,
  entryPoints,
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // What a tick always needs is bundled, since execa alone is 120 files; what few commands need is loaded from its package.
  external: ['ajv', 'ajv/*', 'ajv-formats', '@clack/prompts'],
  // Bundled CommonJS packages expect these.
  banner: { js: COMMONJS },
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  logLevel: 'warning',
});
for (const name of Object.keys(entryPoints)) chmodSync(`${fresh}/${name}.js`, 0o755);
// Swapped in whole: a command that runs meanwhile finds one build or the other.
if (existsSync(dist)) renameSync(dist, old);
renameSync(fresh, dist);
rmSync(old, { recursive: true, force: true });
