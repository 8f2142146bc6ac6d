import { type ChatKey, chatKey, type Keys, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Attempt, Command, Conclusion } from '../lane/attempt.ts';
import type { TurnPorts } from './turn.ts';

/** The turn's field that holds the chat's new id. */
const MIGRATED_TO = 'migratedTo';

/** A group that became a supergroup continues under its new id, with its conversation. */
export async function moveChat(
  { ask: { settings } }: TurnPorts,
  { keys, chat, home, entry, session, trial, write }: Attempt,
  { outcome }: Conclusion,
  to: number,
): Promise<void> {
  const moved = chatKey(to);
  const isSameShard = shardOf(to, settings.shards) === shardOf(parseChatKey(chat)?.chatId ?? 0, settings.shards);
  const current = outcome === 'answered' ? session : (trial?.of ?? session);
  await write('migrated', [
    ['HSET', keys.turn(entry), MIGRATED_TO, to],
    ...(isSameShard && home !== moved ? joinLanes(keys, chat, moved, current) : []),
  ]);
}

/** From then on, what waits under the old id comes first, in the session of the new one: see `begin.lua`. */
function joinLanes(keys: Keys, from: ChatKey, to: ChatKey, session: SessionId): Command[] {
  return [
    ['HSETNX', keys.chat(to), 'session', session],
    ['HSET', keys.chat(to), 'movedFrom', from],
    ['HSET', keys.chat(from), 'movedTo', to],
  ];
}

/** Where the replies of a message go: its chat, or the one that it became. */
export function destinationOf(attempt: Attempt): Destination {
  const parsed = parseChatKey(attempt.home);
  if (!parsed) throw new Error(`not a chat key: ${attempt.home}`);
  const moved = attempt.field(MIGRATED_TO);
  if (moved !== undefined) return { chatId: Number(moved) };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
