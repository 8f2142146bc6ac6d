import { redact } from '../base/redact.ts';

/** The failure of a call. Callers treat each kind differently. */
export interface TelegramFailure {
  kind: /** Refused by Telegram; nothing was sent. */
    | 'rejected'
    /** The file has more bytes than may be downloaded. */
    | 'too_large'
    /** Too many requests; nothing was sent. Wait `retryAfterMs`, if set. */
    | 'throttled'
    /** The chat cannot be reached, e.g. because the chat blocked or removed the bot, was deleted, or is unknown. */
    | 'gone'
    /** The group became a supergroup, and continues under the id `migratedTo`. */
    | 'migrated'
    /** The message to edit no longer exists, or cannot be edited any longer. */
    | 'message_gone'
    /** Telegram rejects the bot token. */
    | 'unauthorized'
    /** The server does not know the method. */
    | 'not_offered'
    /** Another process polls with the same token. */
    | 'conflict'
    /** A webhook is set, so polling is impossible. */
    | 'webhook_set'
    /** The connection could not be opened: certainly nothing was sent. */
    | 'unreached'
    /** The request may have taken effect: no answer, a broken connection, a server error, or an answer not from Telegram. */
    | 'unknown'
    /** Not called, because Telegram does not answer: certainly nothing was sent; retry after `retryAfterMs`. */
    | 'away'
    /** Our own signal aborted the call, which may have taken effect. */
    | 'aborted';
  /** The words of Telegram, or of the error if there was no answer, without credentials: for operators, never for users. */
  description: string;
  retryAfterMs?: number;
  migratedTo?: number;
  /** For `unknown`: a server or a proxy answered, with an error or a page. Most likely nothing was sent. */
  isAnswered?: true;
}

export type TelegramResult<T> = { ok: true; value: T } | { ok: false; failure: TelegramFailure };

/** The maximum length of a description that quotes Telegram or an error. */
export const DESCRIPTION_CHARS = 300;
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH']);
const GONE = /chat not found|bot was (?:blocked|kicked)|user is deactivated|bot is not a member|PEER_ID_INVALID/i;
/** The type of Telegraf's error for an answer that is not JSON, such as a proxy's page. */
const NOT_JSON = 'invalid-json';
const WEBHOOK_SET = /while webhook is active/i;

/** Whether a call ended without Telegram's own answer. */
export function isUnanswered({ kind }: TelegramFailure): boolean {
  return kind === 'unknown' || kind === 'unreached';
}

/** Whether Telegram refused the call for good, so that a repeated call would also fail. */
export function isFinal({ kind }: TelegramFailure): boolean {
  return kind === 'gone' || kind === 'rejected';
}

/** Creates a failed result. */
export function failed(kind: TelegramFailure['kind'], description: string): TelegramResult<never> {
  return { ok: false, failure: { kind, description } };
}

/** The failure for an answer with a server error, or in another format than Telegram's. */
export function unknownAnswer(description: string): TelegramFailure {
  return { kind: 'unknown', description, isAnswered: true };
}

/** The failure for an error of a call: Telegram's refusal, or a broken connection. `signal` is the caller's. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): TelegramFailure {
  const { code, type, description, message, parameters } = (error ?? {}) as {
    code?: number | string;
    type?: string;
    description?: string;
    message?: string;
    parameters?: { retry_after?: number; migrate_to_chat_id?: number };
  };
  const words = redact(description ?? message ?? 'no description').slice(0, DESCRIPTION_CHARS);
  if (signal?.aborted) return { kind: 'aborted', description: words };
  if (type === NOT_JSON) return unknownAnswer(words);
  if (typeof code !== 'number') return { kind: NOT_SENT.has(code ?? '') ? 'unreached' : 'unknown', description: words };
  if (code === 401 || code === 404) return { kind: 'unauthorized', description: words };
  if (code === 409) return { kind: WEBHOOK_SET.test(words) ? 'webhook_set' : 'conflict', description: words };
  if (code === 429)
    return { kind: 'throttled', description: words, retryAfterMs: (parameters?.retry_after ?? 5) * 1000 };
  if (typeof parameters?.migrate_to_chat_id === 'number')
    return { kind: 'migrated', description: words, migratedTo: parameters.migrate_to_chat_id };
  if (code === 403 || GONE.test(words)) return { kind: 'gone', description: words };
  if (code >= 500) return unknownAnswer(words);
  return { kind: 'rejected', description: words };
}
