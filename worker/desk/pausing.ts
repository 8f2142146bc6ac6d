import { type ChatKey, parseChatKey } from '../../shared/redis/keys.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { pause, resume } from '../operator/pause.ts';
import type { DeskHandler } from './desk.ts';

const CHAT_WANTED = 'Name a chat by its number, such as /pause 1001. /pause all stops every chat.';

/** `/pause <chat>`, `/pause all`: what runs ends as it would, and nothing new begins. */
export const pauseChat: DeskHandler = async (ports, { words, by }) => {
  const chat = chatIn(words);
  if (chat === undefined) return { text: CHAT_WANTED };
  const isNew = await pause(ports, chat, { by, why: '' });
  return { text: isNew ? `Paused: ${nameOf(chat)}. New messages wait.` : `${nameOf(chat)} was paused already.` };
};

/** `/resume <chat>`, `/resume all`. */
export const resumeChat: DeskHandler = async (ports, { words, by }) => {
  const chat = chatIn(words);
  if (chat === undefined) return { text: CHAT_WANTED.replaceAll('/pause', '/resume').replace('stops', 'goes on with') };
  const ended = await resume(ports, chat, { by, why: '' });
  return { text: ended ? `Resumed: ${nameOf(chat)}.` : `${nameOf(chat)} was not paused.` };
};

function chatIn([word = '']: readonly string[]): ChatKey | typeof EVERY_CHAT | undefined {
  return word.toLowerCase() === 'all' || word === EVERY_CHAT ? EVERY_CHAT : parseChatKey(word)?.chat;
}

function nameOf(chat: ChatKey | typeof EVERY_CHAT): string {
  return chat === EVERY_CHAT ? 'Every chat' : `Chat ${chat}`;
}
