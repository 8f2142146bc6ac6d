/** The lists of commands that people's apps offer, one for each scope and language. */
import type { Chats } from './chats.ts';
import { FieldError, integerField, objectOf, reading, textField } from './fields.ts';
import { asInteger, asJson, asText, type Params } from './params.ts';
import { badRequest } from './refusal.ts';

/** One command of a menu. */
export interface MenuItem {
  command: string;
  description: string;
}

/** Who sees a menu. Without a scope: everybody for whom there is no narrower one. */
export interface MenuScope {
  type: string;
  chat_id?: number | string;
  user_id?: number | string;
}

const COMMANDS_MAX = 100;
const COMMAND_CHARS_MAX = 32;
const DESCRIPTION_CHARS_MAX = 256;
const WIDE = new Set(['default', 'all_private_chats', 'all_group_chats', 'all_chat_administrators']);
const OF_CHATS = new Set(['chat', 'chat_administrators', 'chat_member']);

/** The menus of a bot. */
export class Menus {
  readonly #lists = new Map<string, MenuItem[]>();

  /** Every menu, by scope and language: `all_private_chats/en`. */
  all(): Record<string, MenuItem[]> {
    return Object.fromEntries(this.#lists);
  }

  /** Sets a menu; an empty one is none. */
  set(scope: MenuScope, language: string, items: MenuItem[]): void {
    if (items.length === 0) this.#lists.delete(keyOf(scope, language));
    else this.#lists.set(keyOf(scope, language), items);
  }
}

const keyOf = ({ type, chat_id, user_id }: MenuScope, language: string): string =>
  `${[type, chat_id, user_id].filter((part) => part !== undefined).join(':')}/${language}`;

/** The scope and language in a method's parameters. */
export function menuOf(params: Params, chats: Chats): { scope: MenuScope; language: string } {
  const language = asText(params.language_code) ?? '';
  const sent = params.scope === undefined || params.scope === '' ? { type: 'default' } : asJson(params.scope);
  if (sent === undefined) throw badRequest("can't parse BotCommandScope JSON object");
  const scope = reading("can't parse BotCommandScope", () => readScope(sent));
  if (scope.chat_id !== undefined) chats.find(asInteger(scope.chat_id));
  if (!/^(?:[a-z]{2})?$/.test(language)) throw badRequest('invalid language code specified');
  return { scope, language };
}

function readScope(sent: unknown): MenuScope {
  const object = objectOf(sent);
  const type = textField(object, 'type');
  if (WIDE.has(type)) return { type };
  if (!OF_CHATS.has(type)) throw new FieldError('Unsupported type specified');
  const scope = { type, chat_id: textField(object, 'chat_id') };
  return type === 'chat_member' ? { ...scope, user_id: integerField(object, 'user_id') } : scope;
}

/** The commands in a method's parameters. */
export function readItems(sent: unknown): MenuItem[] {
  const list = sent === undefined || sent === '' ? [] : asJson(sent);
  if (list === undefined) throw badRequest("can't parse commands JSON object");
  if (!Array.isArray(list)) throw badRequest('expected an Array of BotCommand');
  const items = list.map((item) => reading("can't parse BotCommand", () => readItem(item))).map(checked);
  if (items.length > COMMANDS_MAX) throw badRequest('BOT_COMMANDS_TOO_MUCH');
  return items;
}

function readItem(sent: unknown): MenuItem {
  const object = objectOf(sent);
  return { command: textField(object, 'command'), description: textField(object, 'description') };
}

function checked(item: MenuItem): MenuItem {
  const command = item.command.trim().replace(/^\//, '');
  const description = item.description.trim();
  if (command === '') throw badRequest('command must be non-empty');
  if ([...command].length > COMMAND_CHARS_MAX) throw badRequest(`command length must not exceed ${COMMAND_CHARS_MAX}`);
  if (description === '') throw badRequest('command description must be non-empty');
  if ([...description].length > DESCRIPTION_CHARS_MAX) {
    throw badRequest(`command description length must not exceed ${DESCRIPTION_CHARS_MAX}`);
  }
  if (!/^[a-z0-9_]+$/.test(command)) throw badRequest('BOT_COMMAND_INVALID');
  return { command, description };
}
