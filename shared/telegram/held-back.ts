import type { TelegramBreaker } from './breaker.ts';
import type { Telegram } from './client.ts';
import { isUnanswered, type TelegramResult } from './failure.ts';

/**
 * Fails calls as `away`, without a request, while Telegram does not answer. A send or an edit of a message first reads the
 * breaker's state, and reports its result to the breaker. Downloads, and other calls in a chat, such as drafts and the removal
 * of buttons, use the state that this process read last. All further calls go through, e.g. `getMe`, the breaker's probe.
 */
export function holdBack(telegram: Telegram, breaker: TelegramBreaker): Telegram {
  const guardSend = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const awayMs = await breaker.awayMs();
    if (awayMs > 0) return away(awayMs);
    const result = await call();
    if (result.ok) await breaker.noteConfirmed();
    else if (isUnanswered(result.failure)) await breaker.noteDoubt(result.failure, true);
    return result;
  };
  const guardOther = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const awayMs = breaker.seenAwayMs();
    if (awayMs > 0) return away(awayMs);
    const result = await call();
    if (!result.ok && isUnanswered(result.failure)) await breaker.noteDoubt(result.failure, false);
    return result;
  };
  return {
    ...telegram,
    sendMessage: (to, text, options) => guardSend(() => telegram.sendMessage(to, text, options)),
    sendRichMessage: (to, blocks, options) => guardSend(() => telegram.sendRichMessage(to, blocks, options)),
    sendFile: (to, file, options) => guardSend(() => telegram.sendFile(to, file, options)),
    sendAlbum: (to, photos, options) => guardSend(() => telegram.sendAlbum(to, photos, options)),
    editMessage: (to, messageId, text, options) => guardSend(() => telegram.editMessage(to, messageId, text, options)),
    answerSummons: (queryId, text, timeoutMs) => guardSend(() => telegram.answerSummons(queryId, text, timeoutMs)),
    editSummoned: (inlineId, text, entities) => guardSend(() => telegram.editSummoned(inlineId, text, entities)),
    removeButtons: (to, messageId) => guardOther(() => telegram.removeButtons(to, messageId)),
    deleteMessage: (to, messageId) => guardOther(() => telegram.deleteMessage(to, messageId)),
    answerPress: (pressId, words) => guardOther(() => telegram.answerPress(pressId, words)),
    sendDraft: (to, draftId, text, entities) => guardOther(() => telegram.sendDraft(to, draftId, text, entities)),
    sendTyping: (to) => guardOther(() => telegram.sendTyping(to)),
    downloadFile: (fileId, bytesMax, signal) => guardOther(() => telegram.downloadFile(fileId, bytesMax, signal)),
  };
}

function away(retryAfterMs: number): TelegramResult<never> {
  return { ok: false, failure: { kind: 'away', description: 'not called: Telegram does not answer', retryAfterMs } };
}
