import { expect, test } from '@jest/globals';
import { bindProviderNote } from '../../../shared/state/provider/provider.ts';
import { telegramState } from '../../../shared/state/telegram/telegram.ts';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { eachWithWatchdog, given, givenRead, reported, watch } from '../../fixture/watchdog.ts';

eachWithWatchdog();

/** The endpoint refuses the key, which is an outage at the second call. */
async function refused(): Promise<void> {
  const note = bindProviderNote(redis, keys);
  await note('auth', '401');
  await note('auth', '401');
}

const answered = () => bindProviderNote(redis, keys)('', '200');

test('what waits is a line under its outage, also in the look that sees the end of that', async () => {
  await given('8', 3);
  await givenRead();
  await refused();
  watch();
  await reported(/Every message fails/);
  await answered();
  await reported(/^Resolved: the model endpoint/);
  // Another incident shows that looks were made since.
  await redis.hset(keys.paused, '9', '{}');
  await given('9', 1);
  await givenRead();
  await reported(/paused/);
  const { book } = await createBookStore(redis).read();
  expect(book.get('unanswered')).toMatchObject({ under: 'provider' });
});

test('a Telegram that was away too briefly for an incident hides no message that waits', async () => {
  const telegram = telegramState(redis, keptLog().log, { telegramPauseMs: 1_000, telegramPauseMsMax: 1_000 });
  for (let doubt = 1; doubt <= 3; doubt++) await telegram.doubted('no answer');
  expect((await telegram.confirmed()).awayMs).toBe(0);
  await given('8', 3);
  await givenRead();
  watch();
  expect(await reported(/unanswered/)).toContain('3 messages of 1 chat');
});
