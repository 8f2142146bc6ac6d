import { clip } from '../../shared/base/text.ts';
import { chatKey, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { chatState } from '../../shared/state/chat/chat.ts';
import type { Coming } from '../../shared/state/reminder/book.ts';
import type { Destination } from '../../shared/telegram/messages.ts';
import type { Attempt, Conclusion } from '../lane/attempt.ts';
import type { TurnPorts } from './turn.ts';

/** Fifty of them fit into one message. */
const LEFT_CHARS = 70;

/**
 * A group that became a supergroup continues under its new id, with its conversation. Where that belongs to another
 * shard nothing can come with it: its reminders end, and the conclusion says which. Returns the conclusion to deliver.
 */
export async function moveChat(
  { ask: { settings }, commands: { reminders } }: TurnPorts,
  attempt: Attempt,
  conclusion: Conclusion,
  to: number,
): Promise<Conclusion> {
  const { keys, chat, home, session, trial, texts, turn, write } = attempt;
  const moved = chatKey(to);
  const isSameShard = shardOf(to, settings.shards) === shardOf(parseChatKey(chat)?.chatId ?? 0, settings.shards);
  const current = conclusion.outcome === 'answered' ? session : (trial?.of ?? session);
  const left = isSameShard ? [] : await reminders.of(home);
  const told = left.length === 0 ? conclusion : withLast(conclusion, texts.reminders.left(left.map(textOf)));
  await write('migrated', [
    turn.migrateTo(to),
    // From then on, what waits under the old id comes first, in the session of the new one: see `begin.lua`.
    ...(isSameShard && home !== moved
      ? [chatState(keys, moved).beginIn(current), ...chatState(keys, chat).becomes(moved)]
      : []),
    ...(left.length === 0 ? [] : [turn.reviseConclusion(told)]),
    ...reminders.cancelling(left),
  ]);
  return told;
}

function textOf({ reminder: { text } }: Coming): string {
  return clip(text.replace(/\s+/gu, ' '), LEFT_CHARS);
}

/** A conclusion with one more plain part at its end. */
function withLast({ layout, ...conclusion }: Conclusion, text: string): Conclusion {
  return { ...conclusion, parts: [...conclusion.parts, text], ...(layout && { layout: [...layout, null] }) };
}

/** Where the replies of a message go: its chat, or the one that it became. */
export function destinationOf(attempt: Attempt): Destination {
  const parsed = parseChatKey(attempt.home);
  if (!parsed) throw new Error(`not a chat key: ${attempt.home}`);
  const { migratedTo } = attempt.turn;
  if (migratedTo !== undefined) return { chatId: migratedTo };
  return { chatId: parsed.chatId, ...(parsed.topicId !== undefined && { topicId: parsed.topicId }) };
}
