import { jpegPhoto } from '../../fixture/files.ts';
import type { Body } from '../../stand-in/telegram/chats.ts';
import { document, photo } from '../../stand-in/telegram/inbound-kinds.ts';
import type { TelegramStandIn } from '../../stand-in/telegram/server.ts';

/** The chats of a play: Ann's private chat, a group of three, and the private chats of the operator and of a stranger. */
export const PRIVATE_CHAT = 1001;
export const GROUP = -1_002_000_000_001;
export const ALERT_CHAT = 9001;
export const STRANGERS_CHAT = 4004;

const OPERATOR = { id: ALERT_CHAT, firstName: 'Olga' };
const PEOPLE: Readonly<Record<string, { id: number; firstName: string }>> = {
  ann: { id: PRIVATE_CHAT, firstName: 'Ann' },
  ben: { id: 1002, firstName: 'Ben' },
  cleo: { id: 1003, firstName: 'Cleo' },
  olga: OPERATOR,
  dora: { id: STRANGERS_CHAT, firstName: 'Dora' },
};
const PRIVATE_CHATS: readonly number[] = [ALERT_CHAT, STRANGERS_CHAT];

/** What a person writes, and where. */
export interface Speech {
  readonly chatId: number;
  readonly fromId: number;
  readonly firstName: string;
  readonly text: string;
}

/**
 * Reads a typed line. `ben: hello` is Ben's message in the group, `olga: /status` the operator's in the alert chat, `dora: hello`
 * the stranger's in private, and a line without a name is Ann's in her private chat. `@bot` becomes the bot's real name.
 */
export function readSpeech(line: string, botName: string): Speech {
  const [, name = '', words = ''] = /^(\w+):\s*(.*)$/.exec(line) ?? [];
  const person = PEOPLE[name.toLowerCase()];
  const { id: fromId, firstName } = person ?? { id: PRIVATE_CHAT, firstName: 'Ann' };
  const chatId = person === undefined || PRIVATE_CHATS.includes(fromId) ? fromId : GROUP;
  const text = (person === undefined ? line : words).replaceAll(/@bot\b/gi, `@${botName}`);
  return { chatId, fromId, firstName, text };
}

/** The person of that name; without a name, the one to whom the chat belongs. */
export function presserOf(chatId: number, name = ''): number {
  return PEOPLE[name.toLowerCase()]?.id ?? (chatId === ALERT_CHAT ? ALERT_CHAT : PRIVATE_CHAT);
}

/** About 70,000 tokens for the model. */
const FILE_LINES = 5_000;

/** Sends what somebody says, as a text or as the caption of a file. `replyTo` is the id of the message that it answers. */
export async function send(
  telegram: TelegramStandIn,
  speech: Speech,
  kind: 'text' | 'photo' | 'file',
  replyTo?: number,
): Promise<void> {
  const { chatId, fromId, firstName, text } = speech;
  const extra = kind === 'text' ? {} : { extra: await fileFields(telegram, kind, text) };
  telegram.say(chatId, kind === 'text' ? text : '', {
    fromId,
    firstName,
    ...extra,
    ...(replyTo !== undefined && { replyTo }),
  });
}

async function fileFields(telegram: TelegramStandIn, kind: 'photo' | 'file', text: string): Promise<Body> {
  const caption = text === '' ? {} : { caption: text };
  if (kind === 'photo') return photo(telegram.addFile(await jpegPhoto(640, 480)), caption);
  const lines = Array.from(
    { length: FILE_LINES },
    (_, at) => `Day ${at + 1}: ${(at * 7) % 30} boats left the harbour.\n`,
  );
  const bytes = Buffer.from(lines.join(''));
  const fileId = telegram.addFile(bytes, 'harbour.txt');
  return document({ fileId, bytes: bytes.length, fileName: 'harbour.txt', mimeType: 'text/plain', ...caption });
}
