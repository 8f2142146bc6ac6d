/**
 * A strict stand-in for a Bot API server, for tests and the demo: the real rules about offsets, texts and edits, the
 * real errors, and a ledger of every call. Failures come only when a test plans them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeServer, listen, readBody, sendJson } from '../loopback.ts';
import { listed, News } from '../news.ts';
import { Chats, type ChatType, type ShownMessage } from './chats.ts';
import { type Failure, Failures } from './failures.ts';
import { Files } from './files.ts';
import { type SayOptions, userMessage } from './inbound.ts';
import { type Desk, methodNamed } from './methods.ts';
import { type Params, readParams } from './params.ts';
import { type Refusal, RefusedError } from './refusal.ts';
import { UpdateQueue } from './updates.ts';
import { Webhook } from './webhook.ts';

/** One call of a method, kept from its arrival on; `ok`, `status` and `messageId` are filled in by its answer. */
export interface TelegramCall {
  at: number;
  method: string;
  params: Params;
  ok: boolean;
  /** The HTTP status, 0 as long as none was sent, or when it was lost. */
  status: number;
  /** The message that was sent or changed, also when the answer got lost. */
  messageId?: number;
  /** What the API said where it refused. */
  description?: string;
  /** When the answer was sent, or lost, or the caller went away. */
  endedAt?: number;
}

/** A running Telegram stand-in. */
export interface TelegramStandIn {
  /** The API root, as `TELEGRAM_API_ROOT` takes it. */
  readonly url: string;
  readonly token: string;
  readonly botId: number;
  /** Every call with the right token, in the order of arrival. */
  readonly calls: readonly TelegramCall[];
  /** Every delivery to a webhook that was tried, with its status (0: none came). */
  readonly deliveries: readonly { updateId: number; status: number }[];
  /** A user writes: makes the chat (and topic) known, and answers the update's id. */
  say(chatId: number, text: string, options?: SayOptions): number;
  /** Makes a chat known without a message in it, such as the operator's. */
  openChat(chatId: number, type?: ChatType): void;
  /** Stores a file that a user "sent", and answers its file_id. `statedBytes` makes it pose as a larger one. */
  addFile(bytes: Buffer, path?: string, statedBytes?: number): string;
  /** Adds a raw update; its update_id is given when absent. Answers the id. */
  push(update: object): number;
  /** Puts an update back, with its id, although it was confirmed. */
  redeliver(updateId: number): void;
  /** The bot's messages in a chat as a user sees them now, in one topic of it when that is given. */
  shown(chatId: number, topicId?: number): ShownMessage[];
  /** The highest update id that was confirmed, 0 when none was. */
  confirmedUpTo(): number;
  /** How many updates are not confirmed. */
  pending(): number;
  /** Lets the next `times` (default 1) matching calls of a method (`*`: of any) fail. */
  fail(method: string, failure: Failure, times?: number, match?: (params: Params) => boolean): void;
  /** Ends all planned failures. */
  heal(): void;
  /** The first message shown in a chat that matches. Rejects with what is shown. Default 5 s. */
  waitForText(chatId: number, match: RegExp | ((text: string) => boolean), timeoutMs?: number): Promise<ShownMessage>;
  /** The first call that matches, at its arrival or its end. Rejects with what was called. Default 5 s. */
  waitForCall(match: (call: TelegramCall) => boolean, timeoutMs?: number): Promise<TelegramCall>;
  /** Calls the listener after each call that has ended. */
  onAnswer(listener: (call: TelegramCall) => void): void;
  /** Resolves once that update, or a later one, was confirmed. Default 5 s. */
  waitForConfirmed(updateId: number, timeoutMs?: number): Promise<void>;
  /** Cuts every open connection and stops. */
  close(): Promise<void>;
}

const WAIT_MS = 5000;
const BODY_BYTES_MAX = 50 * 1024 * 1024;
const BOT_ID = 7_000_001;
const FIRST_UPDATE_ID = 500_001;
const SLOW_MS = 1000;

class TelegramServer implements TelegramStandIn {
  url = '';
  readonly token: string;
  readonly botId: number;
  readonly calls: TelegramCall[] = [];
  readonly deliveries;
  readonly #news = new News();
  readonly #failures = new Failures();
  readonly #desk: Desk;
  readonly #listeners: ((call: TelegramCall) => void)[] = [];
  readonly #server = createServer((request, response) => {
    this.#route(request, response).catch((error) => response.destroy(error));
  });

  constructor(token: string) {
    this.token = token;
    this.botId = Number(token.split(':')[0]);
    const updates = new UpdateQueue(FIRST_UPDATE_ID);
    const webhook = new Webhook(updates, () => this.#news.tell());
    this.deliveries = webhook.deliveries;
    const bot = { id: this.botId, is_bot: true, first_name: 'Spillway', username: 'spillway_stand_in_bot' };
    this.#desk = { bot, chats: new Chats(), files: new Files(), updates, webhook, commands: [] };
  }

  async start(port: number | undefined): Promise<this> {
    this.url = await listen(this.#server, port);
    return this;
  }

  say(chatId: number, text: string, options: SayOptions = {}): number {
    return this.push(userMessage(this.#desk.chats, chatId, text, options));
  }

  openChat(chatId: number, type?: ChatType): void {
    this.#desk.chats.open(chatId, type);
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

  confirmedUpTo(): number {
    return this.#desk.updates.confirmedUpTo();
  }

  pending(): number {
    return this.#desk.updates.pending();
  }

  fail(method: string, failure: Failure, times = 1, match?: (params: Params) => boolean): void {
    this.#failures.plan(method, failure, times, match);
  }

  heal(): void {
    this.#failures.clear();
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

  waitForCall(match: (call: TelegramCall) => boolean, timeoutMs = WAIT_MS): Promise<TelegramCall> {
    const seen = (): string => listed(this.calls.map(describe));
    return this.#news.until(() => this.calls.find(match), timeoutMs, 'matching call to Telegram', seen);
  }

  onAnswer(listener: (call: TelegramCall) => void): void {
    this.#listeners.push(listener);
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

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const body = await readBody(request, BODY_BYTES_MAX);
    const [, file, token, name = ''] = /^\/(file\/)?bot([^/]*)\/(.*)$/.exec(decodeURI(pathname)) ?? [];
    if (token === undefined) return refuse(response, { status: 404, description: 'Not Found' });
    if (token !== this.token) return refuse(response, { status: 401, description: 'Unauthorized' });
    if (body === undefined) return refuse(response, { status: 413, description: 'Request Entity Too Large' });
    if (file !== undefined) return this.#download(name, response);
    const params = readParams(request, searchParams, body);
    const call: TelegramCall = { at: Date.now(), method: name, params: params ?? {}, ok: false, status: 0 };
    this.calls.push(call);
    this.#news.tell();
    await this.#carryOut(call, params, response);
    call.endedAt = Date.now();
    for (const listener of this.#listeners) listener(call);
    this.#news.tell();
  }

  #download(path: string, response: ServerResponse): void {
    const bytes = this.#desk.files.download(path);
    if (bytes === undefined) refuse(response, { status: 404, description: 'Not Found' });
    else response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes);
  }

  async #carryOut(call: TelegramCall, params: Params | undefined, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const failure = this.#failures.take(call.method, call.params);
    if (failure === undefined) return this.#answer(call, params, response, gone.signal);
    if ('status' in failure) {
      call.status = failure.status;
      call.description = failure.description;
      return refuse(response, failure as Refusal);
    }
    switch (failure.do) {
      case 'hang':
        return untilAborted(gone.signal);
      case 'cut':
        response.destroy();
        return;
      case 'html502':
        call.status = 502;
        response.writeHead(502, { 'content-type': 'text/html' });
        response.end('<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>');
        return;
      case 'slow':
        await sleep(failure.ms ?? SLOW_MS, undefined, { signal: gone.signal }).catch(() => {});
        return this.#answer(call, params, response, gone.signal);
      case 'loseReply':
        await this.#result(call, params, gone.signal).catch(() => {});
        call.status = 0;
        response.destroy();
    }
  }

  async #answer(
    call: TelegramCall,
    params: Params | undefined,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    try {
      const result = await this.#result(call, params, gone);
      call.status = 200;
      sendJson(response, 200, { ok: true, result });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      call.ok = false;
      call.status = error.refusal.status;
      call.description = error.refusal.description;
      refuse(response, error.refusal);
    }
  }

  /** Carries the effect out, and notes it. */
  async #result(call: TelegramCall, params: Params | undefined, gone: AbortSignal): Promise<unknown> {
    const method = methodNamed(call.method);
    if (method === undefined) throw new RefusedError({ status: 404, description: 'Not Found' });
    if (params === undefined) {
      throw new RefusedError({ status: 400, description: "Bad Request: can't parse request parameters JSON object" });
    }
    const result = await method(this.#desk, params, gone);
    call.ok = true;
    const sent = (result as { message_id?: unknown } | null)?.message_id;
    if (typeof sent === 'number') call.messageId = sent;
    return result;
  }
}

function refuse(response: ServerResponse, { status, description, parameters }: Refusal): void {
  const body = { ok: false, error_code: status, description, ...(parameters !== undefined && { parameters }) };
  sendJson(response, status, body);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** One call in a line, for an error message. */
function describe({ method, params, status, description }: TelegramCall): string {
  const text = typeof params.text === 'string' ? ` ${JSON.stringify(params.text.slice(0, 60))}` : '';
  const to = params.chat_id === undefined ? '' : ` to ${params.chat_id}`;
  return `${method}${to}${text} -> ${status}${description === undefined ? '' : ` ${description}`}`;
}

/** Starts a Telegram stand-in on loopback. Every test closes its own. */
export function startTelegram(options: { port?: number; token?: string } = {}): Promise<TelegramStandIn> {
  return new TelegramServer(options.token ?? `${BOT_ID}:stand-in`).start(options.port);
}
