import pThrottle from 'p-throttle';
import { BoundedMap } from '../base/bounded-map.ts';
import { pause, within } from '../base/lifecycle.ts';
import type { Telegram } from './client.ts';
import type { TelegramResult } from './failure.ts';
import type { Timing } from './method.ts';

/** At most `limit` calls in any `interval`. A burst of `limit` calls goes through at once. */
export interface Allowance {
  limit: number;
  /** The length of the interval in ms. */
  interval: number;
}

/** Resolves when a call may be made, in the order of the calls. A call whose signal has aborted takes no place. */
type Gate = (stopSignal?: AbortSignal) => Promise<void>;

interface ChatPace {
  readonly pass: Gate;
  /** The number of waiting calls. */
  waiting: number;
  /** The time at which the last call ended its wait. */
  lastMs: number;
}

/**
 * Takes a place for one call in a group's allowance, which all processes share. Returns 0 if there was a place, else the ms
 * until there are new places.
 *
 * Contract: never rejects; takes some seconds at most. Also returns 0 if Redis does not answer, because each process has limits
 * of its own.
 */
export type AskPlace = (chatId: number) => Promise<number>;

/**
 * The allowances. `all`: for all chats together, divided among the processes. `chat` and `group`: of one process, for each chat
 * and each group. `groupOfAll`: of all processes together, for each group.
 */
export type Pace = Readonly<Record<'all' | 'chat' | 'group' | 'groupOfAll', Allowance>>;

/**
 * Telegram allows 30 messages a second in all, one a second in a chat, with bursts, and 20 a minute in a group (Bots FAQ). The
 * network may delay one call more than the next one, so that both arrive close together; so each allowance is smaller.
 *
 * `groupOfAll` counts the calls of all processes into a group, in windows of seven seconds. Each begins with its first call.
 * In any 63 seconds at most nine windows begin, and one call of an earlier window may remain: 9 * 2 + 1 = 19 calls. No other
 * whole numbers allow as many calls in the long run. Three calls at the border of two windows are few enough for a chat.
 */
export const PACE: Pace = {
  all: { limit: 25, interval: 1_000 },
  chat: { limit: 5, interval: 7_000 },
  group: { limit: 19, interval: 61_000 },
  groupOfAll: { limit: 2, interval: 7_000 },
};
/** After the end of a window, a call waits for this time, divided by the number of its refusals, before it asks again. */
const AGAIN_MS = 500;
/** The longest delay of a Node timer. No call waits for longer than this. */
const WAIT_MS_MAX = 2 ** 31 - 1;
const NEVER = Number.NEGATIVE_INFINITY;
/** The maximum number of chats whose calls a process remembers. A process first forgets the chat that was idle longest. */
const CHATS_MAX = 10_000;

/**
 * Delays sends and edits of messages, so that they stay within Telegram's limits. Waiting calls of a chat go out in order and
 * one at a time, so that a busy chat does not delay other chats. Other calls, e.g. drafts and polls, do not count. Optional
 * calls take at most half of a chat's allowance, and never a place for which another call of the chat waits.
 *
 * `processes` returns the number of processes that send for this bot. Each has its share of the allowance for all chats. If
 * there are several processes, a call into a group also needs a place in the group's allowance, which the processes share.
 */
export function paceTelegram(telegram: Telegram, processes: () => number, askPlace: AskPlace, pace = PACE): Telegram {
  const passAll = shareOf(pace.all, processes);
  const chats = new BoundedMap<number, ChatPace>(CHATS_MAX);
  const paceOf = (chatId: number): ChatPace => {
    // A call waits for its chat's gates first, so that calls of other chats can use the allowance for all chats meanwhile.
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
    // Request all places of an album together, so that no other call gets in between.
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
 * The gate for a group's allowance, which all processes share; open if there is only one process. After the end of a window,
 * the call with the most refusals asks first, so that no call waits for ever.
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
 * The gate for this process's share of an allowance. When the share changes, a new gate takes over, and does not count
 * earlier calls.
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
