import { sourcesIn } from '../house/sources.ts';

/** A part of the product whose functions compute and touch nothing, and the suites that hold it. */
export interface PureRoom {
  readonly name: string;
  readonly sources: readonly string[];
  readonly suites: readonly string[];
}

/** Has effects: integration tests hold it. */
const EFFECTFUL = ['producer/accept/accept.ts', 'producer/accept/store.ts'];

function room(name: string, sources: readonly string[], folders: readonly string[]): PureRoom {
  return {
    name,
    sources: sources.filter((file) => !EFFECTFUL.includes(file)),
    suites: folders.flatMap((place) => (place.endsWith('.ts') ? [place] : sourcesIn(place, /\.test\.ts$/))),
  };
}

export const PURE_ROOMS: readonly PureRoom[] = [
  room('model/rules', sourcesIn('worker/model/rules'), ['test/unit/worker/model/rules']),
  room('model/errors', sourcesIn('worker/model/errors'), ['test/unit/worker/model/errors']),
  room('recovery/policy', ['worker/recovery/policy.ts'], ['test/unit/worker/recovery/policy.test.ts']),
  room(
    'session/view',
    ['worker/session/view.ts'],
    [
      'test/unit/worker/session/view.test.ts',
      'test/unit/worker/session/view-codes.test.ts',
      'test/unit/worker/session/view-served.test.ts',
      'test/unit/worker/session/session-life.test.ts',
    ],
  ),
  room('reply/format', sourcesIn('worker/reply/format'), ['test/unit/worker/reply/format']),
  room('accept', sourcesIn('producer/accept'), ['test/unit/producer/accept']),
];
