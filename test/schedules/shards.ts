import { shardOf } from '../../shared/redis/keys.ts';

/** Schedules that share a server at a time: each has a shard of its own. */
export const SHARDS = 512;
const CHATS = 2;

/** The chats of each shard, found once. */
const chats: readonly number[][] = findChats();

function findChats(): number[][] {
  const found: number[][] = Array.from({ length: SHARDS }, () => []);
  let missing = SHARDS * CHATS;
  for (let chatId = 1; missing > 0; chatId++) {
    const own = found[shardOf(chatId, SHARDS)] ?? [];
    if (own.length === CHATS) continue;
    own.push(chatId);
    missing -= 1;
  }
  return found;
}

/** The ids of two chats whose messages go to a shard. */
export function chatsOf(shard: number): readonly number[] {
  return chats[shard] ?? [];
}
