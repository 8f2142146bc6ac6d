/** Node strips the types itself (see docs/adr/0002), so no file is transformed. */
export default {
  testEnvironment: 'node',
  transform: {},
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testTimeout: 30_000,
  maxWorkers: 2,
  globalSetup: '<rootDir>/test/environment/redis-setup.ts',
};
