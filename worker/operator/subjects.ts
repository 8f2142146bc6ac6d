import { counted } from '../../shared/base/text.ts';
import { type ChatKey, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { type DeadLetter, findLetter, LETTER_NAME, UnknownNameError } from '../../shared/state/lane/dead-letters.ts';
import { type LetterFilter, lettersMatching } from '../../shared/state/lane/letter-list.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { readStrangers } from '../../shared/state/pairing/strangers.ts';
import { type MessageReport, readMessage } from '../report/message.ts';
import { type MessageName, resolveMessage, unknownMessage } from '../report/message-location.ts';
import { type ReportContext, type ReportSource, shardsOf } from '../report/report.ts';
import type { Subject } from './act.ts';

/** A chat, a topic, or every chat. */
export type ChatSubject = Subject & { chat: ChatKey | typeof EVERY_CHAT };
export type MessageSubject = Subject & { name: MessageName; report: MessageReport };
/** A person or a group. `isSet`: whether `TELEGRAM_ALLOWED_IDS` contains the id. */
export type SomeoneSubject = Subject & { isSet: boolean };
/** One dead letter. */
export type LetterSubject = Subject & { letter: DeadLetter };
/** The dead letters that match a filter, oldest first in each shard. `isEvery`: the filter has no start and no chat. */
export type LettersSubject = Subject & { count: number; letters: readonly DeadLetter[]; isEvery: boolean };

export const everyChat = { id: EVERY_CHAT, title: 'Every chat', chat: EVERY_CHAT } as const satisfies ChatSubject;

/** The chat of a chat key, even if the chat has no data; `*` is every chat. Throws `UnknownNameError` for any other text. */
export async function findChat(_: ReportSource, name: string): Promise<ChatSubject> {
  if (name === EVERY_CHAT) return everyChat;
  const chat = parseChatKey(name)?.chat;
  if (chat === undefined) throw new UnknownNameError('There is no such chat.');
  return { id: chat, title: `Chat ${chat}`, chat };
}

/** The keys of the shard of a chat, or of all shards. */
export function keysFor({ shards }: ReportSource, chat: ChatSubject['chat']) {
  if (chat === EVERY_CHAT) return shardsOf({ shards });
  return [keysOf(shardOf(parseChatKey(chat)?.chatId ?? 0, shards))];
}

/** Finds a message by entry, trace or dead letter. Throws `UnknownNameError` if there is none, or more than one. */
export async function findMessage(at: ReportSource, text: string): Promise<MessageSubject> {
  const name = await resolveMessage(at, text);
  const report = await readMessage(at, name);
  if (report === undefined) throw unknownMessage(text);
  return { id: name.entry, title: `The message of chat ${report.chat}`, name, report };
}

/** The person or group with this id, or the stranger who waits with this code. Throws `UnknownNameError` if there is none. */
export async function findSomeone({ redis, settings }: ReportContext, name: string): Promise<SomeoneSubject> {
  const isStranger = ({ code }: { code: string }) => code === name.toUpperCase();
  const id = /^-?[1-9]\d*$/.test(name) ? name : (await readStrangers(redis)).find(isStranger)?.id;
  if (id === undefined)
    throw new UnknownNameError(`Nobody waits under ${name} any more. "npm run cli -- allow" lists who waits.`);
  const { TELEGRAM_ALLOWED_IDS: ids } = settings;
  return { id, title: id, isSet: ids === 'everyone' || ids.has(Number(id)) };
}

/** Finds a dead letter by its name. Throws `UnknownNameError` if there is none, or more than one. */
export async function findLetterSubject(at: ReportSource, name: string): Promise<LetterSubject> {
  if (!LETTER_NAME.test(name)) throw new UnknownNameError('There is no such dead letter.');
  const letter = await findLetter(at.redis, shardsOf(at), name);
  return { id: letter.name, title: `Dead letter ${letter.name}`, letter };
}

/** Reads the dead letters that match a filter. */
export async function selectLetters(at: ReportSource, filter: LetterFilter): Promise<LettersSubject> {
  const letters: DeadLetter[] = [];
  for await (const letter of lettersMatching(at.redis, shardsOf(at), filter)) letters.push(letter);
  const title = counted(letters.length, 'dead letter');
  return { id: title, title, count: letters.length, letters, isEvery: !filter.sinceMs && !filter.chat };
}
