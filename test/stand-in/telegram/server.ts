/**
 * A strict stand-in for a Bot API server, for tests and the demo: the real rules about offsets, texts, edits, drafts,
 * buttons and groups, the real errors, and a ledger of every call. Failures come only when a test plans them.
 */
import { createServer } from 'node:http';
import { closeServer, listen } from '../loopback.ts';
import { listed, News } from '../news.ts';
import { Calls, describe, type TelegramCall } from './calls.ts';
import { Chats, type ChatType, type Membership, type ShownMessage } from './chats.ts';
import type { Desk } from './desk.ts';
import { type DraftState, Drafts } from './drafts.ts';
import { type Failure, OUTAGE_FAILURES, type Outage } from './failures.ts';
import { Files } from './files.ts';
import { Floods } from './floods.ts';
import type { ChatEvent } from './history.ts';
import { type EditOptions, editedMessage, type SayOptions, userMessage } from './inbound.ts';
import { type MenuItem, Menus } from './menus.ts';
import type { Params } from './params.ts';
import { changeMembership, press, serviceMessage, stopDraft } from './people.ts';
import { Queries } from './queries.ts';
import type { TelegramOptions, TelegramStandIn } from './stand-in.ts';
import { Summonses } from './summonses.ts';
import { UpdateQueue } from './updates.ts';
import { ApiVersion, NEWEST } from './versions.ts';
import { Webhook } from './webhook.ts';

export type { TelegramCall } from './calls.ts';
export type { TelegramOptions, TelegramStandIn } from './stand-in.ts';

/** A wait ends with what it waited for; this is for one that never comes, on a machine that does much else. */
const WAIT_MS = 30_000;
const BOT_ID = 7_000_001;
const FIRST_UPDATE_ID = 500_001;
const DRAFT_LIFE_MS = 30_000;

class TelegramServer implements TelegramStandIn {
  url = '';
  readonly token: string;
  readonly botId: number;
  readonly username = 'spillway_stand_in_bot';
  readonly calls: readonly TelegramCall[];
  readonly deliveries;
  readonly answers;
  readonly #news = new News();
  readonly #desk: Desk;
  readonly #calls: Calls;
  readonly #server;

  constructor(options: TelegramOptions) {
    this.token = options.token ?? `${BOT_ID}:stand-in`;
    this.botId = Number(this.token.split(':')[0]);
    const updates = new UpdateQueue(options.firstUpdateId ?? FIRST_UPDATE_ID);
    this.#desk = {
      bot: { id: this.botId, is_bot: true, first_name: 'Spillway', username: this.username },
      version: new ApiVersion(options.apiVersion ?? NEWEST),
      hasPrivacy: options.privacy !== 'off',
      chats: new Chats(),
      drafts: new Drafts(options.draftLifeMs ?? DRAFT_LIFE_MS),
      queries: new Queries(),
      summonses: new Summonses(),
      isGuest: options.guests !== 'off',
      menus: new Menus(),
      files: new Files(),
      updates,
      webhook: new Webhook(updates, () => this.#news.tell()),
      floods: options.floods ? new Floods(options.floods === true ? undefined : options.floods) : undefined,
    };
    this.deliveries = this.#desk.webhook.deliveries;
    this.answers = this.#desk.queries.answers;
    this.#calls = new Calls(this.token, this.#desk, () => this.#news.tell());
    this.calls = this.#calls.list;
    this.#server = createServer((request, response) => {
      this.#calls.route(request, response).catch((error) => response.destroy(error));
    });
  }

  async start(port: number | undefined): Promise<this> {
    this.url = await listen(this.#server, port);
    return this;
  }

  say(chatId: number, text: string, options: SayOptions = {}): number {
    const update = userMessage(this.#desk.chats, chatId, text, options, this.#desk);
    return update === undefined ? 0 : this.push(update);
  }

  edit(chatId: number, messageId: number, text: string, options: EditOptions = {}): number {
    const update = editedMessage(this.#desk.chats.open(chatId), messageId, text, options, this.#desk);
    return update === undefined ? 0 : this.push(update);
  }

  openChat(chatId: number, type?: ChatType): void {
    this.#desk.chats.open(chatId, type);
  }

  setMembership(chatId: number, membership: Membership, fromId = chatId > 0 ? chatId : 1): number {
    return this.push(changeMembership(this.#desk, this.#desk.chats.open(chatId), membership, fromId));
  }

  migrate(chatId: number): number {
    const { from, to } = this.#desk.chats.migrate(chatId);
    this.push(serviceMessage(this.#desk, from, { migrate_to_chat_id: to.id }));
    this.push(serviceMessage(this.#desk, to, { migrate_from_chat_id: from.id }));
    return to.id;
  }

  deleteTopic(chatId: number, topicId: number): void {
    this.#desk.chats.open(chatId).topics.delete(topicId);
  }

  press(chatId: number, messageId: number, data: string, fromId = chatId > 0 ? chatId : 1): string {
    const { queryId, update } = press(this.#desk, this.#desk.chats.open(chatId), messageId, data, fromId);
    this.push(update);
    return queryId;
  }

  expirePresses(): void {
    this.#desk.queries.expire();
  }

  summon(fromId: number, chatId: number, text: string, options: SayOptions = {}): number {
    return this.push(this.#desk.summonses.summon(fromId, chatId, text, options, this.#desk));
  }

  expireSummonses(): void {
    this.#desk.summonses.expire();
  }

  clearAbroad(chatId: number): void {
    this.#desk.summonses.clear(chatId);
  }

  shownAbroad(chatId: number): ShownMessage[] {
    return this.#desk.summonses.chats.shown(chatId);
  }

  waitAbroad(chatId: number, text: string): Promise<ShownMessage> {
    const shown = () => this.shownAbroad(chatId);
    const seen = () => listed(shown().map((message) => JSON.stringify(message.text.slice(0, 200))));
    return this.#news.until(() => shown().find((each) => each.text.includes(text)), WAIT_MS, `"${text}" abroad`, seen);
  }

  drafts(chatId: number): DraftState[] {
    return this.#desk.drafts.all(chatId);
  }

  draft(chatId: number, topicId?: number): DraftState | undefined {
    return this.#desk.drafts.visible(chatId, topicId);
  }

  pressStop(chatId: number, topicId?: number): number {
    const update = stopDraft(this.#desk, this.#desk.chats.open(chatId), topicId);
    return update === undefined ? 0 : this.push(update);
  }

  menus(): Record<string, MenuItem[]> {
    return this.#desk.menus.all();
  }

  addFile(bytes: Buffer, path?: string, statedBytes?: number): string {
    return this.#desk.files.add(bytes, path, statedBytes);
  }

  push(update: object): number {
    return this.#desk.updates.push(update);
  }

  redeliver(updateId: number): void {
    this.#desk.updates.redeliver(updateId);
  }

  shown(chatId: number, topicId?: number): ShownMessage[] {
    return this.#desk.chats.shown(chatId, topicId);
  }

  history(chatId: number): readonly ChatEvent[] {
    return this.#desk.chats.history(chatId);
  }

  confirmedUpTo(): number {
    return this.#desk.updates.confirmedUpTo();
  }

  pending(): number {
    return this.#desk.updates.pending();
  }

  fail(method: string, failure: Failure, times = 1, match?: (params: Params) => boolean): void {
    this.#calls.failures.plan(method, failure, times, match);
  }

  heal(): void {
    this.#calls.failures.clear();
  }

  async goAway(how: Outage): Promise<void> {
    if (how === 'refused') await closeServer(this.#server);
    else this.#calls.failures.always = OUTAGE_FAILURES[how];
  }

  async comeBack(): Promise<void> {
    this.#calls.failures.always = undefined;
    // What hangs is cut, as a proxy cuts it that begins anew.
    this.#server.closeAllConnections();
    if (!this.#server.listening) await listen(this.#server, Number(new URL(this.url).port));
  }

  waitForText(chatId: number, match: RegExp | ((text: string) => boolean), timeoutMs = WAIT_MS): Promise<ShownMessage> {
    const matches = typeof match === 'function' ? match : (text: string) => new RegExp(match).test(text);
    return this.#news.until(
      () => this.shown(chatId).find(({ text }) => matches(text)),
      timeoutMs,
      `message in chat ${chatId} that matches ${match}`,
      () =>
        listed(this.shown(chatId).map(({ messageId, text }) => `#${messageId} ${JSON.stringify(text.slice(0, 200))}`)),
    );
  }

  waitForDraft(chatId: number, match: (draft: DraftState) => boolean, timeoutMs = WAIT_MS): Promise<DraftState> {
    const seen = (): string =>
      listed(this.drafts(chatId).map(({ draftId, text }) => `#${draftId} ${JSON.stringify(text.slice(0, 200))}`));
    return this.#news.until(() => this.drafts(chatId).find(match), timeoutMs, `matching draft in chat ${chatId}`, seen);
  }

  waitForCall(match: (call: TelegramCall) => boolean, timeoutMs = WAIT_MS): Promise<TelegramCall> {
    const seen = (): string => listed(this.calls.map(describe));
    return this.#news.until(() => this.calls.find(match), timeoutMs, 'matching call to Telegram', seen);
  }

  onAnswer(listener: (call: TelegramCall) => void): void {
    this.#calls.onAnswer(listener);
  }

  async waitForConfirmed(updateId: number, timeoutMs = WAIT_MS): Promise<void> {
    await this.#news.until(
      () => (this.confirmedUpTo() >= updateId ? true : undefined),
      timeoutMs,
      `confirmation of update ${updateId}`,
      () => `confirmed up to ${this.confirmedUpTo()}, ${this.pending()} pending`,
    );
  }

  async close(): Promise<void> {
    this.#desk.webhook.stop();
    await closeServer(this.#server);
    this.#news.end();
  }
}

/** Starts a Telegram stand-in on loopback. Every test closes its own. */
export function startTelegram(options: TelegramOptions = {}): Promise<TelegramStandIn> {
  return new TelegramServer(options).start(options.port);
}
