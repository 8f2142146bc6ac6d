import { expect, test } from '@jest/globals';
import { allowedNow } from '../../../../shared/state/chat/allowed-people.ts';

/** A hash whose every reading is answered by hand. */
function hash() {
  const asked: PromiseWithResolvers<string[]>[] = [];
  const hkeys = (): Promise<string[]> => {
    const reading = Promise.withResolvers<string[]>();
    asked.push(reading);
    return reading.promise;
  };
  return { asked, redis: { hkeys } as never };
}

test('all who ask at once share one reading, and who asks within its age needs none', async () => {
  const { asked, redis } = hash();
  const now = allowedNow(redis, new Set([1]), 60_000);
  const both = [now(), now()];
  asked[0]?.resolve(['2', '-100123', 'no number']);
  const [one, other] = (await Promise.all(both)) as ReadonlySet<number>[];
  expect([one, other, await now(), asked.length]).toEqual([one, one, one, 1]);
  expect([1, 2, -100_123, 3, 0].map((id) => one?.has(id))).toEqual([true, true, true, false, false]);
});

test('a reading that is too old is made again, and one that fails lets nobody in and keeps nobody out', async () => {
  const { asked, redis } = hash();
  const now = allowedNow(redis, new Set([1]), 0);
  const first = now();
  asked[0]?.resolve(['2']);
  expect((await first) as ReadonlySet<number>).toEqual(new Set([1, 2]));
  const second = now();
  asked[1]?.reject(new Error('away'));
  await expect(second).rejects.toThrow('away');
  const third = now();
  asked[2]?.resolve([]);
  expect(await third).toEqual(new Set([1]));
});

test('where everybody may, nobody is asked', async () => {
  const { asked, redis } = hash();
  expect([await allowedNow(redis, 'everyone')(), asked.length]).toEqual(['everyone', 0]);
});
