import Sequencer from '@jest/test-sequencer';

/**
 * The suites that take longest. Jest knows how long each took only after a first run in a clone, and would begin one of
 * them when the others are almost over. Some compute and some wait, so they go well together.
 */
const LONGEST = [
  'long-chat',
  'schedules',
  'chaos',
  'mutants',
  'words',
  'process',
  'watchdog',
  'who-decides',
  'outbox',
  'forwards',
  'unclean-end',
  'gauges',
  'cli',
  'webhook',
  'webhook-process',
  'green',
  'parked',
  'lane-full',
  'album',
  'crash',
  'summons',
  'telegram-away',
  'supervisor',
  'hostile-files',
  'phone',
  'tools-crash',
  'cluster',
  'merge',
  'traces',
  'check',
  'moved-chat',
  'deploy',
  'send-file',
  'sequences',
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
