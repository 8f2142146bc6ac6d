import { expect, test } from '@jest/globals';
import { createAccept } from '../../../../producer/accept/accept.ts';
import type { ProducerEnv } from '../../../../producer/env.ts';
import { startPoller } from '../../../../producer/receive/poller.ts';
import { shardOf } from '../../../../shared/redis/keys.ts';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import { inboxOf } from '../../../fixture/inbox.ts';
import { term, terms } from '../../../fixture/lease.ts';
import { producerEnv } from '../../../fixture/producer-env.ts';
import { until } from '../../../fixture/root.ts';
import { instantTelegram } from '../../../tools/bench/instant.ts';

/** A message of a chat; by default all of one. */
const update = (id: number, chat = 1) => ({
  update_id: id,
  message: { message_id: id, date: 1, text: `text ${id}`, chat: { id: chat, type: 'private' }, from: { id: chat } },
});
const UPDATES = [5, 6, 7].map((id) => update(id));

/** A poller of these services, which takes in what it gets. */
function startPolling(parts: Partial<ProducerEnv>, shards = 1) {
  const env = producerEnv(parts, { SHARDS: String(shards) });
  return startPoller(env, createAccept(env));
}

test('two chats that fail in a shard hold up all of it, and no other', async () => {
  const [first = 0, second = 0, third = 0] = [1, 2, 3, 4, 5, 6, 7, 8].filter((chat) => shardOf(chat, 2) === 0);
  const other = [1, 2, 3, 4, 5, 6, 7, 8].find((chat) => shardOf(chat, 2) === 1);
  const updates = [first, second, third, other].map((chat, at) => update(5 + at, chat));
  const tried: number[] = [];
  const { telegram, inbox, accepted, nthPoll } = byHand((id) => {
    tried.push(id);
    if (id !== 8) throw new Error('NOREPLICAS');
  });
  const poller = startPolling({ telegram, inbox }, 2);
  (await nthPoll(1)).end({ ok: true, value: updates });
  const { offset } = await nthPoll(2);
  await poller.stop();
  expect([accepted, tried, offset]).toEqual([[8], [5, 6, 8], undefined]);
});

/** A Telegram whose polls a test ends by hand, and an inbox that notes what it accepts; it refuses what `accept` throws at. */
function byHand(accept: (updateId: number) => void = () => {}) {
  const polls: { offset: number | undefined; signal: AbortSignal; end: (polled: Polled) => void }[] = [];
  const accepted: number[] = [];
  const telegram: Telegram = {
    ...instantTelegram(),
    getUpdates(offset, signal) {
      const { promise, resolve } = Promise.withResolvers<Polled>();
      polls.push({ offset, signal, end: resolve });
      signal.addEventListener('abort', () => resolve({ ok: false, failure: ABORTED }));
      return promise;
    },
  };
  const inbox = inboxOf(async (_botId, { updateId }) => {
    accept(updateId);
    accepted.push(updateId);
    return { entry: `${updateId}-0` as never, duplicate: false };
  });
  const nthPoll = (nth: number) => until('a poll', () => polls[nth - 1]);
  return { telegram, inbox, accepted, polls, nthPoll };
}

type Polled = Awaited<ReturnType<Telegram['getUpdates']>>;
const ABORTED = { kind: 'aborted', description: 'stopped' } as const;

test('discards updates and ignores failures that it receives after its lease expired', async () => {
  const { telegram, inbox, accepted, polls, nthPoll } = byHand();
  const [frozen, next] = [term(), term()];
  const failures: string[] = [];
  const heartbeat = { answered() {}, failed: (kind: string) => void failures.push(kind) };
  const poller = startPolling({ heartbeat, telegram, inbox, lease: terms(frozen.asTerm, next.asTerm) });
  const open = await nthPoll(1);
  // The clock has passed the end of the lease; the timer that would say so has not run yet.
  frozen.state.isHeld = false;
  open.end({ ok: true, value: UPDATES });
  const again = await nthPoll(2);
  expect([accepted, again.offset, polls.length]).toEqual([[], undefined, 2]);
  next.state.isHeld = false;
  again.end({ ok: false, failure: { kind: 'conflict', description: 'terminated by other getUpdates request' } });
  await poller.stop();
  expect(failures).toEqual([]);
});

test('confirms nothing to Telegram while the lease cannot be renewed', async () => {
  const { telegram, inbox, polls, nthPoll } = byHand();
  const asked = Promise.withResolvers<void>();
  const doubtful = term(async () => {
    if (polls.length === 0) return true;
    asked.resolve();
    return false;
  });
  const lease = terms(doubtful.asTerm);
  const poller = startPolling({ telegram, inbox, lease });
  (await nthPoll(1)).end({ ok: true, value: UPDATES });
  await asked.promise;
  await poller.stop();
  expect(polls).toHaveLength(1);
});

test('removes a webhook that blocks polling at once, and reports it only if it returns or cannot be removed', async () => {
  const { telegram, inbox, accepted, nthPoll } = byHand();
  const did: string[] = [];
  let isRemovable = true;
  const removing: Telegram = {
    ...telegram,
    async deleteWebhook() {
      did.push('removed');
      return isRemovable ? { ok: true, value: undefined } : { ok: false, failure: { ...ABORTED, kind: 'unknown' } };
    },
  };
  const heartbeat = { answered: () => void did.push('answered'), failed: (kind: string) => void did.push(kind) };
  const poller = startPolling({ heartbeat, telegram: removing, inbox });
  const refused: Polled = { ok: false, failure: { kind: 'webhook_set', description: 'Conflict', retryAfterMs: 1 } };
  (await nthPoll(1)).end(refused);
  (await nthPoll(2)).end({ ok: true, value: UPDATES });
  (await nthPoll(3)).end(refused);
  isRemovable = false;
  (await nthPoll(4)).end(refused);
  await nthPoll(5);
  await poller.stop();
  expect(did).toEqual(['removed', 'answered', 'removed', 'webhook_set', 'removed', 'webhook_set']);
  expect(accepted).toEqual([5, 6, 7]);
});
