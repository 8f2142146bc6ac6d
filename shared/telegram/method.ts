import type { LinkPreviewOptions, Opts } from '@grammyjs/types';
import { failed, type TelegramResult } from './failure.ts';

/** The timing of a call that shows something in a chat. */
export interface Timing {
  /** If it aborts while the call waits for its pace, the call fails as `throttled` without a request. */
  stopSignal?: AbortSignal | undefined;
  /** The call only shows that an answer is coming. It fails as `throttled` if it, or others behind it, would have to wait. */
  isOptional?: true;
}

/** A method of the Bot API. */
export type Method = keyof Opts<never>;

/** Not documented for rich messages and drafts. We send it with those too, in case a server makes previews of them. */
interface Undocumented {
  link_preview_options?: LinkPreviewOptions;
}

/** The arguments of a method, as Telegram documents them. */
export type Arguments<Name extends Method> = Opts<never>[Name] & Undocumented;

/** Arguments without fields that Telegram does not know. Without this type, the compiler accepts such fields in a spread. */
type Exact<Name extends Method, Payload extends Arguments<Name>> = Payload & {
  [Field in Exclude<FieldsOf<Payload>, keyof Arguments<Name>>]: never;
};

type FieldsOf<Shape> = Shape extends unknown ? keyof Shape : never;

/** An object from outside whose documented shape is `Shape`. Any field may be missing or have another type. */
export type Unchecked<Shape> = { readonly [Field in FieldsOf<Shape>]?: unknown };

/** Calls a method of the Bot API. Contract: never throws. */
export type CallMethod = <Name extends Method, Payload extends Arguments<Name>>(
  method: Name,
  payload: Exact<Name, Payload>,
  timeoutMs: number,
  signal?: AbortSignal,
) => Promise<TelegramResult<unknown>>;

export const CALL_TIMEOUT_MS = 30_000;
/** The Bot API server's own words. A bare 404 may come from a proxy, and does not prove that the method is missing. */
export const METHOD_MISSING = /method not found/i;
/** The time for which we do not call a method again that the server lacks. */
export const MISSING_MS = 24 * 3_600_000;
const NOT_OFFERED = /^not found(?:: method not found)?$/i;

/** Turns the answer for a missing method, which has the status of a rejected token, into `not_offered`. */
export function unlessMissing<T>(result: TelegramResult<T>): TelegramResult<T> {
  if (result.ok || !NOT_OFFERED.test(result.failure.description)) return result;
  return failed('not_offered', result.failure.description);
}

/** Turns `unauthorized` into `not_offered`, for a method that a server may lack. All other calls report a rejected token. */
export function ofOptional(result: TelegramResult<unknown>): TelegramResult<void> {
  const isMissing = !result.ok && result.failure.kind === 'unauthorized';
  return isMissing ? failed('not_offered', result.failure.description) : withoutValue(result);
}

export function withoutValue(result: TelegramResult<unknown>): TelegramResult<void> {
  return result.ok ? { ok: true, value: undefined } : result;
}
