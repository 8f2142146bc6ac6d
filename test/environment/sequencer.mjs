import Sequencer from '@jest/test-sequencer';

/**
 * The suites that take longest. Jest knows how long each took only after a first run in a clone, and would begin one of
 * them when the others are almost over. Some compute and some wait, so they go well together.
 */
const LONGEST = [
  'long-chat',
  'schedules',
  'chaos',
  'outbox',
  'mutants',
  'stop-killed',
  'crash',
  'summons',
  'telegram-away',
  'cluster',
  'words',
  'watchdog',
  'hostile-files',
  'cli',
  'private-redis',
  'merge',
  'forwards',
  'send-file',
];

/** Starts the longest suites first, and then goes by what Jest knows. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const sorted = await super.sort(tests);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ path }) {
  const at = LONGEST.findIndex((name) => path.endsWith(`/${name}.test.ts`));
  return at === -1 ? LONGEST.length : at;
}
