import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Ends a test run with a line of its own, "N passed, N failed", and ", N skipped" where any were. */
export class CountsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    // An error outside of every test counts as a failure.
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map(stateOf);
      for (const state of states) counts[state] += 1;
      // So does a file that does not load, or whose hook fails, where none of its tests shows it.
      if (module.state() === 'failed' && !states.includes('failed')) counts.failed += 1;
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    // At exit, so that it stands below whatever else is printed.
    process.once('exit', () => process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`));
  }
}

function stateOf(test: TestCase): 'passed' | 'failed' | 'skipped' {
  const { state } = test.result();
  // A test that never ran to its end is no pass.
  return state === 'pending' ? 'failed' : state;
}
