import { failed, type TelegramResult } from './failure.ts';

/** Calls a method of the Bot API. Contract: never throws. */
export type CallMethod = (
  method: string,
  payload: object,
  timeoutMs: number,
  signal?: AbortSignal,
) => Promise<TelegramResult<unknown>>;

export const CALL_TIMEOUT_MS = 30_000;
/** Certainly the server's own words: a bare 404 may come from a proxy, and is no reason not to ask again. */
export const METHOD_MISSING = /method not found/i;
/** How long a server that lacks a method is not asked for it again. */
export const MISSING_MS = 24 * 3_600_000;
const NOT_OFFERED = /^not found(?:: method not found)?$/i;

/** A missing method is answered with the status of a rejected token, in other words. */
export function unlessMissing<T>(result: TelegramResult<T>): TelegramResult<T> {
  if (result.ok || !NOT_OFFERED.test(result.failure.description)) return result;
  return failed('not_offered', result.failure.description);
}

/** For a method that a server may lack. Its absence reads like a rejected token, which all other calls report. */
export function ofOptional(result: TelegramResult<unknown>): TelegramResult<void> {
  const isMissing = !result.ok && result.failure.kind === 'unauthorized';
  return isMissing ? failed('not_offered', result.failure.description) : withoutValue(result);
}

export function withoutValue(result: TelegramResult<unknown>): TelegramResult<void> {
  return result.ok ? { ok: true, value: undefined } : result;
}
