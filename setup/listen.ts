import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isFields } from '../shared/base/fields.ts';
import { counted } from '../shared/base/text.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import type { TelegramFailure } from '../shared/telegram/failure.ts';
import type { SetupPorts, Values } from './progress.ts';
import { CancelledError, type Terminal } from './terminal.ts';

/** The pause between polls while unconfirmed updates wait, because Telegram then answers every poll at once. */
const LOOK_EVERY_MS = 1_000;
/** The maximum number of updates that one poll returns. */
const UPDATES_MAX = 100;

/**
 * Waits for a message with a one-time code and returns its chat; `undefined` if the person prefers to type the id, or if so
 * many messages wait that a new one cannot be seen. Leaves other people's messages unconfirmed, so that the gateway gets them.
 */
export async function listen(
  { terminal, signal, connect, isReceived }: SetupPorts,
  values: Values,
  place: Place,
  username: string,
  title = place === 'private' ? 'Who are you?' : 'Which group?',
): Promise<Found | undefined> {
  const telegram = connect(values);
  // A poll here would end the poll of a running gateway, which would then alert its operator.
  while (await isReceived(values)) if (!(await wantsLookBesideGateway(terminal))) return undefined;
  const code = randomCode();
  terminal.explain(title, invitation(place, username, code));
  terminal.say('Waiting for the message …');
  let older: ReadonlySet<unknown> | undefined;
  const reported = new Set<string>();
  const warnOnce = (words: string) => {
    if (!reported.has(words)) terminal.warn(words);
    reported.add(words);
  };
  for (;;) {
    const polled = await telegram.getUpdates(undefined, signal, older === undefined ? 'at once' : undefined);
    if (!polled.ok) {
      if (await handleFailure(terminal, telegram, polled.failure, signal)) continue;
      return undefined;
    }
    older ??= reportOlder(terminal, polled.value);
    const search = findCode(polled.value, code, place, older);
    if (search.kind === 'found') {
      if (search.isFirst) await telegram.getUpdates(search.updateId + 1, signal, 'at once');
      return search;
    }
    for (const id of search.strangers) warnOnce(`Ignored a message from the id ${id}: it is not the code.`);
    if (search.isMisplaced) warnOnce(`The code has arrived, but not in a ${place} chat.`);
    if (polled.value.length >= UPDATES_MAX) {
      terminal.warn(`${UPDATES_MAX} messages are already waiting for the bot, so a new one cannot be seen.`);
      return undefined;
    }
    if (polled.value.length > 0) await pause(LOOK_EVERY_MS, undefined, { signal }).catch(cancel);
  }
}

/** Reports the updates that waited before anybody could know the code, and returns their ids. */
function reportOlder(terminal: Terminal, updates: readonly unknown[]): ReadonlySet<unknown> {
  const count = counted(updates.length, 'older message');
  if (updates.length > 0)
    terminal.say(`Already waiting for the bot: ${count}. Once it runs, it answers those from people who may use it.`);
  return new Set(updates.map(idOf));
}

function invitation(place: Place, username: string, code: string): string {
  if (place === 'private') {
    return [
      `Open  https://t.me/${username}?start=${code}  and press START,`,
      `or send this to @${username}:  ${code}`,
    ].join('\n');
  }
  return [
    `Open  https://t.me/${username}?startgroup=${code}  to add the bot to a group,`,
    `or send this in a group that it is in:  /start@${username} ${code}`,
  ].join('\n');
}

/** Whether to poll again after a failed poll; if not, the person types the id. Throws `CancelledError` if the person stops. */
async function handleFailure(
  terminal: Terminal,
  telegram: Telegram,
  { kind, description, retryAfterMs }: TelegramFailure,
  signal: AbortSignal,
): Promise<boolean> {
  if (kind === 'aborted') throw new CancelledError();
  if (kind === 'throttled') {
    await pause(retryAfterMs ?? LOOK_EVERY_MS, undefined, { signal }).catch(cancel);
    return true;
  }
  if (kind === 'webhook_set') return removeWebhook(terminal, telegram, signal);
  if (kind === 'conflict') return wantsLookBesideGateway(terminal);
  terminal.warn(`The messages of the bot could not be read: ${description}`);
  return wantsAnotherLook(terminal);
}

function wantsLookBesideGateway(terminal: Terminal): Promise<boolean> {
  terminal.warn(
    'Another program is reading the messages of this bot, probably a gateway. Stop it and try again, or type the id. ' +
      'While it runs, npm run cli -- allow <id> lets somebody in without a restart.',
  );
  return wantsAnotherLook(terminal);
}

async function removeWebhook(terminal: Terminal, telegram: Telegram, signal: AbortSignal): Promise<boolean> {
  const info = await telegram.getWebhookInfo(signal);
  const host = info.ok ? URL.parse(info.value.url)?.host : undefined;
  terminal.warn(
    `Telegram delivers the messages of this bot to a webhook${host === undefined ? '' : ` at ${host}`}, so they cannot be read here.`,
  );
  const question = 'Remove the webhook? Waiting messages are kept, and a gateway in webhook mode sets it again.';
  if (!(await terminal.confirm(question, false))) return false;
  const result = await telegram.deleteWebhook(signal);
  if (result.ok) return true;
  terminal.warn(`The webhook could not be removed: ${result.failure.description}`);
  return wantsAnotherLook(terminal);
}

async function wantsAnotherLook(terminal: Terminal): Promise<boolean> {
  const next = await terminal.choose('What now?', [
    { value: 'again', label: 'Try again' },
    { value: 'type', label: 'Type the id' },
    { value: 'stop', label: 'Stop', hint: 'nothing is written' },
  ]);
  if (next === 'stop') throw new CancelledError();
  return next === 'again';
}

function cancel(): never {
  throw new CancelledError();
}

/** The kind of chat in which the one-time code must arrive. */
export type Place = 'private' | 'group';

/** The chat in which somebody wrote the one-time code, and the language of the writer's Telegram app. */
export interface Found {
  readonly chatId: number;
  readonly language: string | undefined;
}

type CodeSearch =
  | (Found & { readonly kind: 'found'; readonly updateId: number; readonly isFirst: boolean })
  | { readonly kind: 'none'; readonly strangers: readonly number[]; readonly isMisplaced: boolean };

interface TextMessage extends Found {
  updateId: number;
  isPrivate: boolean;
  text: string;
}

const DIGITS = 8;
/** The text that a Telegram app sends when somebody starts the bot; a code from the link may follow it. */
const START = /^\/start(?:@\w+)?\s*/;

/** A code that is hard to guess: the chance that one of the hundred messages of a poll guesses it is one in a million. */
export function randomCode(): string {
  return String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0');
}

/**
 * Looks for the code in chats of the kind `place`. `strangers` are the private chats with any other text; a mere `/start` and
 * the updates in `older` do not count. `isMisplaced`: the code is in a chat of the other kind. `isFirst`: all updates before
 * the match are messages of the same chat that say only `/start` or the code. Pure, never throws.
 */
export function findCode(
  updates: readonly unknown[],
  code: string,
  place: Place,
  older: ReadonlySet<unknown> = new Set(),
): CodeSearch {
  const messages = updates.flatMap(textMessageIn);
  const hasCode = (each: TextMessage) => codeIn(each.text) === code;
  const isInPlace = (each: TextMessage) => each.isPrivate === (place === 'private');
  const match = messages.find((each) => hasCode(each) && isInPlace(each));
  if (match === undefined) {
    const isOther = (each: TextMessage) => !older.has(each.updateId) && !hasCode(each) && codeIn(each.text) !== '';
    const strangers = messages.filter((each) => each.isPrivate && isOther(each));
    return {
      kind: 'none',
      strangers: [...new Set(strangers.map(({ chatId }) => chatId))],
      isMisplaced: messages.some(hasCode),
    };
  }
  const isHello = (each: TextMessage) => each.chatId === match.chatId && ['', code].includes(codeIn(each.text));
  const earlier = messages.filter(({ updateId }) => updateId < match.updateId);
  const isFirst =
    earlier.every(isHello) && earlier.length === updates.findIndex((each) => idOf(each) === match.updateId);
  const { chatId, updateId, language } = match;
  return { kind: 'found', chatId, updateId, isFirst, language };
}

function textMessageIn(update: unknown): TextMessage[] {
  const updateId = idOf(update);
  const message = isFields(update) ? update.message : undefined;
  if (updateId === undefined || !isFields(message) || !isFields(message.chat)) return [];
  const { id: chatId, type } = message.chat;
  if (typeof chatId !== 'number' || typeof message.text !== 'string') return [];
  const code = isFields(message.from) ? message.from.language_code : undefined;
  const language = typeof code === 'string' ? code : undefined;
  return [{ updateId, chatId, language, isPrivate: type === 'private', text: message.text }];
}

function idOf(update: unknown): number | undefined {
  const id = isFields(update) ? update.update_id : undefined;
  return typeof id === 'number' ? id : undefined;
}

/** The text without its leading `/start`, and without white space and hyphens. */
function codeIn(text: string): string {
  return text.replace(START, '').replace(/[\s-]/g, '');
}
