// Everything CI runs, in one go: a failing step does not hide the next, and the tests come last.
import { spawnSync } from 'node:child_process';

const steps = ['types', 'lint', 'format:check', 'dead', 'gen:check', 'test'];
const failed = steps.filter((step) => {
  console.log(`\n== ${step}`);
  return spawnSync('npm', ['run', '--silent', step], { stdio: 'inherit' }).status !== 0;
});
if (failed.length > 0) {
  console.error(`check failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}
