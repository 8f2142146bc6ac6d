import type { LinkPreviewOptions, Opts } from '@grammyjs/types';
import { failed, type TelegramResult } from './failure.ts';

/** The timing of a call that shows something in a chat. */
export interface Timing {
  /** If this signal aborts while pacing delays the call, the call fails as `throttled` without a request. */
  stopSignal?: AbortSignal | undefined;
  /** The call only shows that an answer is coming, so it fails as `throttled` rather than delay itself or a later call. */
  isOptional?: true;
}

/** A method of the Bot API. */
export type Method = keyof Opts<never>;

/** An argument that is not documented for rich messages and drafts. We send it nevertheless: a server might make previews. */
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
/** The words of a server that lacks the method. A 404 without these words may come from a proxy and proves nothing. */
export const METHOD_MISSING = /method not found/i;
/** After an answer that the server lacks a method, the method is not called for this long. */
export const MISSING_MS = 24 * 3_600_000;
const NOT_OFFERED = /^not found(?:: method not found)?$/i;

/**
 * Telegram answers 404 both for a missing method and for a rejected token. Turns a failure into `not_offered` if the text of
 * the failure can be that of a missing method.
 */
export function unlessMissing<T>(result: TelegramResult<T>): TelegramResult<T> {
  if (result.ok || !NOT_OFFERED.test(result.failure.description)) return result;
  return failed('not_offered', result.failure.description);
}

/** Turns `unauthorized` into `not_offered`, for a method that a server may lack. Other calls reveal a rejected token. */
export function ofOptional(result: TelegramResult<unknown>): TelegramResult<void> {
  const isMissing = !result.ok && result.failure.kind === 'unauthorized';
  return isMissing ? failed('not_offered', result.failure.description) : withoutValue(result);
}

export function withoutValue(result: TelegramResult<unknown>): TelegramResult<void> {
  return result.ok ? { ok: true, value: undefined } : result;
}
