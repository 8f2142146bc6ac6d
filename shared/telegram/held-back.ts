import type { TelegramBreaker } from './breaker.ts';
import type { Telegram } from './client.ts';
import { isWordless, type TelegramResult } from './failure.ts';

/**
 * Sends nothing while Telegram is away: a call then fails as `away`, and certainly nothing was sent. What shows something
 * in a chat asks the breaker first and tells it how it ended. What only shows that an answer is coming goes by what this
 * process saw last. Receiving, and asking who the bot is, goes on: that is how the end is found.
 */
export function holdBack(telegram: Telegram, breaker: TelegramBreaker): Telegram {
  const send = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const awayMs = await breaker.awayMs();
    if (awayMs > 0) return away(awayMs);
    const sent = await call();
    if (sent.ok) await breaker.confirmed();
    else if (isWordless(sent.failure)) await breaker.doubted(sent.failure, true);
    return sent;
  };
  const beside = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const awayMs = breaker.seenAwayMs();
    if (awayMs > 0) return away(awayMs);
    const done = await call();
    if (!done.ok && isWordless(done.failure)) await breaker.doubted(done.failure, false);
    return done;
  };
  return {
    ...telegram,
    sendMessage: (to, text, options) => send(() => telegram.sendMessage(to, text, options)),
    sendRichMessage: (to, blocks, options) => send(() => telegram.sendRichMessage(to, blocks, options)),
    sendFile: (to, file, options) => send(() => telegram.sendFile(to, file, options)),
    sendAlbum: (to, photos, options) => send(() => telegram.sendAlbum(to, photos, options)),
    editMessage: (to, messageId, text, options) => send(() => telegram.editMessage(to, messageId, text, options)),
    answerSummons: (queryId, text, timeoutMs) => send(() => telegram.answerSummons(queryId, text, timeoutMs)),
    editSummoned: (inlineId, text, entities) => send(() => telegram.editSummoned(inlineId, text, entities)),
    removeButtons: (to, messageId) => beside(() => telegram.removeButtons(to, messageId)),
    deleteMessage: (to, messageId) => beside(() => telegram.deleteMessage(to, messageId)),
    answerPress: (pressId, words) => beside(() => telegram.answerPress(pressId, words)),
    sendDraft: (to, draftId, text, entities) => beside(() => telegram.sendDraft(to, draftId, text, entities)),
    sendTyping: (to) => beside(() => telegram.sendTyping(to)),
    downloadFile: (fileId, bytesMax, signal) => beside(() => telegram.downloadFile(fileId, bytesMax, signal)),
  };
}

function away(retryAfterMs: number): TelegramResult<never> {
  return { ok: false, failure: { kind: 'away', description: 'not called: Telegram does not answer', retryAfterMs } };
}
