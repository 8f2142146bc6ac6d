import { expect, test } from '@jest/globals';
import { Turn } from '../../../../shared/state/turn/turn.ts';
import { isOutage, waitOut } from '../../../../worker/ask/failures.ts';
import type { Attempt } from '../../../../worker/lane/attempt.ts';
import { RETRY_MS } from '../../../../worker/lane/verdict.ts';
import type { Failure } from '../../../../worker/model/errors/failure.ts';

const PATIENCE = { outagePatienceMs: 900_000, waitingNoticeMs: 60_000, retryMs: RETRY_MS };
const DOWN: Failure = { kind: 'transient', reason: 'overloaded', status: 529 };

/** An attempt that has waited so long, was tried so often, and runs for a second. */
function attempt(waitedMs: number, tries: number, over: Partial<Attempt> = {}): Attempt {
  const kept = new Map([
    ['outageWaitedMs', String(waitedMs)],
    ['outageTries', String(tries)],
  ]);
  const turn = new Turn('turn', tries === 0 ? new Map() : kept);
  return { turn, elapsedMs: () => 1_000, trial: undefined, ...over } as unknown as Attempt;
}

test('a message waits until outagePatienceMs is over, however many tries it had', () => {
  expect(waitOut(attempt(0, 0), DOWN, PATIENCE)).toMatchObject({ kind: 'wait', tries: 1, isLong: false });
  expect(waitOut(attempt(890_000, 40), DOWN, PATIENCE)).toMatchObject({ kind: 'wait', tries: 41 });
  expect(waitOut(attempt(899_000, 40), DOWN, PATIENCE)).toEqual({ kind: 'give up' });
});

test('a wait ends when the user is to be notified, and never exceeds outagePatienceMs', () => {
  expect(waitOut(attempt(50_000, 5), DOWN, PATIENCE)).toMatchObject({ delayMs: 9_000, isLong: false });
  expect(waitOut(attempt(59_000, 6), DOWN, PATIENCE)).toMatchObject({ isLong: true });
  expect(waitOut(attempt(897_000, 40), DOWN, PATIENCE)).toMatchObject({ delayMs: 2_000 });
});

test('a wait that the endpoint asks for is never cut short, and a long one is marked as long at once', () => {
  const asked = { ...DOWN, retryAfterMs: 200_000 };
  expect(waitOut(attempt(0, 0), asked, PATIENCE)).toMatchObject({ delayMs: 200_000, isLong: true, waitedMs: 200_000 });
  expect(waitOut(attempt(850_000, 9), asked, PATIENCE)).toMatchObject({ delayMs: 200_000 });
});

test('a paused call waits exactly its retryAfterMs', () => {
  const paused: Failure = { kind: 'transient', reason: 'paused', retryAfterMs: 4_321 };
  expect(waitOut(attempt(0, 0), paused, PATIENCE)).toMatchObject({ delayMs: 4_321 });
});

test('a trial for a server error ends its wait sooner; a client error gives up at once in it, else after 3 tries', () => {
  const trial = { of: 's', in: 't', entries: 1, notice: '', why: 'server_error' } as never;
  expect(waitOut(attempt(60_000, 4, { trial }), DOWN, PATIENCE)).toEqual({ kind: 'give up' });
  const other = { of: 's', in: 't', entries: 1, notice: '', why: 'bad_request' } as never;
  expect(waitOut(attempt(60_000, 4, { trial: other }), DOWN, PATIENCE)).toMatchObject({ kind: 'wait' });
  const words: Failure = { kind: 'transient', reason: 'rate_limited', status: 400 };
  expect(waitOut(attempt(0, 0, { trial }), words, PATIENCE)).toEqual({ kind: 'give up' });
  expect(waitOut(attempt(10_000, 2), words, PATIENCE)).toMatchObject({ kind: 'wait' });
  expect(waitOut(attempt(10_000, 3), words, PATIENCE)).toEqual({ kind: 'give up' });
  expect(waitOut(attempt(10_000, 3), { ...words, status: 429 }, PATIENCE)).toMatchObject({ kind: 'wait' });
});

test.each([
  ['overloaded', true],
  ['paused', true],
  ['cut_stream', true],
  ['unknown', false],
  ['aborted', false],
] as const)('%s is an outage of the endpoint: %s', (reason, expected) => {
  expect(isOutage({ kind: 'transient', reason })).toBe(expected);
});
