import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BURST_MAX } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, INBOUND_GROUP, type Keys, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Turn } from '../turn/turn.ts';
import type { OutcomeRecord } from './record-streams.ts';

/** The oldest unanswered message of a lane: the only one of it that may be a job. */
export interface Head {
  entry: EntryId;
  /** Its lane: that of its chat, or the command lane. */
  chat: LaneKey;
  traceparent: string;
  /** Who wrote it; absent where nobody looked. */
  person?: number;
}

/** A head as a script names it. */
type HeadReply = [EntryId, LaneKey, traceparent: string, person?: string];

/** Reads a head from a script's reply. Pure. */
export function headOf([entry, chat, traceparent, person = '']: HeadReply): Head {
  return { entry, chat, traceparent, ...(person !== '' && { person: Number(person) }) };
}

/** The result of reading new entries. */
export interface Admission {
  newest: string;
  read: number;
  heads: Head[];
  broken: EntryId[];
  cancelled: EntryId[];
  /** Messages settled because their lane was full, with their chats. */
  refused: Head[];
}

/** The result of a repair of the lanes. */
export interface Readmission {
  /** The heads of all lanes that are not paused. */
  heads: Head[];
  /** Entries that name no chat. */
  broken: EntryId[];
  /** How many pending entries were put back into their lane. */
  restored: number;
  /** Entries of lanes that a later version may know: they are left alone. `Lane.readmit` names each once. */
  foreign: EntryId[];
}

/** How a message ends. */
interface Settling {
  record: OutcomeRecord;
  /** Whether the dead letter holds what was to be delivered. */
  keepsAnswer: boolean;
  /** How long an open session lasts in which nobody writes; 0 for ever. */
  idleSeconds: number;
}

/** The result of settling a message, with the lane's next head. */
export interface Settled {
  result: 'settled' | 'repeated' | 'fenced';
  next?: Head;
}

/** Every dispatcher reads as this consumer. */
const CONSUMER = 'dispatcher';
/** How long a turn is kept once its message has ended. */
const TURN_KEEP_SECONDS = 3600;
/** Lanes, or pending entries, that one step looks at: Redis does nothing else meanwhile, some two milliseconds. */
const SLICE = 200;

/** The lanes of a shard as Redis keeps them; each reply that states the time of Redis sets the clock. Contract: as `Lane`. */
export function createLaneStore(redis: RedisClient, keys: Keys, clock: RedisClock, messagesMax: number) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const discard = script<number>('discard');
  return {
    /** Creates the consumer group if it is missing. */
    prepare: () => createGroup(redis, keys),
    admit: bindAdmit(redis, keys, clock, messagesMax),
    readmit: bindReadmit(redis, keys, clock),
    settle: bindSettle(redis, keys),
    async discard(entry: EntryId, record: OutcomeRecord, alert: string): Promise<boolean> {
      const at = [keys.inbound, keys.outcomes, keys.dead, keys.alerts, keys.counts, keys.turn(entry)];
      const isDiscarded = (await discard(at, [entry, INBOUND_GROUP, JSON.stringify(record), alert])) === 1;
      // A message that was begun has a turn; the next pass heals its lane.
      await redis.expire(keys.turn(entry), TURN_KEEP_SECONDS);
      return isDiscarded;
    },
  };
}

async function createGroup(redis: RedisClient, keys: Keys): Promise<void> {
  // A full Redis refuses to create even what is there, and a gateway must be able to start on it.
  const groups = await redis.xinfo('GROUPS', keys.inbound).catch(() => []);
  if (JSON.stringify(groups).includes(`"${INBOUND_GROUP}"`)) return;
  await redis.xgroup('CREATE', keys.inbound, INBOUND_GROUP, '0', 'MKSTREAM').catch((error: Error) => {
    if (!error.message.startsWith('BUSYGROUP')) throw error;
  });
}

type AdmitReply = [
  [newest: string, read: number, HeadReply[], broken: EntryId[], cancelled: EntryId[], refused: HeadReply[]],
  timeMs: number,
];

function bindAdmit(redis: RedisClient, keys: Keys, clock: RedisClock, messagesMax: number) {
  const admit = bindScript<AdmitReply>(redis, join(import.meta.dirname, 'admit.lua'));
  const at = [keys.inbound, keys.lanes, keys.absent, keys.admitted(randomUUID()), keys.outcomes, keys.counts];
  let calls = 0;
  return async (count: number): Promise<Admission> => {
    const call = ++calls;
    const prefixes = [keys.lanePrefix, keys.turnPrefix];
    const args = [INBOUND_GROUP, CONSUMER, count, ...prefixes, messagesMax, BURST_MAX, call, keys.chatPrefix];
    const [[newest, read, heads, broken, cancelled, refused]] = await clock.learn(
      () => admit(at, args),
      ([, timeMs]) => timeMs,
    );
    return { newest, read, heads: heads.map(headOf), broken, cancelled, refused: refused.map(headOf) };
  };
}

type ReadmitReply = [next: EntryId | '', broken: EntryId[], restored: number, foreign: EntryId[], timeMs: number];

function bindReadmit(redis: RedisClient, keys: Keys, clock: RedisClock) {
  const bind = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const readmit = bind<ReadmitReply>('readmit');
  const headsIn = bind<[cursor: string, HeadReply[]]>('heads');
  const at = [keys.inbound, keys.lanes, keys.absent];
  return async (): Promise<Readmission> => {
    const found: Readmission = { heads: [], broken: [], restored: 0, foreign: [] };
    for (let from: EntryId | '' | undefined; from !== ''; ) {
      const args = [INBOUND_GROUP, keys.lanePrefix, SLICE, from ?? ''];
      const [next, broken, restored, foreign] = await clock.learn(
        () => readmit(at, args),
        (reply) => reply[4],
      );
      found.broken.push(...broken);
      found.foreign.push(...foreign);
      found.restored += restored;
      from = next;
    }
    for (let cursor: string | undefined; cursor !== '0'; ) {
      const [next, heads] = await headsIn(
        [...at, keys.paused],
        [keys.lanePrefix, cursor ?? '0', SLICE, SLICE, keys.turnPrefix],
      );
      found.heads.push(...heads.map(headOf));
      cursor = next;
    }
    return found;
  };
}

type SettleReply = [Settled['result'], EntryId | '', LaneKey, traceparent: string, person: string];

function bindSettle(redis: RedisClient, keys: Keys) {
  const settle = bindScript<SettleReply>(redis, join(import.meta.dirname, 'settle.lua'));
  return async (turn: Turn, { record, keepsAnswer, idleSeconds }: Settling): Promise<Settled> => {
    const { entry, lane, chat, fencingToken, session } = turn;
    const { inbound, lanes, outcomes, dead, counts, poisonCandidates, absent, lanePrefix, turnPrefix } = keys;
    const at = [
      ...[inbound, keys.lane(lane), lanes, keys.turn(entry), outcomes, dead, counts, poisonCandidates],
      ...[keys.chat(chat), absent, keys.session(session), keys.log(session)],
    ];
    const [result, head, ...rest] = await turn.afterWrites((place) =>
      settle(at, [
        ...[entry, lane, fencingToken, INBOUND_GROUP, record.outcome, JSON.stringify(record), idleSeconds],
        ...[TURN_KEEP_SECONDS, place, lanePrefix, turnPrefix, keepsAnswer ? 1 : ''],
      ]),
    );
    return { result, ...(head !== '' && { next: headOf([head, ...rest]) }) };
  };
}

/**
 * The time of a shard's Redis server, which names entries and schedules jobs: clocks of different machines differ. It
 * is learnt from replies to ordinary requests, and carried forward by the monotonic clock.
 */
export interface RedisClock {
  /** Ms since the epoch; this process's own time until a reply has set it. */
  nowMs(): number;
  /** Sends a request to Redis whose reply states the time. */
  learn<T>(ask: () => Promise<T>, timeOf: (reply: T) => number | undefined): Promise<T>;
}

/** A reply that took longer was delayed or re-sent, and says too little about the present. */
const ROUND_TRIP_MS_MAX = 1_000;

/** A clock that has learnt nothing yet. */
export function createClock(): RedisClock {
  /** The time of Redis at which our monotonic clock began. */
  let startMs: number | undefined;
  return {
    nowMs: () => Math.round(startMs === undefined ? Date.now() : startMs + performance.now()),
    async learn(ask, timeOf) {
      const askedMs = performance.now();
      const reply = await ask();
      const answeredMs = performance.now();
      const timeMs = timeOf(reply);
      const isQuick = answeredMs - askedMs <= ROUND_TRIP_MS_MAX;
      if (timeMs !== undefined && (isQuick || startMs === undefined)) startMs = timeMs - (askedMs + answeredMs) / 2;
      return reply;
    },
  };
}
