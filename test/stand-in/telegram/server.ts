/**
 * A strict stand-in for a Bot API server, for tests and the demo: the real rules about offsets, texts, edits, drafts,
 * buttons and groups, the real errors, and a ledger of every call. Failures come only when a test plans them.
 */
import { createServer } from 'node:http';
import { closeServer, listen } from '../loopback.ts';
import { listed, News } from '../news.ts';
import { Calls, describe, type TelegramCall } from './calls.ts';
import { Chats, type ChatType, type Membership, type ShownMessage } from './chats.ts';
import { type DraftState, Drafts } from './drafts.ts';
import { type Failure, OUTAGE_FAILURES, type Outage } from './failures.ts';
import { Files } from './files.ts';
import { Floods } from './floods.ts';
import {
  changeMembership,
  editedMessage,
  press,
  type SayOptions,
  serviceMessage,
  stopDraft,
  userMessage,
} from './inbound.ts';
import type { MenuItem } from './methods.ts';
import type { Params } from './params.ts';
import { Presses, type QueryAnswer, Summonses } from './queries.ts';
import { UpdateQueue } from './updates.ts';
import { Webhook } from './webhook.ts';

export type { TelegramCall } from './calls.ts';

/** A wait ends with what it waited for; this is for one that never comes, on a machine that does much else. */
const WAIT_MS = 30_000;
const BOT_ID = 7_000_001;
const FIRST_UPDATE_ID = 500_001;

/** How a server and its bot differ from the usual. */
export interface TelegramOptions {
  port?: number;
  token?: string;
  /** Whether the bot sees of a group only what is meant for it. Default: on, as for every new bot. */
  privacy?: 'on' | 'off';
  /** Whether its owner lets people call it in chats that it is not part of. Default: on. */
  guests?: 'on' | 'off';
  /** How old the server is: methods and entities that came later are unknown to it. Default: the newest. */
  apiVersion?: number;
  /** Whether a bot that is too fast gets 429, or the clock by which it does. Default: no. */
  floods?: boolean | (() => number);
  /** The id of the first update. Default: the same each time. */
  firstUpdateId?: number;
}

/** The state of a bot and its chats, on which the methods work. */
export type Desk = ReturnType<typeof createDesk>;

/** The desk of a new bot. Calls `onDelivery` after each delivery to its webhook. */
function createDesk(options: TelegramOptions, onDelivery: () => void) {
  const { token, firstUpdateId = FIRST_UPDATE_ID, apiVersion = Number.POSITIVE_INFINITY, floods } = options;
  const id = token === undefined ? BOT_ID : Number(token.split(':')[0]);
  const updates = new UpdateQueue(firstUpdateId);
  return {
    bot: { id, is_bot: true, first_name: 'Spillway', username: 'spillway_stand_in_bot' },
    /** Whether the server is of that version of the Bot API, or of a later one. */
    knows: (version: number) => version <= apiVersion,
    /** Whether only what is meant for the bot reaches it in groups. */
    hasPrivacy: options.privacy !== 'off',
    /** Whether people may call it in chats that it is not part of. */
    isGuest: options.guests !== 'off',
    chats: new Chats(),
    drafts: new Drafts(),
    /** Their ids are large, as the real ones are. */
    presses: new Presses(4_382_000_000_001n),
    summonses: new Summonses(91_700_000_001n),
    /** The lists of commands, by scope and language: `all_private_chats/en`. */
    menus: new Map<string, MenuItem[]>(),
    files: new Files(),
    updates,
    webhook: new Webhook(updates, onDelivery),
    /** Set where too many calls are refused. */
    floods: floods ? new Floods(floods === true ? Date.now : floods) : undefined,
  };
}

/** A running Telegram stand-in. */
export type TelegramStandIn = Pick<TelegramServer, keyof TelegramServer>;

class TelegramServer {
  /** The API root, as `TELEGRAM_API_ROOT` takes it. */
  url = '';
  readonly token: string;
  readonly botId: number;
  /** The bot's name, without the @. */
  readonly username: string;
  /** Every call with the right token, in the order of arrival. */
  readonly calls: readonly TelegramCall[];
  /** Every delivery to a webhook that was tried, with its status (0: none came). */
  readonly deliveries: readonly { updateId: number; status: number }[];
  /** How the bot answered presses of buttons. */
  readonly answers: readonly QueryAnswer[];
  /** Makes a chat known without a message in it, such as the operator's. */
  readonly openChat = (chatId: number, type?: ChatType) => void this.#desk.chats.open(chatId, type);
  /** Somebody deletes a topic. */
  readonly deleteTopic = (chatId: number, topicId: number) => void this.#desk.chats.open(chatId).topics.delete(topicId);
  /** Makes every summons too old that the bot has not answered. */
  readonly expireSummonses = () => this.#desk.summonses.expire();
  /** The bot's messages in a chat that it is not part of. */
  readonly shownAbroad = (chatId: number) => this.#desk.summonses.chats.shown(chatId);
  /** Somebody deletes the bot's messages there. */
  readonly clearAbroad = (chatId: number) => this.#desk.summonses.clear(chatId);
  /** Every state of every draft in a chat, oldest first. */
  readonly drafts = (chatId: number) => this.#desk.drafts.all(chatId);
  /** The menus of commands, by scope and language: `default/`, `all_private_chats/en`, `chat:-5/zh`. */
  readonly menus = () => Object.fromEntries(this.#desk.menus);
  /** Stores a file that a user "sent", and answers its file_id. `statedBytes` makes it pose as a larger one. */
  readonly addFile = (bytes: Buffer, path?: string, statedBytes?: number) =>
    this.#desk.files.add(bytes, path, statedBytes);
  /** Adds a raw update; its update_id is given when absent. Answers the id, 0 where there is no update. */
  readonly push = (update: object | undefined) => (update === undefined ? 0 : this.#desk.updates.push(update));
  /** Puts an update back, with its id, although it was confirmed. */
  readonly redeliver = (updateId: number) => this.#desk.updates.redeliver(updateId);
  /** The bot's messages in a chat as a user sees them now, in one topic of it when that is given. */
  readonly shown = (chatId: number, topicId?: number) => this.#desk.chats.shown(chatId, topicId);
  /** All that happened in a chat, as its people saw it: what was said, sent, changed, deleted and pressed, oldest first. */
  readonly history = (chatId: number) => this.#desk.chats.history(chatId);
  /** The highest update id that was confirmed, 0 when none was. */
  readonly confirmedUpTo = () => this.#desk.updates.confirmedUpTo();
  /** How many updates are not confirmed. */
  readonly pending = () => this.#desk.updates.pending();
  /** Ends all planned failures. */
  readonly heal = () => this.#calls.failures.clear();
  /** Calls the listener after each call that has ended. */
  readonly onAnswer = (listener: (call: TelegramCall) => void) => this.#calls.onAnswer(listener);
  readonly #news = new News();
  readonly #desk: Desk;
  readonly #calls: Calls;
  readonly #server;

  constructor(options: TelegramOptions) {
    this.#desk = createDesk(options, () => this.#news.tell());
    const { bot, webhook, presses } = this.#desk;
    this.botId = bot.id;
    this.username = bot.username;
    this.token = options.token ?? `${bot.id}:stand-in`;
    this.deliveries = webhook.deliveries;
    this.answers = presses.answers;
    this.#calls = new Calls(this.token, this.#desk, () => this.#news.tell());
    this.calls = this.#calls.list;
    this.#server = createServer((request, response) => {
      this.#calls.route(request, response).catch((error) => response.destroy(error));
    });
  }

  async start(port?: number): Promise<this> {
    this.url = await listen(this.#server, port);
    return this;
  }

  /** A user writes, which makes the chat and topic known. Answers the update's id, 0 where it does not reach the bot. */
  say(chatId: number, text: string, options: SayOptions = {}): number {
    return this.push(userMessage(this.#desk.chats, chatId, text, options, this.#desk));
  }

  /** A user edits a message; `extra` are its further fields then. Answers as `say`. Throws where nobody wrote that message. */
  edit(chatId: number, messageId: number, text: string, { extra = {} }: Pick<SayOptions, 'extra'> = {}): number {
    return this.push(editedMessage(this.#desk.chats.open(chatId), messageId, text, extra, this.#desk));
  }

  /** Somebody adds, promotes, removes or blocks the bot: it is told (`my_chat_member`). Answers the update's id. */
  setMembership(chatId: number, membership: Membership, fromId = chatId > 0 ? chatId : 1): number {
    return this.push(changeMembership(this.#desk, this.#desk.chats.open(chatId), membership, fromId));
  }

  /** A group becomes a supergroup, whose id is answered: both chats get a service message, and the old one takes no more. */
  migrate(chatId: number): number {
    const { from, to } = this.#desk.chats.migrate(chatId);
    this.push(serviceMessage(this.#desk, from, { migrate_to_chat_id: to.id }));
    this.push(serviceMessage(this.#desk, to, { migrate_from_chat_id: from.id }));
    return to.id;
  }

  /** Somebody presses the button with that data; answers the query's id. Throws where no such button can be pressed. */
  press(chatId: number, messageId: number, data: string, fromId = chatId > 0 ? chatId : 1): string {
    const { queryId, update } = press(this.#desk, this.#desk.chats.open(chatId), messageId, data, fromId);
    this.push(update);
    return queryId;
  }

  /** Somebody calls the bot in a chat that it is not part of, and that `shownAbroad` alone knows. Answers the update's id. */
  summon(fromId: number, chatId: number, text: string, options: SayOptions = {}): number {
    const { summonses } = this.#desk;
    const reader = { ...this.#desk, hasPrivacy: false };
    const said = userMessage(summonses.chats, chatId, text, { ...options, fromId }, reader);
    return this.push({ guest_message: { ...said?.message, guest_query_id: summonses.open(chatId) } });
  }

  /** The bot's first message there that holds the text. Rejects with what is shown. */
  waitAbroad(chatId: number, text: string): Promise<ShownMessage> {
    const isIt = (shown: ShownMessage) => shown.text.includes(text);
    return this.#first(() => this.shownAbroad(chatId), isIt, `"${text}" abroad`, textOf);
  }

  /** Somebody presses "stop" on the draft. Answers the update's id, 0 where there is no such button. */
  pressStop(chatId: number, topicId?: number): number {
    return this.push(stopDraft(this.#desk, this.#desk.chats.open(chatId), topicId));
  }

  /** Lets the next `times` (default 1) matching calls of a method (`*`: of any) fail. */
  fail(method: string, failure: Failure, times = 1, match?: (params: Params) => boolean): void {
    this.#calls.failures.plan(method, failure, times, match);
  }

  /** Telegram is away, for all methods, until it comes back. */
  async goAway(how: Outage): Promise<void> {
    if (how === 'refused') await closeServer(this.#server);
    else this.#calls.failures.always = OUTAGE_FAILURES[how];
  }

  /** Telegram is back; calls that hang are cut, as a proxy cuts them that begins anew. */
  async comeBack(): Promise<void> {
    this.#calls.failures.always = undefined;
    this.#server.closeAllConnections();
    if (!this.#server.listening) await listen(this.#server, Number(new URL(this.url).port));
  }

  /** The first message shown in a chat that matches. Rejects with what is shown. */
  waitForText(chatId: number, match: RegExp | ((text: string) => boolean), timeoutMs?: number): Promise<ShownMessage> {
    const matches = typeof match === 'function' ? match : (text: string) => new RegExp(match).test(text);
    const wanted = `message in chat ${chatId} that matches ${match}`;
    return this.#first(
      () => this.shown(chatId),
      ({ text }) => matches(text),
      wanted,
      textOf,
      timeoutMs,
    );
  }

  /** The first state of a draft in a chat that matches. Rejects with what was shown. */
  waitForDraft(chatId: number, match: (draft: DraftState) => boolean, timeoutMs?: number): Promise<DraftState> {
    return this.#first(() => this.drafts(chatId), match, `matching draft in chat ${chatId}`, textOf, timeoutMs);
  }

  /** The first call that matches, at its arrival or its end. Rejects with what was called. */
  waitForCall(match: (call: TelegramCall) => boolean, timeoutMs?: number): Promise<TelegramCall> {
    return this.#first(() => this.calls, match, 'matching call to Telegram', describe, timeoutMs);
  }

  /** Resolves once that update, or a later one, was confirmed. */
  async waitForConfirmed(updateId: number, timeoutMs?: number): Promise<void> {
    const confirmed = () => [this.confirmedUpTo()];
    await this.#first(confirmed, (id) => id >= updateId, `confirmation of update ${updateId}`, String, timeoutMs);
  }

  #first<Item>(
    list: () => readonly Item[],
    match: (item: Item) => boolean,
    wanted: string,
    seen: (item: Item) => string,
    timeoutMs = WAIT_MS,
  ): Promise<Item> {
    return this.#news.until(
      () => list().find(match),
      timeoutMs,
      wanted,
      () => listed(list().map(seen)),
    );
  }

  /** Cuts every open connection and stops. */
  async close(): Promise<void> {
    this.#desk.webhook.stop();
    await closeServer(this.#server);
    this.#news.end();
  }
}

const textOf = ({ text }: { text: string }): string => JSON.stringify(text.slice(0, 200));

/** Starts a Telegram stand-in on loopback. Every test closes its own. */
export function startTelegram(options: TelegramOptions = {}): Promise<TelegramStandIn> {
  return new TelegramServer(options).start(options.port);
}
