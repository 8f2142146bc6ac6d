import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isFields } from '../shared/base/fields.ts';
import { counted } from '../shared/base/text.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import type { TelegramFailure } from '../shared/telegram/failure.ts';
import type { SetupPorts, Values } from './progress.ts';
import { CancelledError, type Terminal } from './terminal.ts';

/** Updates that wait stay until a gateway reads them, and are the answer to every look at once. */
const LOOK_EVERY_MS = 1_000;
/** A look shows no more than these. */
const UPDATES_MAX = 100;

/**
 * Learns a chat's id from a message with a one-time code that somebody writes there; undefined when the person would
 * rather type the id. Messages of others stay for the gateway, as does what waited before.
 */
export async function listen(
  { terminal, signal, connect, isReceived }: SetupPorts,
  values: Values,
  place: Place,
  username: string,
  title = place === 'private' ? 'Who are you?' : 'Which group?',
): Promise<Found | undefined> {
  const telegram = connect(values);
  // Reading beside a gateway would cut off its own reading, which pages its operator.
  while (await isReceived(values)) if (!(await wantsLookBesideGateway(terminal))) return undefined;
  const code = randomCode();
  terminal.explain(title, invitation(place, username, code));
  terminal.say('Waiting for the message …');
  let older: ReadonlySet<unknown> | undefined;
  const reported = new Set<string>();
  const once = (words: string) => {
    if (!reported.has(words)) terminal.warn(words);
    reported.add(words);
  };
  for (;;) {
    const got = await telegram.getUpdates(undefined, signal, older === undefined ? 'at once' : undefined);
    if (!got.ok) {
      if (await settle(terminal, telegram, got.failure, signal)) continue;
      return undefined;
    }
    older ??= olderIn(terminal, got.value);
    const sighting = sightCode(got.value, code, place, older);
    if (sighting.kind === 'found') {
      if (sighting.isFirst) await telegram.getUpdates(sighting.updateId + 1, signal, 'at once');
      return sighting;
    }
    for (const id of sighting.strangers) once(`Ignored a message from the id ${id}: it is not the code.`);
    if (sighting.isMisplaced) once(`The code has arrived, but not in a ${place} chat.`);
    if (got.value.length >= UPDATES_MAX) {
      terminal.warn(`${UPDATES_MAX} messages are already waiting for the bot, so a new one cannot be seen.`);
      return undefined;
    }
    if (got.value.length > 0) await pause(LOOK_EVERY_MS, undefined, { signal }).catch(cancel);
  }
}

/** What waited before anybody could know the code. It is not for the setup, and says nothing of who writes now. */
function olderIn(terminal: Terminal, updates: readonly unknown[]): ReadonlySet<unknown> {
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

/** Whether to look again. False when the person types the id instead. Throws `CancelledError`. */
async function settle(
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
  const removed = await telegram.deleteWebhook(signal);
  if (removed.ok) return true;
  terminal.warn(`The webhook could not be removed: ${removed.failure.description}`);
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

/** Where a code is expected: in the private chat of a person, or in a group. */
export type Place = 'private' | 'group';

/** The chat in which a code was written, and the language of the writer's app. */
export interface Found {
  readonly chatId: number;
  readonly language: string | undefined;
}

/** The result of a look at the waiting updates. */
type Sighting =
  | (Found & { readonly kind: 'found'; readonly updateId: number; readonly isFirst: boolean })
  | { readonly kind: 'none'; readonly strangers: readonly number[]; readonly isMisplaced: boolean };

interface Seen extends Found {
  updateId: number;
  isPrivate: boolean;
  text: string;
}

const DIGITS = 8;
/** The text that an app sends when somebody opens a bot, or one of its links with a parameter. */
const START = /^\/start(?:@\w+)?\s*/;

/** A code that a stranger does not guess: of the hundred waiting updates that are read, one in a million sets hits. */
export function randomCode(): string {
  return String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0');
}

/**
 * Looks for the code in the right kind of chat. A stranger is whoever wrote something else that is not `older`, and
 * `isFirst` says that no message of anybody else waits before the code. Pure; updates of any shape are taken.
 */
export function sightCode(
  updates: readonly unknown[],
  code: string,
  place: Place,
  older: ReadonlySet<unknown> = new Set(),
): Sighting {
  const seen = updates.flatMap(seenIn);
  const right = (each: Seen) => codeIn(each.text) === code;
  const fits = (each: Seen) => each.isPrivate === (place === 'private');
  const found = seen.find((each) => right(each) && fits(each));
  if (found === undefined) {
    const isNew = ({ updateId }: Seen) => !older.has(updateId);
    const strangers = seen.filter((each) => isNew(each) && each.isPrivate && !right(each) && codeIn(each.text) !== '');
    return {
      kind: 'none',
      strangers: [...new Set(strangers.map(({ chatId }) => chatId))],
      isMisplaced: seen.some(right),
    };
  }
  const isHello = (each: Seen) => each.chatId === found.chatId && ['', code].includes(codeIn(each.text));
  const before = seen.filter(({ updateId }) => updateId < found.updateId);
  const isFirst = before.every(isHello) && before.length === updates.findIndex((each) => idOf(each) === found.updateId);
  const { chatId, updateId, language } = found;
  return { kind: 'found', chatId, updateId, isFirst, language };
}

function seenIn(update: unknown): Seen[] {
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

/** A text without the command of a link and without the gaps that people type. */
function codeIn(text: string): string {
  return text.replace(START, '').replace(/[\s-]/g, '');
}
