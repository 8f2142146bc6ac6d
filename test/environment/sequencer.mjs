import Sequencer from '@jest/test-sequencer';

/**
 * The suites that take longest. Jest knows how long each took only after a first run in a clone, and would begin one of
 * them when the others are almost over. Some compute and some wait, so they go well together.
 */
const LONGEST = [
  'long-chat',
  'schedules',
  'outage',
  'chaos',
  'outbox',
  'cluster',
  'mutants',
  'watchdog',
  'crash',
  'tools-crash',
  'lane-full',
  'send-file',
  'sequences',
  'reminders-crash',
  'stop-killed',
  'forwards',
  'models',
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
