import type { Turn } from '../../shared/state/turn/turn.ts';
import type { Env } from '../env.ts';
import { commit } from '../lane/events.ts';
import { fill, keptIn } from '../media/fill.ts';
import { HISTORY_BYTES_MAX } from '../model/block.ts';
import {
  calibrationFor,
  countRequest,
  estimateFixed,
  type FixedParts,
  usableTokens,
  withPlausibleSize,
} from '../model/count.ts';
import type { Failure } from '../model/errors/failure.ts';
import type { MessageParam, ModelAnswer, ModelRequest, ModelResult, OnText } from '../model/port.ts';
import { cacheLifetime } from '../model/prices.ts';
import { type Call, type RequestSizes, triedBy } from '../recovery/effects.ts';
import { bytesOf } from '../recovery/parts.ts';
import { systemOf } from '../session/fixed-text.ts';
import { asShown, trimOf } from '../session/overlay.ts';
import { type LogRecord, startsTurn } from '../session/record.ts';
import { openCode, view, type Window, withToolsOf } from '../session/view.ts';

/** The result of `callModel`. */
export type CallResult = { sizes: RequestSizes } & (
  | { ok: true; answer: ModelAnswer; byFallback: boolean; isSeconded?: true | undefined }
  | {
      ok: false;
      failure: Failure;
      /** How many calls, to the model and to the fallback model, fell silent after their first words. */
      silences: number;
    }
);

/** The number of newest messages whose times decide the lifetime of the cached prefix. */
const TURN_TIMES = 20;

/**
 * Calls the model: builds the request from the session, and sends the request unless it is too large (`countedTooLarge`).
 * The fallback model may get a second call (`sendOrFallBack`). With `wordsOnly` the model must answer in text, without
 * tools. Contract: throws `FencedError`, or what `onText`, Redis and the blob store throw.
 */
export async function callModel(
  call: Call,
  { wordsOnly, onText: onAnyText }: { wordsOnly: boolean; onText: OnText },
  signal: AbortSignal,
): Promise<CallResult> {
  const { turn, loadedSession, room, calibration } = call;
  const { env } = turn;
  const window = withToolsOf(loadedSession.window, turn.isOfGuest);
  const messages = view(window);
  const maxTokens = turn.maxOutputTokens ?? Math.min(room.outputTokens, call.modelOutputTokens ?? room.outputTokens);
  const { serverTools } = env.settings;
  const fixedParts = { system: systemOf(turn), tools: env.tools.specs(), serverTools };
  const count = countRequest(fixedParts, window, messages, env.settings.MODEL, calibration);
  const sizes: RequestSizes = {
    count,
    sentTokens: count.tokens,
    fixedTokens: Math.ceil(estimateFixed(fixedParts) * calibration),
    askedOutputTokens: maxTokens,
  };
  const failureByCount = countedTooLarge(call, count.tokens);
  if (failureByCount) return { ok: false, failure: failureByCount, silences: 0, sizes };
  const request = { ...(await requestOf(call, messages)), maxTokens, wordsOnly };
  const code = openCode(asShown(window.records));
  const withoutCode = (text: string): string =>
    code === undefined ? text : text.replaceAll(`${code} `, '').replaceAll(code, '');
  const onText: OnText = (text) => onAnyText(withoutCode(text));
  env.reach('model called');
  const result = await sendOrFallBack(turn, request, { window, fixedParts, onText }, signal);
  if (result.ok) {
    const { byFallback, isSeconded } = result;
    const estimate = countRequest(fixedParts, { ...window, records: [] }, messages, env.settings.MODEL, calibration);
    const answer = withPlausibleSize({ ...result.answer, text: withoutCode(result.answer.text) }, estimate.tokens);
    return { ok: true, answer, byFallback, isSeconded, sizes };
  }
  const { failure, silences } = result;
  if (failure.rule !== undefined)
    await commit(turn, { step: '', events: [{ event: 'request.invalid', rule: failure.rule }] });
  return { ok: false, failure, silences, sizes };
}

/**
 * Prevention: the failure that replaces the call if the request is too long by our count, unless recovery decided to send the
 * request as it is; if the load had to omit records, so that the session must be compacted first; or if the history has too
 * many bytes. `undefined` otherwise.
 */
function countedTooLarge({ turn, loadedSession, room }: Call, tokens: number): Failure | undefined {
  const isTooLong = tokens > room.usableTokens && !triedBy(turn).includes('as it is');
  if (isTooLong || loadedSession.window.omitted > 0)
    return { kind: 'token', reason: 'counted_too_long', observedTokens: tokens, limitTokens: room.limitTokens };
  const isLarge = bytesOf(asShown(loadedSession.window.records)) > HISTORY_BYTES_MAX;
  return isLarge ? { kind: 'wire', reason: 'counted_too_large' } : undefined;
}

/** The endpoint's own count of the turn's request, if the endpoint gives one. Rejects only if files cannot be loaded. */
export async function countExactly(call: Call, signal: AbortSignal): Promise<number | undefined> {
  const { turn, loadedSession } = call;
  const messages = view(withToolsOf(loadedSession.window, turn.isOfGuest));
  const request = await requestOf(call, messages);
  return turn.env.model.countTokens({ ...request, maxTokens: 1 }, signal);
}

async function requestOf(call: Call, messages: MessageParam[]): Promise<Omit<ModelRequest, 'maxTokens'>> {
  const { turn, loadedSession } = call;
  const { env } = turn;
  return {
    payer: turn.payer,
    session: turn.session,
    model: env.settings.MODEL,
    system: systemOf(turn),
    messages: await fillFiles(turn, messages),
    tools: env.tools.specs(),
    serverTools: env.settings.serverTools,
    caches: true,
    cacheLifetime: cacheLifetime(turnTimesMs(loadedSession.window.records), Date.now()),
    ...(env.settings.EFFORT !== undefined && { effort: env.settings.EFFORT }),
  };
}

async function fillFiles(turn: Turn<Env>, messages: MessageParam[]): Promise<MessageParam[]> {
  const refs = keptIn(messages);
  return refs.length === 0 ? messages : fill(messages, await turn.env.media.load(turn.currentChat, refs));
}

/** The times at which the newest messages of the chat's users were recorded. */
function turnTimesMs(records: readonly LogRecord[]): number[] {
  return records
    .filter(startsTurn)
    .slice(-TURN_TIMES)
    .map(({ at }) => Date.parse(at))
    .filter((ms) => !Number.isNaN(ms));
}

/** The result of the call to the model, or of the call to the fallback model if only that call gave a usable answer. */
type SendResult = ModelResult & {
  byFallback: boolean;
  silences: number;
  /** Set if both models declined. */
  isSeconded?: true;
};

/**
 * Sends a request. If the model declines or the failure is transient, sends the request to the fallback model, too; but not if
 * the settings name no other model, the attempt was aborted, or the request does not fit that model. The second request has no
 * thinking, since each model rejects the thinking of other models. If the fallback model fails or declines, too, returns the
 * first result. `silences` counts the calls that fell silent after their first words.
 * Contract: throws only what `onText`, Redis and the blob store throw.
 */
async function sendOrFallBack(
  turn: Turn<Env>,
  request: ModelRequest,
  { window, fixedParts, onText }: { window: Window; fixedParts: FixedParts; onText: OnText },
  signal: AbortSignal,
): Promise<SendResult> {
  const { model, settings } = turn.env;
  const { FALLBACK_MODEL: fallbackModel } = settings;
  const result = await model.send(request, signal, onText);
  const first = { ...result, byFallback: false, silences: countSilence(result) };
  if (fallbackModel === undefined || fallbackModel === request.model || signal.aborted || !mayHelpToFallBack(first))
    return first;
  const messages = view({ ...window, records: [...window.records, trimOf('thinking', window.records)] });
  const count = countRequest(fixedParts, window, messages, fallbackModel, calibrationFor(fallbackModel, undefined));
  const { windowTokens } = await model.limits(fallbackModel);
  if (count.tokens > usableTokens(windowTokens, request.maxTokens)) return first;
  const fallbackRequest = { ...request, model: fallbackModel, messages: await fillFiles(turn, messages) };
  const second = await model.send(fallbackRequest, signal, onText);
  if (second.ok && second.answer.stopReason !== 'refusal')
    return { ...second, byFallback: true, silences: first.silences };
  return {
    ...first,
    silences: first.silences + countSilence(second),
    ...(second.ok && first.ok && { isSeconded: true as const }),
  };
}

/** Whether another model might answer: this model declined, or the call failed for a transient reason. */
function mayHelpToFallBack(result: ModelResult): boolean {
  return result.ok ? result.answer.stopReason === 'refusal' : result.failure.kind === 'transient';
}

/** 1 for a timeout after the first words, else 0. */
function countSilence(result: ModelResult): number {
  return !result.ok && result.failure.reason === 'timeout' && result.partialText !== undefined ? 1 : 0;
}
