import { randomInt } from 'node:crypto';
import { isFields } from '../shared/base/fields.ts';

/** Where a code is expected: in the private chat of a person, or in a group. */
export type Place = 'private' | 'group';

/** What a look at the waiting updates shows. */
export type Sighting =
  | { readonly kind: 'found'; readonly chatId: number; readonly updateId: number; readonly isFirst: boolean }
  | { readonly kind: 'none'; readonly strangers: readonly number[]; readonly isMisplaced: boolean };

interface Seen {
  updateId: number;
  chatId: number;
  isPrivate: boolean;
  text: string;
}

const DIGITS = 8;
/** What an app sends when somebody opens a bot, or one of its links with a parameter. */
const START = /^\/start(?:@\w+)?\s*/;

/** A code that a stranger does not guess: of the hundred waiting updates that are read, one in a million sets hits. */
export function randomCode(): string {
  return String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0');
}

/**
 * Looks for the code in the right kind of chat. A stranger is whoever wrote something else, and `isFirst` says that no
 * message of anybody else waits before the code. Pure; updates of any shape are taken.
 */
export function sightCode(updates: readonly unknown[], code: string, place: Place): Sighting {
  const seen = updates.flatMap(seenIn);
  const right = (each: Seen) => codeIn(each.text) === code;
  const fits = (each: Seen) => each.isPrivate === (place === 'private');
  const found = seen.find((each) => right(each) && fits(each));
  if (found === undefined) {
    const strangers = seen.filter((each) => each.isPrivate && !right(each) && codeIn(each.text) !== '');
    return {
      kind: 'none',
      strangers: [...new Set(strangers.map(({ chatId }) => chatId))],
      isMisplaced: seen.some(right),
    };
  }
  const isHello = (each: Seen) => each.chatId === found.chatId && ['', code].includes(codeIn(each.text));
  const before = seen.filter(({ updateId }) => updateId < found.updateId);
  const isFirst = before.every(isHello) && before.length === updates.findIndex((each) => idOf(each) === found.updateId);
  return { kind: 'found', chatId: found.chatId, updateId: found.updateId, isFirst };
}

function seenIn(update: unknown): Seen[] {
  const updateId = idOf(update);
  const message = isFields(update) ? update.message : undefined;
  if (updateId === undefined || !isFields(message) || !isFields(message.chat)) return [];
  const { id: chatId, type } = message.chat;
  if (typeof chatId !== 'number' || typeof message.text !== 'string') return [];
  return [{ updateId, chatId, isPrivate: type === 'private', text: message.text }];
}

function idOf(update: unknown): number | undefined {
  const id = isFields(update) ? update.update_id : undefined;
  return typeof id === 'number' ? id : undefined;
}

/** A text without the command of a link and without the gaps that people type. */
function codeIn(text: string): string {
  return text.replace(START, '').replace(/[\s-]/g, '');
}
