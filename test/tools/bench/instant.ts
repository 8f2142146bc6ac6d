import type { Telegram } from '../../../shared/telegram/client.ts';
import type { Model, ModelRequest, ModelResult } from '../../../worker/model/port.ts';

const ANSWER = instantAnswer('An instant answer.');

/** An answer with a text. */
export function instantAnswer(text: string): ModelResult {
  return {
    ok: true,

    answer: {
      content: [{ type: 'text', text }],
      text,
      stopReason: 'end_turn',
      model: 'instant',
      usage: { inputTokens: 100, outputTokens: 5, cacheReadTokens: 0 },
    },
  };
}

/** A model that answers at once, in this process: what is left is our own time. */
export function instantModel(
  windowTokens: number,
  onSend: (request: ModelRequest) => ModelResult | undefined = () => undefined,
): Model {
  return {
    send: async (request) => onSend(request) ?? ANSWER,
    limits: async () => ({ windowTokens }),
    countTokens: async () => undefined,
  };
}

/** A Telegram that takes everything at once, in this process. `onShown` gets each text. */
export function instantTelegram(onShown: (chatId: number, text: string) => void = () => {}): Telegram {
  let messageId = 0;
  return {
    botId: 1,
    getMe: async () => ({ ok: true, value: { id: 1, username: 'bench_bot' } }),
    getUpdates: async () => ({ ok: true, value: [] }),
    setWebhook: async () => ({ ok: true, value: undefined }),
    deleteWebhook: async () => ({ ok: true, value: undefined }),
    getWebhookInfo: async () => ({ ok: true, value: { url: '', pending: 0 } }),
    async sendMessage(to, text) {
      onShown(to.chatId, text);
      messageId += 1;
      return { ok: true, value: { messageId } };
    },
    // The bench's answers are plain.
    sendRichMessage: async () => ({ ok: false, failure: { kind: 'not_offered', description: 'none' } }),
    sendFile: async () => ({ ok: false, failure: { kind: 'rejected', description: 'none' } }),
    sendAlbum: async () => ({ ok: false, failure: { kind: 'rejected', description: 'none' } }),
    editMessage: async (to, _, text) => {
      onShown(to.chatId, text);
      return { ok: true, value: undefined };
    },
    removeButtons: async () => ({ ok: true, value: undefined }),
    deleteMessage: async () => ({ ok: true, value: undefined }),
    answerPress: async () => ({ ok: true, value: undefined }),
    answerSummons: async () => ({ ok: false, failure: { kind: 'rejected', description: 'none' } }),
    editSummoned: async () => ({ ok: false, failure: { kind: 'rejected', description: 'none' } }),
    setCommands: async () => ({ ok: true, value: undefined }),
    sendDraft: async () => ({ ok: true, value: undefined }),
    sendTyping: async () => ({ ok: true, value: undefined }),
    downloadFile: async () => ({ ok: true, value: Buffer.alloc(0) }),
  };
}
