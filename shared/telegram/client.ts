import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { WebhookInfo as ApiWebhookInfo, BotCommandScope, File, Update, UserFromGetMe } from '@grammyjs/types';
import { Telegram as TelegrafClient } from 'telegraf';
import { readAtMost } from '../base/bounded-read.ts';
import { proxyOf } from '../base/proxy.ts';
import { redact } from '../base/redact.ts';
import { ownEnvironment } from '../base/settings.ts';
import type { Menu } from './commands.ts';
import { DESCRIPTION_CHARS, failed, failureOf, type TelegramFailure, type TelegramResult } from './failure.ts';
import { type Messages, messagesOver } from './messages.ts';
import { CALL_TIMEOUT_MS, type CallMethod, ofOptional, type Unchecked, unlessMissing, withoutValue } from './method.ts';
import { type ObserveCall, UNOBSERVED } from './observe.ts';
import { connectionError, upload } from './upload.ts';

/** The bot's profile. Some servers omit whether the bot has privacy mode, which hides mentions in groups from the bot. */
export type BotProfile = Pick<UserFromGetMe, 'id' | 'username'> &
  Partial<Pick<UserFromGetMe, 'can_read_all_group_messages' | 'supports_guest_queries'>>;

/** The state of a bot's webhook at Telegram. */
export interface WebhookInfo {
  /** Empty if no webhook is set. */
  url: string;
  /** The number of updates that wait for delivery. */
  pending: number;
  /** The last failed delivery, if any: its time in seconds since the epoch, and the reason in Telegram's words. */
  lastError?: { atS: number; description: string };
}

/**
 * The Bot API, as far as we use it.
 *
 * Contract: no method throws; a failure is a value. Sends of messages are not idempotent, because Telegram has no idempotency
 * keys. A summons can be answered only once. All other methods are idempotent. An aborted call fails as `aborted`, and may have
 * taken effect.
 */
export interface Telegram extends Messages {
  readonly botId: number;
  /** Returns the bot's profile. Waits at most `timeoutMs`, by default as long as most other calls. */
  getMe(timeoutMs?: number): Promise<TelegramResult<BotProfile>>;
  /**
   * Long-polls, or fetches pending updates without waiting (`at once`). The call confirms every update below `offset`: Telegram
   * never delivers such an update again.
   */
  getUpdates(
    offset: number | undefined,
    signal: AbortSignal,
    when?: 'at once' | undefined,
  ): Promise<TelegramResult<unknown[]>>;
  /** Makes Telegram deliver updates to `url`, with `secret` in a header. Keeps pending updates. */
  setWebhook(url: string, secret: string, signal: AbortSignal): Promise<TelegramResult<void>>;
  /** Ends the deliveries, so that polls are possible again. Keeps pending updates. */
  deleteWebhook(signal: AbortSignal): Promise<TelegramResult<void>>;
  /** Returns the state of the webhook. May fail as `not_offered`. */
  getWebhookInfo(signal: AbortSignal): Promise<TelegramResult<WebhookInfo>>;
  /** Registers the commands that Telegram apps offer in some chats and one language. May fail as `not_offered`. */
  setCommands(menu: Menu): Promise<TelegramResult<void>>;
  /** Downloads a file that a user sent. Fails as `too_large` when its stated or actual size exceeds `bytesMax`. */
  downloadFile(fileId: string, bytesMax: number, signal: AbortSignal): Promise<TelegramResult<Buffer>>;
}

const POLL_SECONDS = 50;
const POLL_GRACE_MS = 15_000;
const DOWNLOAD_TIMEOUT_MS = 60_000;
const UPDATES_MAX = 100;
/** The types of updates to receive. Telegram remembers the last stated types, so every call that can state them does. */
const UPDATES = [
  'message',
  'edited_message',
  'callback_query',
  'stopped_message_generation',
  'my_chat_member',
] as const satisfies readonly (keyof Update)[];
/** The types if people may also call the bot in chats that it is not part of. */
const OF_GUESTS = [...UPDATES, 'guest_message'] as const satisfies readonly (keyof Update)[];

const TOO_BIG = /file is too big/i;
/** An absolute path, which is on the server's own disk. */
const ABSOLUTE_PATH = /^(?:[/\\]|[a-z]:)/i;
const LOCAL_MODE =
  'the Bot API server names a file on its own disk instead of one to download: run the Bot API server without --local';

interface TelegramClientOptions {
  token: string;
  apiRoot: string;
  downloadTimeoutMs?: number;
  /** The longest wait for an answer, except to polls, uploads and downloads. By default each method has a limit of its own. */
  callTimeoutMs?: number;
  /** Whether Telegram may make previews of links; by default it may not. */
  linkPreviews?: boolean;
  /** Whether people may call the bot in chats that it is not part of; by default nobody may. */
  hasGuests?: boolean;
  observe?: ObserveCall;
}

/**
 * Creates a client on top of Telegraf's client; `apiRoot` is the URL of any Bot API server. Opens no connection yet. A download
 * may take `downloadTimeoutMs`, by default a minute.
 */
export function createTelegram(options: TelegramClientOptions): Telegram {
  const { observe = UNOBSERVED } = options;
  const Agent = options.apiRoot.startsWith('https:') ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true, proxyEnv: proxyOf(ownEnvironment()) });
  const client = new TelegrafClient(options.token, { apiRoot: options.apiRoot, agent });
  const updateTypes = { allowed_updates: options.hasGuests ? OF_GUESTS : UPDATES };
  const longestMs = options.callTimeoutMs ?? Number.POSITIVE_INFINITY;
  const call: CallMethod = (method, payload, timeoutMs, signal) => {
    const waitMs = method === 'getUpdates' ? timeoutMs : Math.min(timeoutMs, longestMs);
    return observe(method, () => callApi(client, method, payload, waitMs, signal));
  };
  return {
    botId: Number(options.token.split(':')[0]),
    getMe: (timeoutMs = CALL_TIMEOUT_MS) => call('getMe', {}, timeoutMs) as Promise<TelegramResult<BotProfile>>,
    getUpdates(offset, signal, when) {
      const timeout = when === 'at once' ? 0 : POLL_SECONDS;
      const payload = { ...(offset !== undefined && { offset }), timeout, limit: UPDATES_MAX, ...updateTypes };
      return call('getUpdates', payload, timeout * 1000 + POLL_GRACE_MS, signal) as Promise<TelegramResult<unknown[]>>;
    },
    async setWebhook(url, secret, signal) {
      const payload = { url, secret_token: secret, ...updateTypes };
      return withoutValue(await call('setWebhook', payload, CALL_TIMEOUT_MS, signal));
    },
    deleteWebhook: async (signal) => withoutValue(await call('deleteWebhook', {}, CALL_TIMEOUT_MS, signal)),
    async getWebhookInfo(signal) {
      const info = unlessMissing(await call('getWebhookInfo', {}, CALL_TIMEOUT_MS, signal));
      return info.ok ? { ok: true, value: webhookInfoOf(info.value) } : info;
    },
    ...messagesOver(
      call,
      (method, fields, files, timeoutMs) =>
        observe(method, () =>
          upload(new URL(`./bot${options.token}/${method}`, options.apiRoot), fields, files, timeoutMs),
        ),
      options.linkPreviews ?? false,
    ),
    async setCommands({ commands, scope, language }) {
      const to: BotCommandScope = typeof scope === 'number' ? { type: 'chat', chat_id: scope } : { type: scope };
      const payload = { commands, scope: to, ...(language !== undefined && { language_code: language }) };
      return ofOptional(await call('setMyCommands', payload, CALL_TIMEOUT_MS));
    },
    async downloadFile(fileId, bytesMax, signal) {
      const answer = await call('getFile', { file_id: fileId }, CALL_TIMEOUT_MS, signal);
      if (!answer.ok) return TOO_BIG.test(answer.failure.description) ? tooLarge(bytesMax) : answer;
      const { file_path: path, file_size: statedBytes } = (answer.value ?? {}) as Unchecked<File>;
      if (typeof statedBytes === 'number' && statedBytes > bytesMax) return tooLarge(bytesMax);
      if (typeof path !== 'string' || path === '') return failed('rejected', 'the Bot API server names no path');
      // The failure must not quote the path, which contains the token on a server in local mode.
      if (ABSOLUTE_PATH.test(path)) return failed('rejected', LOCAL_MODE);
      const at = `./file/bot${options.token}/${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`;
      const url = new URL(at, options.apiRoot);
      return observe('download', () =>
        download(url, bytesMax, options.downloadTimeoutMs ?? DOWNLOAD_TIMEOUT_MS, signal),
      );
    },
  };
}

function webhookInfoOf(raw: unknown): WebhookInfo {
  const info = (raw ?? {}) as Unchecked<ApiWebhookInfo>;
  const { url, pending_update_count: pending, last_error_date: atS, last_error_message: words } = info;
  const description = typeof words === 'string' ? redact(words).slice(0, DESCRIPTION_CHARS) : 'no description';
  return {
    url: typeof url === 'string' ? url : '',
    pending: typeof pending === 'number' ? pending : 0,
    ...(typeof atS === 'number' && { lastError: { atS, description } }),
  };
}

async function callApi(
  client: TelegrafClient,
  method: string,
  payload: object,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<TelegramResult<unknown>> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const either = signal ? AbortSignal.any([signal, deadline]) : deadline;
  try {
    // Telegraf's types know only Bot API 7.1 and their own AbortSignal. Newer methods and Node's AbortSignal work all the same.
    const value = await client.callApi(method as 'getMe', payload as never, { signal: either as never });
    return { ok: true, value };
  } catch (error) {
    return { ok: false, failure: failureOf(error, signal) };
  }
}

/** Downloads a file of at most `bytesMax`. Counts the bytes as they arrive, because a stated size may be wrong or missing. */
async function download(
  url: URL,
  bytesMax: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TelegramResult<Buffer>> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    const isOver = Number(response.headers.get('content-length')) > bytesMax;
    if (!response.ok || isOver) await response.body?.cancel();
    if (!response.ok) return { ok: false, failure: refusalOf(response) };
    if (isOver) return tooLarge(bytesMax);
    const value = await readAtMost(response.body, bytesMax);
    return value === undefined ? tooLarge(bytesMax) : { ok: true, value };
  } catch (error) {
    return { ok: false, failure: failureOf(connectionError(error), signal) };
  }
}

/** The failure of a refused download. A 404 means a missing file here, and not a rejected token as for other calls. */
function refusalOf({ status, headers }: Response): TelegramFailure {
  const description = `the download of a file was answered with status ${status}`;
  if (status === 404) return { kind: 'rejected', description };
  const waitS = Number(headers.get('retry-after'));
  return failureOf({ code: status, description, parameters: waitS > 0 ? { retry_after: waitS } : {} }, undefined);
}

function tooLarge(bytesMax: number): TelegramResult<never> {
  return failed('too_large', `the file is too large: more than ${bytesMax} bytes`);
}
