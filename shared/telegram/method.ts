import type { LinkPreviewOptions, Opts } from '@grammyjs/types';
import { failed, type TelegramResult } from './failure.ts';

/** When a call is made that shows something in a chat. */
export interface Timing {
  /** Aborted while the call waits for its pace: it fails as `throttled`, and is not made. */
  stopSignal?: AbortSignal | undefined;
  /** It only shows that an answer comes: it fails as `throttled` where it would wait, or others for it. */
  isOptional?: true;
}

/** A method of the Bot API. */
export type Method = keyof Opts<never>;

/** Not documented for rich messages and drafts: a server that makes previews of those is told as well. */
interface Undocumented {
  link_preview_options?: LinkPreviewOptions;
}

/** The arguments of a method, as Telegram documents them. */
export type Arguments<Name extends Method> = Opts<never>[Name] & Undocumented;

/** Arguments among which none is unknown to Telegram; a spread would hide that from the compiler. */
type Exact<Name extends Method, Given extends Arguments<Name>> = Given & {
  [Field in Exclude<FieldsOf<Given>, keyof Arguments<Name>>]: never;
};

type FieldsOf<Shape> = Shape extends unknown ? keyof Shape : never;

/** An object that is documented so and comes from outside: it may have these fields, and none of them is checked. */
export type Unchecked<Shape> = { readonly [Field in FieldsOf<Shape>]?: unknown };

/** Calls a method of the Bot API. Contract: never throws. */
export type CallMethod = <Name extends Method, Given extends Arguments<Name>>(
  method: Name,
  given: Exact<Name, Given>,
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
