import { join } from 'node:path';
import { type ChatKey, commandLaneOf, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { readChatFields } from '../../shared/state/chat/chat.ts';
import type { Blobs } from '../blob/blobs.ts';
import { createErasure } from '../command/erasure.ts';
import { createMediaStore } from '../media/store.ts';
import type { Installation } from './pause.ts';
import { type Order, writeDown } from './trail.ts';

/**
 * Erases all of a chat, as its people do with `/forget`, whether a gateway runs or not. Returns how many of its messages
 * wait or are being answered: where there are any, not all is erased, and the chat goes on as it was.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now. Idempotent; who is killed in between has erased
 * a part, and the same call erases the rest.
 */
export async function forgetChat(
  at: Installation & { blobs: Blobs | undefined },
  named: ChatKey,
  order: Order,
): Promise<number> {
  const { redis, shards, blobs } = at;
  const keys = keysOf(shardOf(parseChatKey(named)?.chatId ?? 0, shards));
  // A group that became a supergroup has its conversation there.
  const chat = (await readChatFields(redis, keys, named))?.movedTo ?? named;
  const run = bindScript<number>(redis, join(import.meta.dirname, 'forget.lua'));
  const unlessUnderWay = (words: (string | number)[]) =>
    run([keys.lane(chat), keys.lane(commandLaneOf(chat)), keys.absent], words);
  await writeDown(redis, 'forget', chat, order);
  const underWay = await unlessUnderWay([]);
  if (underWay > 0) return underWay;
  // Nothing is kept, so no retention counts.
  const media = createMediaStore({ redis, keys, blobs, retentionDays: 1 });
  const last = await createErasure({ redis, keys, blobs, media })(chat, Date.now());
  return unlessUnderWay(last.flatMap((words) => [words.length, ...words]));
}
