import { asInteger, asJson, type Params } from './params.ts';
import { RefusedError } from './refusal.ts';

/** So many calls within so long. */
interface Allowance {
  readonly calls: number;
  readonly withinMs: number;
}

/** "One message per second" is meant on average: a burst of some goes through. */
const CHAT: Allowance = { calls: 5, withinMs: 5_000 };
/** Counted over sends and edits; nobody promised it, everybody meets it. */
const GROUP: Allowance = { calls: 20, withinMs: 60_000 };
const BOT: Allowance = { calls: 30, withinMs: 1_000 };

const MESSAGES =
  /^(?:sendmessage|sendrichmessage|senddocument|sendphoto|sendaudio|sendmediagroup|editmessagetext|editmessagereplymarkup|editmessagecaption)$/;
/** Plain and rich previews share a bucket, and it is not the one of messages. */
const DRAFTS = /^send(?:rich)?messagedraft$/;

/** The waits that the real API imposes on a bot that is too fast. */
export class Floods {
  readonly #now: () => number;
  readonly #taken = new Map<string, number[]>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Counts a call. Throws the 429, with the seconds to wait, where there are too many; a refused call is not counted. */
  take(method: string, params: Params): void {
    const buckets = bucketsOf(method.toLowerCase(), asInteger(params.chat_id));
    const waitMs = Math.max(0, ...buckets.map(([key, allowance]) => this.#waitMs(key, allowance)));
    if (waitMs > 0) throw tooManyRequests(Math.ceil(waitMs / 1000));
    for (const [key] of buckets) this.#taken.get(key)?.push(...messagesIn(params).map(() => this.#now()));
  }

  #waitMs(key: string, { calls, withinMs }: Allowance): number {
    const now = this.#now();
    const taken = (this.#taken.get(key) ?? []).filter((at) => at > now - withinMs);
    this.#taken.set(key, taken);
    const mustLeave = taken.at(-calls);
    return mustLeave === undefined ? 0 : mustLeave + withinMs - now;
  }
}

/** Each message of an album counts. */
function messagesIn({ media }: Params): unknown[] {
  const all = asJson(media);
  return Array.isArray(all) ? all : [undefined];
}

function bucketsOf(method: string, chatId: number | undefined): [string, Allowance][] {
  if (DRAFTS.test(method)) return [[`drafts of ${chatId}`, CHAT]];
  if (!MESSAGES.test(method) || chatId === undefined) return [];
  return [
    ['bot', BOT],
    [`chat ${chatId}`, CHAT],
    ...(chatId < 0 ? [[`group ${chatId}`, GROUP] as [string, Allowance]] : []),
  ];
}

function tooManyRequests(seconds: number): RefusedError {
  return new RefusedError({
    status: 429,
    description: `Too Many Requests: retry after ${seconds}`,
    parameters: { retry_after: seconds },
  });
}
