import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    dir: 'test',
    include: ['**/*.test.ts'],
    exclude: ['e2e/**', '**/node_modules/**'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    env: { TZ: 'America/St_Johns' },
  },
});
