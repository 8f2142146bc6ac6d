import type { Telegram } from './client.ts';
import type { TelegramResult } from './failure.ts';

const WAIT_MS = 5_000;
const WAIT_MS_MAX = 600_000;

/**
 * Stops calling Telegram while the bot's token is rejected: a bot that hammers gets deleted. After each refusal the
 * wait grows, from 5 seconds to 10 minutes; then one call is let through. A call that is held back fails as
 * `unauthorized`, with the remaining wait; certainly nothing was sent.
 */
export function guardToken(telegram: Telegram, now: () => number = Date.now): Telegram {
  let refusals = 0;
  let closedUntilMs = 0;
  const guarded = async <T>(call: () => Promise<TelegramResult<T>>): Promise<TelegramResult<T>> => {
    const waitMs = closedUntilMs - now();
    if (waitMs > 0) return notCalled(waitMs);
    const result = await call();
    if (result.ok) refusals = 0;
    // Of calls that were refused together, only the first counts.
    else if (result.failure.kind === 'unauthorized' && now() >= closedUntilMs) {
      refusals += 1;
      closedUntilMs = now() + Math.min(WAIT_MS * 2 ** (refusals - 1), WAIT_MS_MAX);
    }
    return result;
  };
  return {
    botId: telegram.botId,
    getMe: (timeoutMs) => guarded(() => telegram.getMe(timeoutMs)),
    getUpdates: (offset, signal, when) => guarded(() => telegram.getUpdates(offset, signal, when)),
    setWebhook: (url, secret, signal) => guarded(() => telegram.setWebhook(url, secret, signal)),
    deleteWebhook: (signal) => guarded(() => telegram.deleteWebhook(signal)),
    getWebhookInfo: (signal) => guarded(() => telegram.getWebhookInfo(signal)),
    sendMessage: (to, text, options) => guarded(() => telegram.sendMessage(to, text, options)),
    sendRichMessage: (to, blocks, options) => guarded(() => telegram.sendRichMessage(to, blocks, options)),
    sendFile: (to, file, options) => guarded(() => telegram.sendFile(to, file, options)),
    sendAlbum: (to, photos, options) => guarded(() => telegram.sendAlbum(to, photos, options)),
    editMessage: (to, messageId, text, options) => guarded(() => telegram.editMessage(to, messageId, text, options)),
    answerSummons: (queryId, text, timeoutMs) => guarded(() => telegram.answerSummons(queryId, text, timeoutMs)),
    editSummoned: (inlineId, text, entities) => guarded(() => telegram.editSummoned(inlineId, text, entities)),
    removeButtons: (to, messageId) => guarded(() => telegram.removeButtons(to, messageId)),
    deleteMessage: (to, messageId) => guarded(() => telegram.deleteMessage(to, messageId)),
    answerPress: (pressId, words) => guarded(() => telegram.answerPress(pressId, words)),
    sendDraft: (to, draftId, text, entities) => guarded(() => telegram.sendDraft(to, draftId, text, entities)),
    setCommands: (menu) => guarded(() => telegram.setCommands(menu)),
    downloadFile: (fileId, bytesMax, signal) => guarded(() => telegram.downloadFile(fileId, bytesMax, signal)),
    sendTyping: (to) => guarded(() => telegram.sendTyping(to)),
  };
}

function notCalled(waitMs: number): TelegramResult<never> {
  const description = 'not called: the bot token was not accepted just before';
  return { ok: false, failure: { kind: 'unauthorized', description, retryAfterMs: waitMs } };
}
