import type { TelegramCall } from './calls.ts';
import type { ChatType, Membership, ShownMessage } from './chats.ts';
import type { DraftState } from './drafts.ts';
import type { Failure, Outage } from './failures.ts';
import type { ChatEvent } from './history.ts';
import type { EditOptions, SayOptions } from './inbound.ts';
import type { MenuItem } from './menus.ts';
import type { Params } from './params.ts';
import type { QueryAnswer } from './queries.ts';

/** How a server and its bot differ from the usual. */
export interface TelegramOptions {
  port?: number;
  token?: string;
  /**
   * Whether the bot sees of a group only what is meant for it. Default: on, as for every new bot. A bot with it off gets
   * every message.
   */
  privacy?: 'on' | 'off';
  /** Whether its owner lets people call it in chats that it is not part of. Default: on. */
  guests?: 'on' | 'off';
  /** How old the server is: methods and parameters that came later are unknown to it. Default: the newest. */
  apiVersion?: string;
  /** Whether a bot that is too fast gets 429, or the clock by which it does. Default: no. */
  floods?: boolean | (() => number);
  /** The id of the first update. Default: the same each time. */
  firstUpdateId?: number;
  /** How long a draft is shown after its last change. Default: 30 seconds, as in the apps. */
  draftLifeMs?: number;
}

/** A running Telegram stand-in. */
export interface TelegramStandIn {
  /** The API root, as `TELEGRAM_API_ROOT` takes it. */
  readonly url: string;
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
  /**
   * A user writes: makes the chat (and topic) known, and answers the update's id. 0 for a message that does not reach the
   * bot, because of its privacy mode or because it is not there.
   */
  say(chatId: number, text: string, options?: SayOptions): number;
  /**
   * A user edits a message; also what changes of it without their doing comes like that. Answers as `say`. Throws where
   * nobody wrote that message.
   */
  edit(chatId: number, messageId: number, text: string, options?: EditOptions): number;
  /** Makes a chat known without a message in it, such as the operator's. */
  openChat(chatId: number, type?: ChatType): void;
  /** Somebody adds, promotes, removes or blocks the bot: it is told (`my_chat_member`). Answers the update's id. */
  setMembership(chatId: number, membership: Membership, fromId?: number): number;
  /** A group becomes a supergroup, whose id is answered: both chats get a service message, and the old one takes no more. */
  migrate(chatId: number): number;
  /** Somebody deletes a topic. */
  deleteTopic(chatId: number, topicId: number): void;
  /**
   * Somebody presses the button with that data under a message; answers the query's id. Throws where no such button can
   * be pressed.
   */
  press(chatId: number, messageId: number, data: string, fromId?: number): string;
  /** Makes every press too old that the bot has not answered. */
  expirePresses(): void;
  /**
   * Somebody calls the bot in a chat that it is not part of. Such a chat is known by `shownAbroad` alone, even where the
   * bot is in another one with that id. Answers the update's id.
   */
  summon(fromId: number, chatId: number, text: string, options?: SayOptions): number;
  /** Makes every such call too old that the bot has not answered. */
  expireSummonses(): void;
  /** The bot's messages in a chat that it is not part of. */
  shownAbroad(chatId: number): ShownMessage[];
  /** The first of them that holds the text. Rejects with what is shown. */
  waitAbroad(chatId: number, text: string): Promise<ShownMessage>;
  /** Somebody deletes them. */
  clearAbroad(chatId: number): void;
  /** Every state of every draft in a chat, oldest first. */
  drafts(chatId: number): DraftState[];
  /** The draft that is shown now. */
  draft(chatId: number, topicId?: number): DraftState | undefined;
  /** Somebody presses "stop" on the draft. Answers the update's id, 0 where there is no such button. */
  pressStop(chatId: number, topicId?: number): number;
  /** The menus of commands, by scope and language: `default/`, `all_private_chats/en`, `chat:-5/zh`. */
  menus(): Record<string, MenuItem[]>;
  /** Stores a file that a user "sent", and answers its file_id. `statedBytes` makes it pose as a larger one. */
  addFile(bytes: Buffer, path?: string, statedBytes?: number): string;
  /** Adds a raw update; its update_id is given when absent. Answers the id. */
  push(update: object): number;
  /** Puts an update back, with its id, although it was confirmed. */
  redeliver(updateId: number): void;
  /** The bot's messages in a chat as a user sees them now, in one topic of it when that is given. */
  shown(chatId: number, topicId?: number): ShownMessage[];
  /** All that happened in a chat, as its people saw it: what was said, sent, changed, deleted and pressed, oldest first. */
  history(chatId: number): readonly ChatEvent[];
  /** The highest update id that was confirmed, 0 when none was. */
  confirmedUpTo(): number;
  /** How many updates are not confirmed. */
  pending(): number;
  /** Lets the next `times` (default 1) matching calls of a method (`*`: of any) fail. */
  fail(method: string, failure: Failure, times?: number, match?: (params: Params) => boolean): void;
  /** Ends all planned failures. */
  heal(): void;
  /** Telegram is away, for all methods, until it comes back. */
  goAway(how: Outage): Promise<void>;
  /** Ends that; calls that hang are cut. */
  comeBack(): Promise<void>;
  /** The first message shown in a chat that matches. Rejects with what is shown. Default 5 s. */
  waitForText(chatId: number, match: RegExp | ((text: string) => boolean), timeoutMs?: number): Promise<ShownMessage>;
  /** The first state of a draft in a chat that matches. Rejects with what was shown. Default 5 s. */
  waitForDraft(chatId: number, match: (draft: DraftState) => boolean, timeoutMs?: number): Promise<DraftState>;
  /** The first call that matches, at its arrival or its end. Rejects with what was called. Default 5 s. */
  waitForCall(match: (call: TelegramCall) => boolean, timeoutMs?: number): Promise<TelegramCall>;
  /** Calls the listener after each call that has ended. */
  onAnswer(listener: (call: TelegramCall) => void): void;
  /** Resolves once that update, or a later one, was confirmed. Default 5 s. */
  waitForConfirmed(updateId: number, timeoutMs?: number): Promise<void>;
  /** Cuts every open connection and stops. */
  close(): Promise<void>;
}
