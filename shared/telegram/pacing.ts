import pThrottle from 'p-throttle';
import { BoundedMap } from '../base/bounded-map.ts';
import { pause, within } from '../base/lifecycle.ts';
import type { Telegram } from './client.ts';
import type { TelegramResult } from './failure.ts';
import type { Timing } from './method.ts';

/** So many calls within so long, at any time; a burst of that many goes through at once. */
export interface Allowance {
  limit: number;
  /** In ms. */
  interval: number;
}

/** Resolves when a call may be made; in the order of asking. Once the signal is aborted, the call takes no place. */
type Gate = (stopSignal?: AbortSignal) => Promise<void>;

/** The pace of one chat. */
interface ChatPace {
  readonly pass: Gate;
  /** Calls that wait to be made. */
  waiting: number;
  /** When the last one could be made. */
  lastMs: number;
}

/**
 * Asks for one call's place in a group among all processes. Resolves with 0 when it has it, or with the ms until there are
 * new ones.
 *
 * Contract: never rejects, and takes some seconds at most. Where nobody can tell, it is 0: the process keeps its own limits.
 */
export type AskPlace = (chatId: number) => Promise<number>;

/** What may be sent: by a process to all chats, to a chat, to a group; and to a group by all processes together. */
export type Pace = Readonly<Record<'all' | 'chat' | 'group' | 'groupOfAll', Allowance>>;

/**
 * Telegram's own figures are 30 messages a second in all, one a second in a chat, where bursts go through, and 20 a
 * minute in a group. A call that waits for all others, or is held up on the way, comes closer to the next one of its
 * chat: so each is less by what that may be.
 *
 * All processes together count a group's calls in windows that begin with their first one. In any 63 seconds no more than
 * nine windows of seven seconds begin, and the one before them has at most one call left: 9 * 2 + 1 = 19. No other whole
 * numbers let as many through in the long run, and three at once are few enough for a chat.
 */
export const PACE: Pace = {
  all: { limit: 25, interval: 1_000 },
  chat: { limit: 5, interval: 7_000 },
  group: { limit: 19, interval: 61_000 },
  groupOfAll: { limit: 2, interval: 7_000 },
};
/** How long after the end of a window a call asks again that was refused once; one that was refused n times, an nth. */
const AGAIN_MS = 500;
/** The longest delay of a Node timer. No call waits for longer. */
const WAIT_MS_MAX = 2 ** 31 - 1;
const NEVER = Number.NEGATIVE_INFINITY;
/** The chats whose recent calls are remembered; one that was idle for longest is forgotten first. */
const CHATS_MAX = 10_000;

/**
 * Keeps Telegram's limits instead of learning them from refusals: what shows something in a chat waits until it may be
 * sent. Waiting calls go out in the order in which they came, and a chat makes one at a time, so none is held up by
 * another's many. Drafts, "typing…" and polls do not count. What only shows that an answer is coming takes at most half of
 * what a chat may get, and never a place for which something else waits.
 *
 * `processes` is how many processes send for this bot: each keeps its share of what all may do. Where there are several, a
 * call into a group also has a place among all of theirs.
 */
export function paceTelegram(telegram: Telegram, processes: () => number, askPlace: AskPlace, pace = PACE): Telegram {
  const mayAnybody = shared(processes, pace.all);
  const chats = new BoundedMap<number, ChatPace>(CHATS_MAX);
  const paceOf = (chatId: number): ChatPace => {
    // A chat's own wait comes first: meanwhile others use what all may do.
    const known = chats.get(chatId) ?? { pass: oneByOne(...ownGates(chatId), mayAnybody), waiting: 0, lastMs: NEVER };
    chats.set(chatId, known);
    return known;
  };
  const ownGates = (chatId: number): Gate[] => {
    if (chatId > 0) return [gateFor(pace.chat)];
    return [gateFor(pace.group), gateFor(pace.chat), amongAll(() => askPlace(chatId), processes)];
  };
  const hasRoom = (chatId: number, { waiting, lastMs }: ChatPace): boolean => {
    const { limit, interval } = chatId > 0 ? pace.chat : pace.group;
    return waiting === 0 && performance.now() - lastMs > (2 * interval) / limit;
  };
  const paced = async <T>(
    chatId: number,
    call: () => Promise<TelegramResult<T>>,
    { stopSignal, isOptional }: Timing = {},
    messages = 1,
  ): Promise<TelegramResult<T>> => {
    const chat = paceOf(chatId);
    if (isOptional && !hasRoom(chatId, chat)) return NOT_CALLED;
    chat.waiting += 1;
    // Asked for at once, so that no other call gets in between.
    const passed = Promise.all(Array.from({ length: messages }, () => chat.pass(stopSignal)));
    await within(passed, WAIT_MS_MAX, stopSignal);
    chat.waiting -= 1;
    chat.lastMs = performance.now();
    return stopSignal?.aborted ? NOT_CALLED : call();
  };
  return {
    ...telegram,
    sendMessage: (to, text, options) => paced(to.chatId, () => telegram.sendMessage(to, text, options), options),
    sendRichMessage: (to, blocks, options) =>
      paced(to.chatId, () => telegram.sendRichMessage(to, blocks, options), options),
    sendFile: (to, file, options) => paced(to.chatId, () => telegram.sendFile(to, file, options), options),
    // Telegram counts each of its pictures.
    sendAlbum: (to, photos, options) =>
      paced(to.chatId, () => telegram.sendAlbum(to, photos, options), options, photos.length),
    editMessage: (to, id, text, options) =>
      paced(to.chatId, () => telegram.editMessage(to, id, text, options), options),
    editSummoned: (id, text, entities) => mayAnybody().then(() => telegram.editSummoned(id, text, entities)),
    removeButtons: (to, id) => paced(to.chatId, () => telegram.removeButtons(to, id)),
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

/** Through all gates, one call after the other: those that have passed one of them do not pile up before the next. */
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
 * A place in a group among all processes. Of the calls that wait in several of them, the one that was refused most often is
 * the first to ask in the next window: none starves.
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
 * The gate of all chats, for this process's share. When the share changes, the new gate knows nothing of the last
 * second.
 */
function shared(processes: () => number, all: Allowance): Gate {
  let known = 1;
  let gate = gateFor(all);
  return () => {
    const now = Math.max(1, processes());
    if (now !== known) {
      known = now;
      gate = gateFor({ ...all, limit: Math.max(1, Math.floor(all.limit / now)) });
    }
    return gate();
  };
}
