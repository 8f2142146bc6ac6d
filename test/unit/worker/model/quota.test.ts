import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { createQuota } from '../../../../worker/model/claude/wire.ts';

const { signal } = new AbortController();

beforeEach(() => void jest.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void jest.useRealTimers());

/** Waits by the faked timers. */
function quotaUnderTest() {
  const pause = (ms: number, aborted: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, ms);
      aborted.addEventListener('abort', reject, { once: true });
    });
  return createQuota(Date.now, pause);
}

const headers = (remaining: number, limit = 10, fullInMs = 10_000) =>
  new Headers({
    'anthropic-ratelimit-requests-limit': String(limit),
    'anthropic-ratelimit-requests-remaining': String(remaining),
    'anthropic-ratelimit-requests-reset': new Date(Date.now() + fullInMs).toISOString(),
  });

/** Which of so many calls pass at once, and which after each second. */
async function passes(quota: ReturnType<typeof createQuota>, calls: number, seconds: number): Promise<number[]> {
  let passed = 0;
  const counts: number[] = [];
  for (let call = 0; call < calls; call++)
    void quota.pass(signal).then((failure) => {
      if (failure === undefined) passed += 1;
      quota.ended();
    });
  for (let second = 0; second <= seconds; second++) {
    await jest.advanceTimersByTimeAsync(second === 0 ? 0 : 1_000);
    counts.push(passed);
  }
  return counts;
}

test('of a provider that states nothing, every call passes at once', async () => {
  expect(await passes(quotaUnderTest(), 50, 0)).toEqual([50]);
});

test('with nothing left, a call waits until the limit has filled up by one', async () => {
  const quota = quotaUnderTest();
  quota.note(headers(0));
  const passed = jest.fn();
  void quota.pass(signal).then(passed);
  await jest.advanceTimersByTimeAsync(900);
  expect(passed).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(200);
  expect(passed).toHaveBeenCalledWith(undefined);
});

test('calls that are in flight count as taken', async () => {
  const quota = quotaUnderTest();
  quota.note(headers(2));
  const passed: number[] = [];
  for (const call of [1, 2, 3]) void quota.pass(signal).then(() => void passed.push(call));
  await jest.advanceTimersByTimeAsync(0);
  expect(passed).toEqual([1, 2]);
  await jest.advanceTimersByTimeAsync(2_000);
  expect(passed).toEqual([1, 2, 3]);
});

test('a wait that is too long is a failure that says how long, and an abort ends a wait', async () => {
  const quota = quotaUnderTest();
  quota.note(headers(0, 10, 600_000));
  expect(await quota.pass(signal)).toEqual({ kind: 'transient', reason: 'rate_limited', retryAfterMs: 60_000 });
  const other = quotaUnderTest();
  other.note(headers(0));
  const stopping = new AbortController();
  const held = other.pass(stopping.signal);
  await jest.advanceTimersByTimeAsync(10);
  stopping.abort();
  expect(await held).toEqual({ kind: 'transient', reason: 'aborted' });
});

test.each([
  ['a limit of nothing', { limit: '0', remaining: '0', reset: new Date(2_000_000).toISOString() }],
  ['no number', { limit: 'many', remaining: 'few', reset: new Date(2_000_000).toISOString() }],
  ['a reset that is no time', { limit: '10', remaining: '0', reset: 'soon' }],
  ['a reset that is past', { limit: '10', remaining: '0', reset: new Date(1).toISOString() }],
  ['a negative rest', { limit: '10', remaining: '-1', reset: new Date(2_000_000).toISOString() }],
])('%s holds nothing up', async (_what, stated) => {
  const quota = quotaUnderTest();
  quota.note(
    new Headers(Object.entries(stated).map(([name, value]) => [`anthropic-ratelimit-requests-${name}`, value])),
  );
  expect(await quota.pass(signal)).toBeUndefined();
});
