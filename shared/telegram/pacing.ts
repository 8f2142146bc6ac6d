import pThrottle from 'p-throttle';
import type { Telegram } from './client.ts';

/** So many calls within so long, at any time; a burst of that many goes through at once. */
interface Allowance {
  limit: number;
  /** In ms. */
  interval: number;
}

/** Resolves when a call may be made; in the order of asking. */
type Gate = () => Promise<void>;

/**
 * Telegram's own figures are 30 messages a second in all, one a second in a chat, where bursts go through, and 20 a
 * minute in a group. A call that waits for all others, or is held up on the way, comes closer to the next one of its
 * chat: so each is less by what that may be.
 */
const ALL: Allowance = { limit: 25, interval: 1_000 };
const CHAT: Allowance = { limit: 5, interval: 7_000 };
const GROUP: Allowance = { limit: 19, interval: 61_000 };
/** The chats whose recent calls are remembered; one that was idle for longest is forgotten first. */
const CHATS_MAX = 10_000;

/**
 * Keeps Telegram's limits instead of learning them from refusals: what shows something in a chat waits until it may be
 * sent. Waiting calls go out in the order in which they came, and a chat makes one at a time, so none is held up by
 * another's many. Drafts, "typing…" and polls do not count.
 *
 * `processes` is how many processes send for this bot: each keeps its share of what all may do.
 */
export function paceTelegram(telegram: Telegram, processes: () => number): Telegram {
  const mayAnybody = shared(processes);
  const chats = new Map<number, Gate>();
  const gateOf = (chatId: number): Gate => {
    // A chat's own wait comes first: meanwhile others use what all may do.
    const gate = chats.get(chatId) ?? oneByOne(...(chatId < 0 ? [gateFor(GROUP)] : []), gateFor(CHAT), mayAnybody);
    chats.delete(chatId);
    chats.set(chatId, gate);
    const [oldest] = chats.keys();
    if (chats.size > CHATS_MAX && oldest !== undefined) chats.delete(oldest);
    return gate;
  };
  const paced = async <T>(chatId: number, call: () => Promise<T>, messages = 1): Promise<T> => {
    // Asked for at once, so that no other call gets in between.
    await Promise.all(Array.from({ length: messages }, () => gateOf(chatId)()));
    return call();
  };
  return {
    ...telegram,
    sendMessage: (to, text, options) => paced(to.chatId, () => telegram.sendMessage(to, text, options)),
    sendRichMessage: (to, blocks, options) => paced(to.chatId, () => telegram.sendRichMessage(to, blocks, options)),
    sendFile: (to, file, options) => paced(to.chatId, () => telegram.sendFile(to, file, options)),
    // Telegram counts each of its pictures.
    sendAlbum: (to, photos, options) => paced(to.chatId, () => telegram.sendAlbum(to, photos, options), photos.length),
    editMessage: (to, id, text, options) => paced(to.chatId, () => telegram.editMessage(to, id, text, options)),
    editSummoned: (id, text, entities) => mayAnybody().then(() => telegram.editSummoned(id, text, entities)),
    removeButtons: (to, id) => paced(to.chatId, () => telegram.removeButtons(to, id)),
  };
}

function gateFor(allowance: Allowance): Gate {
  const gate = pThrottle({ ...allowance, strict: true })(() => undefined);
  return async () => void (await gate());
}

/** Through all gates, one call after the other: those that have passed one of them do not pile up before the next. */
function oneByOne(...gates: readonly Gate[]): Gate {
  let last = Promise.resolve();
  return () => {
    last = last.then(async () => {
      for (const gate of gates) await gate();
    });
    return last;
  };
}

/**
 * The gate of all chats, for this process's share. When the share changes, the new gate knows nothing of the last
 * second.
 */
function shared(processes: () => number): Gate {
  let known = 1;
  let gate = gateFor(ALL);
  return () => {
    const now = Math.max(1, processes());
    if (now !== known) {
      known = now;
      gate = gateFor({ ...ALL, limit: Math.max(1, Math.floor(ALL.limit / now)) });
    }
    return gate();
  };
}
