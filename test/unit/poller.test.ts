import { expect, test } from '@jest/globals';
import type { Inbox } from '../../producer/inbox.ts';
import { startPoller } from '../../producer/poller.ts';
import { createFailpoints } from '../../shared/failpoint.ts';
import { createLogger } from '../../shared/log.ts';
import { UnreadableMessageError } from '../../shared/message.ts';
import type { Telegram } from '../../shared/telegram.ts';
import { startTelemetry } from '../../shared/telemetry.ts';
import { instantTelegram } from '../bench/instant.ts';

const UPDATES = [5, 6, 7].map((id) => ({
  update_id: id,
  message: { message_id: id, date: 1, text: `text ${id}`, chat: { id: 1, type: 'private' }, from: { id: 1 } },
}));

/** Polls with a scripted inbox until Telegram was asked `polls` times; returns what was accepted and each offset. */
async function poll(polls: number, refuse: (updateId: number, tries: number) => Error | undefined) {
  const accepted: number[] = [];
  const offsets: (number | undefined)[] = [];
  const done = Promise.withResolvers<void>();
  let tries = 0;
  const inbox: Inbox = {
    async accept(_botId, { updateId }) {
      tries += 1;
      const error = refuse(updateId, tries);
      if (error) throw error;
      accepted.push(updateId);
      return { entry: `${updateId}-0` as never, duplicate: false };
    },
  };
  const telegram: Telegram = {
    ...instantTelegram(),
    async getUpdates(offset, signal) {
      offsets.push(offset);
      if (offsets.length < polls)
        return { ok: true, value: UPDATES.filter(({ update_id }) => update_id >= (offset ?? 0)) };
      done.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => resolve());
      await promise;
      return { ok: false, failure: { kind: 'aborted', description: 'stopped' } };
    },
  };
  const poller = startPoller({
    ready: Promise.resolve(),
    telegram,
    inbox,
    allowed: 'everyone',
    textMaxChars: 100,
    telemetry: startTelemetry({ serviceName: 'test', exporting: false }),
    log: createLogger('silent'),
    reach: createFailpoints(undefined),
  });
  await done.promise;
  await poller.stop();
  return { accepted, offsets };
}

test('an update is confirmed only after it was stored: a failure stops there and it is asked for again', async () => {
  const { accepted, offsets } = await poll(3, (id, tries) =>
    id === 6 && tries === 2 ? new Error('Redis is away') : undefined,
  );
  expect(accepted).toEqual([5, 6, 7]);
  expect(offsets).toEqual([undefined, 6, 8]);
});

test('an update that can never be stored is passed over, and does not hold up what comes after it', async () => {
  const { accepted, offsets } = await poll(2, (id) =>
    id === 6 ? new UnreadableMessageError('date: too large') : undefined,
  );
  expect(accepted).toEqual([5, 7]);
  expect(offsets).toEqual([undefined, 8]);
});
