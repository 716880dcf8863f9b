import { defineConfig } from 'vitest/config';
import { CountsReporter } from './scripts/countsReporter.js';

// oxlint-disable-next-line import/no-default-export -- vitest reads the default export
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/helpers/seed.ts'],
    reporters: ['default', new CountsReporter()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
