import { type ChatKey, type Keys, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, endPause } from '../../shared/state/lane/stops.ts';
import { addOrder } from '../../shared/state/orders.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import type { ReportSource } from '../report/report.ts';

/**
 * Pauses a chat, or every chat: what runs ends as it would, and nothing new begins. Messages are accepted all the same
 * and wait in their lanes. Returns false when it was paused already; the first pause then stays.
 *
 * Contract: rejects when Redis cannot be reached. Idempotent; a process that is killed half-way through the shards of
 * `*` leaves the others running, and the same call pauses them.
 */
export async function pause(
  at: ReportSource,
  chat: ChatKey | typeof EVERY_CHAT,
  attribution: Attribution,
): Promise<boolean> {
  await recordAction(at.redis, 'pause', chat, attribution);
  let isNew = false;
  for (const keys of shardsOf(at, chat)) {
    const sinceMs = await serverTimeMs(at.redis, keys.paused);
    isNew = (await addOrder(at.redis, keys.paused, { chat, sinceMs, ...attribution })) || isNew;
  }
  return isNew;
}

/**
 * Ends a pause. The reconciler makes the lanes' heads jobs again, within seconds. Returns false when there was none. A
 * chat stays paused while every chat is, and the other way round. Contract: as at `pause`.
 */
export async function resume(
  at: ReportSource,
  chat: ChatKey | typeof EVERY_CHAT,
  attribution: Attribution,
): Promise<boolean> {
  await recordAction(at.redis, 'resume', chat, attribution);
  let ended = false;
  for (const keys of shardsOf(at, chat)) {
    const nowMs = await serverTimeMs(at.redis, keys.paused);
    ended = (await endPause(at.redis, keys, chat, nowMs)) || ended;
  }
  return ended;
}

function shardsOf({ shards }: ReportSource, chat: ChatKey | typeof EVERY_CHAT): Keys[] {
  if (chat === EVERY_CHAT) return Array.from({ length: shards }, (_, shard) => keysOf(shard));
  return [keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, shards))];
}
