import type { ChatKey } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, type Pause, pauseOfChat } from '../../shared/state/lane/stops.ts';
import type { Attribution } from '../../shared/state/process/actions.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { pause, resume } from '../operator/pause.ts';
import { readChat } from '../report/chat.ts';
import { readAllPauses } from '../report/in-flight.ts';
import { inWords } from '../report/words.ts';
import type { DeskCall, DeskHandler, DeskPorts } from './desk.ts';
import { chatIn, chatWanted, unknownChat } from './looks.ts';
import { rowsFor } from './offers.ts';

/** `/pause <chat> [why]`, `/pause all [why]`: what runs ends as it would, and nothing new begins. */
export const pauseChat: DeskHandler = async (ports, call) => {
  const chat = pausable(call.words);
  if (chat === undefined) return chatWanted(ports, call, 'pause');
  if (chat !== EVERY_CHAT && (await readChat(ports, chat)) === undefined) return unknownChat(chat);
  const isNew = await pause(ports, chat, attributionOf(call));
  call.chatPorts.ask.observability.reach('act done');
  const buttons = rowsFor([`/resume ${wordFor(chat)}`]);
  if (isNew) return { text: `Paused: ${nameOf(chat)}. What runs ends as usual; new messages wait.`, buttons };
  return { text: `${nameOf(chat)} was paused already${await since(ports, chat)}.`, buttons };
};

/** `/resume <chat>`, `/resume all`. */
export const resumeChat: DeskHandler = async (ports, call) => {
  const chat = pausable(call.words);
  if (chat === undefined) return chatWanted(ports, call, 'resume', (await readAllPauses(ports)).map(wordOf));
  const ended = await resume(ports, chat, attributionOf(call));
  call.chatPorts.ask.observability.reach('act done');
  const left = (await readAllPauses(ports)).filter((each) => chat === EVERY_CHAT || each.chat === EVERY_CHAT);
  const done = ended ? `Resumed: ${nameOf(chat)}.` : `${nameOf(chat)} is not paused.`;
  if (left.length === 0) return { text: done };
  const still =
    chat === EVERY_CHAT
      ? `Still paused by themselves: ${left.map(wordOf).slice(0, 20).join(', ')}.`
      : 'But every chat is paused.';
  return { text: `${done} ${still}`, buttons: rowsFor(left.map((each) => `/resume ${wordOf(each)}`)) };
};

function pausable(words: readonly string[]): ChatKey | typeof EVERY_CHAT | undefined {
  const [word = ''] = words;
  return word.toLowerCase() === 'all' || word === EVERY_CHAT ? EVERY_CHAT : chatIn(words);
}

function attributionOf({ words, by, id }: DeskCall): Attribution {
  return { by: `${by} (${id})`, why: words.slice(1).join(' ') };
}

function nameOf(chat: ChatKey | typeof EVERY_CHAT): string {
  return chat === EVERY_CHAT ? 'Every chat' : `Chat ${chat}`;
}

function wordFor(chat: ChatKey | typeof EVERY_CHAT): string {
  return chat === EVERY_CHAT ? 'all' : chat;
}

function wordOf({ chat }: Pause): string {
  return wordFor(chat);
}

/** Since when, by whom and why; nothing where the pause was ended meanwhile. */
async function since(ports: DeskPorts, chat: ChatKey | typeof EVERY_CHAT): Promise<string> {
  const pauses = await readAllPauses(ports);
  const order = chat === EVERY_CHAT ? pauses.find((each) => each.chat === chat) : pauseOfChat(pauses, chat);
  if (order === undefined) return '';
  const ago = inWords((await serverTimeMs(ports.redis)) - order.sinceMs);
  return `, ${ago} ago by ${order.by}${order.why === '' ? '' : `: ${order.why}`}`;
}
