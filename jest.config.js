/** Node strips the types itself (see docs/decisions.md, 2), so no file is transformed. */
export default {
  testEnvironment: '<rootDir>/test/environment/realm.ts',
  runtime: '<rootDir>/test/environment/runtime.mjs',
  transform: {},
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // What explores is `npm run test:deep`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/deep/'],
  // What is built there is a package with the project's name.
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.cache/'],
  testTimeout: 180_000,
  // The tests wait more than they compute.
  maxWorkers: 6,
  testSequencer: '<rootDir>/test/environment/sequencer.mjs',
  globalSetup: '<rootDir>/test/environment/redis-setup.ts',
};
