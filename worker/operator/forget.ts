import { type ChatKey, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { readChatFields } from '../../shared/state/chat/chat.ts';
import { forgetUnlessUnderWay } from '../../shared/state/message/inbound.ts';
import { type Attribution, recordAction } from '../../shared/state/process/actions.ts';
import type { Blobs } from '../blob/blobs.ts';
import { createChatArchive } from '../command/chat-archive.ts';
import { createMediaStore } from '../media/store.ts';
import type { ReportSource } from '../report/report.ts';

/**
 * Erases all of a chat, as its people do with `/forget`, whether a gateway runs or not. Returns how many of its messages
 * wait or are being answered: where there are any, not all is erased, and the chat goes on as it was.
 *
 * Contract: rejects when Redis or the blob store cannot be used just now. Idempotent; who is killed in between has erased
 * a part, and the same call erases the rest.
 */
export async function forgetChat(
  at: ReportSource & { blobs: Blobs | undefined },
  named: ChatKey,
  attribution: Attribution,
): Promise<number> {
  const { redis, shards, blobs } = at;
  const keys = keysOf(shardOf(parseChatKey(named)?.chatId ?? 0, shards));
  // A group that became a supergroup has its conversation there.
  const chat = (await readChatFields(redis, keys, named))?.movedTo ?? named;
  await recordAction(redis, 'forget', chat, attribution);
  const underWay = await forgetUnlessUnderWay(redis, keys, chat, []);
  if (underWay > 0) return underWay;
  // Nothing is kept, so no retention counts.
  const media = createMediaStore({ redis, keys, blobs, retentionDays: 1 });
  const last = await createChatArchive({ redis, keys, blobs, media }).erase(chat, Date.now());
  return forgetUnlessUnderWay(redis, keys, chat, last);
}
