import type { Params } from './params.ts';
import { tooManyRequests } from './refusal.ts';

/** "One message per second" is meant on average: a burst of some goes through. */
const CHAT = { calls: 5, withinMs: 5_000 };
type Allowance = typeof CHAT;
/** Counted over sends and edits; nobody promised it, everybody meets it. */
const GROUP: Allowance = { calls: 20, withinMs: 60_000 };
const BOT: Allowance = { calls: 30, withinMs: 1_000 };

const MESSAGES =
  /^(?:send(?:message|richmessage|document|photo|audio|mediagroup)|editmessagetext|editmessagereplymarkup)$/i;
/** Previews have a bucket that is not the one of messages. */
const DRAFTS = /^sendmessagedraft$/i;

/** The waits that the real API imposes on a bot that is too fast. */
export class Floods {
  readonly #now: () => number;
  readonly #taken = new Map<string, number[]>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Counts a call. Throws the 429, with the seconds to wait, where there are too many; a refused call is not counted. */
  take(method: string, { chat_id, media }: Params): void {
    const buckets = bucketsOf(method, Number(chat_id));
    const waitMs = Math.max(0, ...buckets.map(([key, allowance]) => this.#waitMs(key, allowance)));
    if (waitMs > 0) throw tooManyRequests(Math.ceil(waitMs / 1000));
    // Each message of an album counts.
    const messages: unknown[] = media === undefined ? [undefined] : JSON.parse(String(media));
    for (const [key] of buckets) this.#taken.get(key)?.push(...messages.map(() => this.#now()));
  }

  #waitMs(key: string, { calls, withinMs }: Allowance): number {
    const now = this.#now();
    const taken = (this.#taken.get(key) ?? []).filter((at) => at > now - withinMs);
    this.#taken.set(key, taken);
    const mustLeave = taken.at(-calls);
    return mustLeave === undefined ? 0 : mustLeave + withinMs - now;
  }
}

function bucketsOf(method: string, chatId: number): [string, Allowance][] {
  if (DRAFTS.test(method)) return [[`drafts of ${chatId}`, CHAT]];
  if (!MESSAGES.test(method) || Number.isNaN(chatId)) return [];
  const ofChat: [string, Allowance][] = [
    ['bot', BOT],
    [`chat ${chatId}`, CHAT],
  ];
  return chatId < 0 ? [...ofChat, [`group ${chatId}`, GROUP]] : ofChat;
}
