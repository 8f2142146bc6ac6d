import { globSync, readFileSync } from 'node:fs';
import everyDay from './jest.config.js';

/** Tells `test/fixture/variants.ts`; the workers have this environment too. */
process.env.TEST_DEEP = 'true';

const withVariants = globSync('test/integration/**/*.test.ts', { cwd: import.meta.dirname }).filter((file) =>
  readFileSync(new URL(file, import.meta.url), 'utf8').includes("fixture/variants.ts'"),
);

/**
 * What explores: interleavings, year-long chats, killed processes, broken safeguards, and the variants of which `npm test`
 * plays one. `npm run test:deep`.
 */
export default {
  ...everyDay,
  // Whole gateways under load: where they starve for seconds, they lose their locks, which is no fault.
  maxWorkers: 3,
  testMatch: ['<rootDir>/test/deep/**/*.test.ts', ...withVariants.map((file) => `<rootDir>/${file}`)],
  testPathIgnorePatterns: [],
};
