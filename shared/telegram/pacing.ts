import pThrottle from 'p-throttle';
import { BoundedMap } from '../base/bounded-map.ts';
import { pause, within } from '../base/lifecycle.ts';
import type { Telegram } from './client.ts';
import type { TelegramResult } from './failure.ts';
import type { Timing } from './method.ts';

/** At most `limit` calls in any `interval`. A burst of `limit` calls goes through at once. */
export interface Allowance {
  limit: number;
  /** In ms. */
  interval: number;
}

/** Resolves when a call may be made, in the order of the calls. Once the signal is aborted, a call takes no place. */
type Gate = (stopSignal?: AbortSignal) => Promise<void>;

/** The pace of one chat. */
interface ChatPace {
  readonly pass: Gate;
  /** The number of waiting calls. */
  waiting: number;
  /** The time at which the last call ended its wait. */
  lastMs: number;
}

/**
 * Takes a place for one call in the allowance of a group that all processes share. Returns 0, or the ms until there are new
 * places.
 *
 * Contract: never rejects, and takes some seconds at most. Returns 0 if Redis does not answer; the process has its own limits.
 */
export type AskPlace = (chatId: number) => Promise<number>;

/** The allowances: of a process for all chats, a chat and a group; and of all processes together for a group. */
export type Pace = Readonly<Record<'all' | 'chat' | 'group' | 'groupOfAll', Allowance>>;

/**
 * Telegram allows 30 messages a second in all, one a second in a chat, with bursts, and 20 a minute in a group (Bots FAQ). A
 * call that is delayed by others or by the network comes closer to the next call of its chat, so each allowance is smaller.
 *
 * All processes together count a group's calls in windows that begin with their first call. In any 63 seconds at most nine
 * windows of seven seconds begin, and the window before them has at most one call left: 9 * 2 + 1 = 19. No other whole numbers
 * allow as many calls in the long run, and three at once are few enough for a chat.
 */
export const PACE: Pace = {
  all: { limit: 25, interval: 1_000 },
  chat: { limit: 5, interval: 7_000 },
  group: { limit: 19, interval: 61_000 },
  groupOfAll: { limit: 2, interval: 7_000 },
};
/** The time from the end of a window until a call that was refused once asks again; after n refusals, an nth of that. */
const AGAIN_MS = 500;
/** The longest delay of a Node timer. No call waits for longer. */
const WAIT_MS_MAX = 2 ** 31 - 1;
const NEVER = Number.NEGATIVE_INFINITY;
/** The most chats whose recent calls a process remembers. It forgets the chat first that was idle for longest. */
const CHATS_MAX = 10_000;

/**
 * Delays calls that show something in a chat, so that they stay within Telegram's limits. Waiting calls go out in their order,
 * and each chat makes one call at a time, so that a busy chat does not delay the others. Drafts, "typing…" and polls do not
 * count. An optional call takes at most half of a chat's allowance, and never a place for which another call waits.
 *
 * `processes` returns the number of processes that send for this bot. Each has its share of the allowance for all chats. If
 * there are several, a call into a group also needs a place in the allowance that they share.
 */
export function paceTelegram(telegram: Telegram, processes: () => number, askPlace: AskPlace, pace = PACE): Telegram {
  const passAll = shareOf(pace.all, processes);
  const chats = new BoundedMap<number, ChatPace>(CHATS_MAX);
  const paceOf = (chatId: number): ChatPace => {
    // A call waits for its chat first, so that other chats can use the allowance of all meanwhile.
    const chat = chats.get(chatId) ?? { pass: oneByOne(...ownGates(chatId), passAll), waiting: 0, lastMs: NEVER };
    chats.set(chatId, chat);
    return chat;
  };
  const ownGates = (chatId: number): Gate[] => {
    if (chatId > 0) return [gateFor(pace.chat)];
    return [gateFor(pace.group), gateFor(pace.chat), amongAll(() => askPlace(chatId), processes)];
  };
  const hasRoom = (chatId: number, { waiting, lastMs }: ChatPace): boolean => {
    const { limit, interval } = chatId > 0 ? pace.chat : pace.group;
    return waiting === 0 && performance.now() - lastMs > (2 * interval) / limit;
  };
  const callInPace = async <T>(
    chatId: number,
    call: () => Promise<TelegramResult<T>>,
    { stopSignal, isOptional }: Timing = {},
    messages = 1,
  ): Promise<TelegramResult<T>> => {
    const chat = paceOf(chatId);
    if (isOptional && !hasRoom(chatId, chat)) return NOT_CALLED;
    chat.waiting += 1;
    // All places of an album are requested together, so that no other call gets in between.
    const places = Promise.all(Array.from({ length: messages }, () => chat.pass(stopSignal)));
    await within(places, WAIT_MS_MAX, stopSignal);
    chat.waiting -= 1;
    chat.lastMs = performance.now();
    return stopSignal?.aborted ? NOT_CALLED : call();
  };
  return {
    ...telegram,
    sendMessage: (to, text, options) => callInPace(to.chatId, () => telegram.sendMessage(to, text, options), options),
    sendRichMessage: (to, blocks, options) =>
      callInPace(to.chatId, () => telegram.sendRichMessage(to, blocks, options), options),
    sendFile: (to, file, options) => callInPace(to.chatId, () => telegram.sendFile(to, file, options), options),
    // Telegram counts each picture of an album.
    sendAlbum: (to, photos, options) =>
      callInPace(to.chatId, () => telegram.sendAlbum(to, photos, options), options, photos.length),
    editMessage: (to, id, text, options) =>
      callInPace(to.chatId, () => telegram.editMessage(to, id, text, options), options),
    editSummoned: (id, text, entities) => passAll().then(() => telegram.editSummoned(id, text, entities)),
    removeButtons: (to, id) => callInPace(to.chatId, () => telegram.removeButtons(to, id)),
  };
}

const NOT_CALLED: TelegramResult<never> = {
  ok: false,
  failure: { kind: 'throttled', description: 'not called: it is not its turn yet' },
};

function gateFor(allowance: Allowance): Gate {
  const gate = pThrottle({ ...allowance, strict: true })(() => undefined);
  return async () => void (await gate());
}

/** Lets one call at a time through all gates, so that calls do not pile up between two gates. */
function oneByOne(...gates: readonly Gate[]): Gate {
  let last = Promise.resolve();
  return (stopSignal) => {
    last = last.then(async () => {
      for (const gate of gates) if (!stopSignal?.aborted) await gate();
    });
    return last;
  };
}

/**
 * The gate for the allowance of a group that all processes share. In the next window the call with the most refusals asks
 * first, so none starves.
 */
function amongAll(ask: () => Promise<number>, processes: () => number): Gate {
  return async () => {
    for (let refusals = 1; processes() > 1; refusals++) {
      const waitMs = await ask();
      if (waitMs === 0) return;
      await pause(waitMs + AGAIN_MS / refusals);
    }
  };
}

/**
 * The gate for this process's share of an allowance. When the share changes, a new gate takes over, without the calls of the
 * last second.
 */
function shareOf(all: Allowance, processes: () => number): Gate {
  let sharers = 1;
  let gate = gateFor(all);
  return () => {
    const count = Math.max(1, processes());
    if (count !== sharers) {
      sharers = count;
      gate = gateFor({ ...all, limit: Math.max(1, Math.floor(all.limit / count)) });
    }
    return gate();
  };
}
