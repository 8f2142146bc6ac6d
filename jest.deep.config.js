import everyDay from './jest.config.js';

/** What explores: interleavings, year-long chats, killed processes, broken safeguards. `npm run test:deep`. */
export default { ...everyDay, testMatch: ['<rootDir>/test/deep/**/*.test.ts'], testPathIgnorePatterns: [] };
