/** Counts what Redis holds, by family of key: what belongs to messages under way, and what is kept of those that are done. */
import { type ChatKey, type EntryId, type Keys, type SessionId, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import type { ChaosWorld } from './world.ts';

/** What the keys of a family are for, and so how many of them there may be. */
export type Purpose =
  /** Messages under way: when none is, there is as much as before the first. */
  | 'under way'
  /** Kept of each message or chat. */
  | 'kept'
  /** Kept of each session: with no TTL only of the one that its chat uses. */
  | 'kept of a session'
  /** A few for the whole shard, however many messages there were. */
  | 'single'
  /** Nobody knows it. */
  | 'unknown';

/** A family of keys. */
export interface Family {
  name: string;
  purpose: Purpose;
  /** Whether its keys may be without a TTL: what users expect to be kept, and what is trimmed by other means. */
  lasts: boolean;
}

/** What a family takes up at one moment. */
export interface Size {
  family: Family;
  keys: number;
  bytes: number;
  withoutTtl: number;
}

/** Every family that was seen, at one moment. */
export interface Census {
  /** Messages that had their outcome. */
  settled: number;
  sizes: readonly Size[];
}

type Rule = readonly [name: string, purpose: Purpose, lasts: boolean, start: string];

const SCANNED = 1_000;

/** The families of a shard; the first whose beginning a key has is its own. */
function rulesOf(keys: Keys, botId: number): Rule[] {
  const queue = `${keys.queuePrefix}:${TURNS_QUEUE}`;
  return [
    ['entries of the stream', 'under way', true, keys.inbound],
    ['lanes', 'under way', true, keys.lanes],
    ['lane of a chat', 'under way', true, keys.lane('' as ChatKey)],
    ['suspects', 'under way', true, keys.poisonCandidates],
    ['alerts', 'under way', true, keys.alerts],
    ['sessions to archive', 'under way', true, keys.archivable],
    ['last admissions', 'single', false, keys.admitted('')],
    ["the reconciler's pass", 'single', false, keys.pass],
    ['jobs', 'under way', true, `${queue}:m-`],
    ["queue's log of events", 'single', true, `${queue}:events`],
    ["queue's own", 'single', true, `${queue}:`],
    ['turns', 'kept', false, keys.turn('' as EntryId)],
    ['updates seen', 'kept', false, keys.updates(botId, 0).slice(0, -1)],
    ['what may follow', 'kept', false, keys.follows(botId, 0, 0).slice(0, -'0:0'.length)],
    ['moved groups', 'single', true, keys.movedGroups],
    ['entries by message', 'kept', false, keys.written(botId, 0, 0).slice(0, -'0:0'.length)],
    ['chats', 'kept', true, keys.chat('' as ChatKey)],
    ['sessions', 'kept of a session', true, keys.session('' as SessionId)],
    ['logs of sessions', 'kept of a session', true, keys.log('' as SessionId)],
    ['archives of sessions', 'kept', false, keys.archive('' as SessionId)],
    ['files', 'kept', false, keys.media('', '' as ChatKey).slice(0, -1)],
    ...keptOfChat(keys),
    ['pointers to files', 'kept', false, keys.blob('', '' as ChatKey).slice(0, -1)],
    ['blob store', 'single', true, keys.blobStore],
    ["the blob keeper's pass", 'single', false, keys.blobPass],
    ['spending', 'kept', false, keys.spent('')],
    ['reservations', 'under way', false, keys.reservations],
    ['reservations settled', 'kept', false, keys.settled('')],
    ['use of a day', 'kept', false, keys.usage('', '' as ChatKey).slice(0, -':'.length)],
    ['ledger of outcomes', 'kept', true, keys.outcomes],
    ['audit trail', 'kept', true, keys.events],
    ['dead letters', 'kept', true, keys.dead],
    ['lease of the poller', 'single', false, keys.poller(botId)],
    ['counts', 'single', true, keys.counts],
    ['start under way', 'single', false, keys.starting],
    ['probe of the endpoint', 'single', false, keys.endpointProbe],
    ['number of shards', 'single', true, keys.shards],
    ['absent, as it must always be', 'under way', false, keys.absent],
    ['how polling goes', 'single', true, keys.poll],
    ['book of incidents', 'single', true, keys.incidents],
    ['pauses', 'single', false, keys.paused],
    ['chats without the bot', 'single', false, keys.gone],
    ['strangers who asked to be let in', 'single', true, keys.strangers],
    ['actions of operators', 'kept', false, keys.actions],
    ['lock of the alerter', 'under way', false, keys.alertingLock],
    ['how alerting goes', 'single', true, keys.alerting],
    ['how the model fares', 'single', true, keys.provider],
    ['how long the models live', 'single', true, keys.models],
    ['how Telegram fares', 'single', true, keys.telegram],
    ...ofWorkers(keys),
    ['trial of a write', 'single', false, keys.checked],
  ];
}

function ofWorkers(keys: Keys): Rule[] {
  return [
    ['workers', 'single', true, keys.workers],
    ['what runs in the workers', 'single', true, keys.running],
    ['what the workers keep in memory', 'single', true, keys.cached],
  ];
}

function keptOfChat(keys: Keys): Rule[] {
  return [
    ['reminders to come', 'kept', true, keys.reminders],
    ['calls into groups', 'single', false, keys.paced(0).slice(0, -1)],
    ['allowed ids', 'single', false, keys.allowed],
    ['reminders of a chat', 'kept', true, keys.remindersOf('' as ChatKey)],
    ['erasures', 'single', true, keys.erasures],
    ['ends of pauses', 'single', false, keys.resumed],
    ['calls that are booked', 'kept', false, keys.booked('')],
    ['memory of a chat', 'kept', true, keys.memory('' as ChatKey)],
    ['changes of a memory', 'kept', false, keys.memoryChanges('' as ChatKey)],
  ];
}

/** Sorts keys into families. Pure. */
export function familyTeller(keys: Keys, botId: number): (key: string) => Family {
  const rules = rulesOf(keys, botId);
  return (key) => {
    const found = rules.find(([, , , start]) =>
      start.endsWith(':') || start.endsWith('-') ? key.startsWith(start) : key === start,
    );
    if (found === undefined) return { name: key, purpose: 'unknown', lasts: false };
    const [name, purpose, lasts] = found;
    return { name, purpose, lasts };
  };
}

/** What is needed of a world. */
interface Counted extends Pick<ChaosWorld, 'peek' | 'keys'> {
  telegram: { botId: number };
}

/**
 * Counts all keys of a world that hold something: a stream that was used once stays, empty. The server is asked in
 * portions, so that nobody waits long for it.
 */
export async function takeCensus({ peek, keys, telegram }: Counted): Promise<Census> {
  const familyOf = familyTeller(keys, telegram.botId);
  const sizes = new Map<string, Size>();
  const settled = await peek.xlen(keys.outcomes);
  let cursor = '0';
  do {
    const [next, found] = await peek.scan(cursor, 'COUNT', SCANNED);
    cursor = next;
    for (const { key, bytes, ttlMs } of await measured(peek, found)) {
      const family = familyOf(key);
      const size = sizes.get(family.name) ?? { family, keys: 0, bytes: 0, withoutTtl: 0 };
      sizes.set(family.name, {
        family,
        keys: size.keys + 1,
        bytes: size.bytes + bytes,
        withoutTtl: size.withoutTtl + (ttlMs === -1 ? 1 : 0),
      });
    }
  } while (cursor !== '0');
  return { settled, sizes: [...sizes.values()].toSorted((a, b) => b.bytes - a.bytes) };
}

async function measured(peek: ChaosWorld['peek'], found: readonly string[]) {
  const pipeline = peek.pipeline();
  for (const key of found) pipeline.memory('USAGE', key, 'SAMPLES', 0).pttl(key).xlen(key);
  const replies = (await pipeline.exec()) ?? [];
  const numberAt = (index: number): number => Number(replies[index]?.[1] ?? 0);
  // What is no stream has no length: that reply is an error.
  const isEmpty = (index: number): boolean => replies[index]?.[1] === 0;
  return found.flatMap((key, index) =>
    isEmpty(3 * index + 2) ? [] : [{ key, bytes: numberAt(3 * index), ttlMs: numberAt(3 * index + 1) }],
  );
}
