import type { Usage } from '../model/port.ts';

/** What one chat came to in a period. `dollars` leaves out calls of models without a known price. */
export interface ChatTotals {
  chat: string;
  messages: number;
  calls: number;
  tokens: number;
  dollars: number;
}

/** Adds up by chat; memory grows with the number of chats, by five numbers each. */
export interface TopChats {
  message(chat: string): void;
  call(chat: string, usage: Usage, dollars: number | undefined): void;
  /** The chats that cost most; where nothing has a price, those with most tokens. */
  top(count: number): ChatTotals[];
}

/** Empty totals. */
export function createTopChats(): TopChats {
  const chats = new Map<string, ChatTotals>();
  const of = (chat: string): ChatTotals => {
    const known = chats.get(chat) ?? { chat, messages: 0, calls: 0, tokens: 0, dollars: 0 };
    chats.set(chat, known);
    return known;
  };
  return {
    message(chat) {
      of(chat).messages += 1;
    },
    call(chat, { inputTokens, outputTokens }, dollars = 0) {
      const totals = of(chat);
      totals.calls += 1;
      totals.tokens += inputTokens + outputTokens;
      totals.dollars += dollars;
    },
    top: (count) =>
      [...chats.values()]
        .sort((one, other) => other.dollars - one.dollars || other.tokens - one.tokens || other.messages - one.messages)
        .slice(0, count)
        .map((totals) => ({ ...totals, dollars: Math.round(totals.dollars * 1e8) / 1e8 })),
  };
}
