import { randomUUID } from 'node:crypto';
import { BURST_MAX } from '../../flow/message.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, INBOUND_GROUP, type Keys, type LaneKey } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import type { Turn } from '../turn/turn.ts';
import type { OutcomeRecord } from './record-streams.ts';

/** The oldest unanswered message of a lane, and the only one of the lane that may be a job. */
export interface Head {
  entry: EntryId;
  /** The head's lane: the chat's own lane, its command lane or its desk lane. */
  chat: LaneKey;
  traceparent: string;
  /** The id of the message's author; absent if unknown, and in replies of scripts that do not read the author. */
  person?: number;
}

type HeadReply = [EntryId, LaneKey, traceparent: string, person?: string];

/** Reads a head from a script's reply. Pure. */
export function headOf([entry, chat, traceparent, person = '']: HeadReply): Head {
  return { entry, chat, traceparent, ...(person !== '' && { person: Number(person) }) };
}

/** The result of an admission: `admit.lua` reads new entries and appends each to its lane. */
export interface Admission {
  /** The id of the newest entry that the consumer group has read. */
  newest: string;
  /** The number of entries read now. */
  read: number;
  /** The heads of the lanes of the entries read now. */
  heads: Head[];
  /** Entries that name no chat. */
  broken: EntryId[];
  /** The entries of those `heads` that are cancelled. */
  cancelled: EntryId[];
  /** Messages settled as refused because their lane was full. */
  refused: Head[];
}

/** The result of a repair of the lanes. */
export interface Readmission {
  /** The heads of all lanes, without those that are paused or wait for a person's decision. */
  heads: Head[];
  /** Entries that name no chat. */
  broken: EntryId[];
  /** How many pending entries were missing from their lane and are in it again. */
  restored: number;
  /** Entries of lanes that only a later version knows; the repair skips them. */
  foreign: EntryId[];
}

/** The facts about a message's outcome that `settle` needs. */
interface Settling {
  record: OutcomeRecord;
  /** Whether to store a dead letter with the undelivered answer. */
  keepsAnswer: boolean;
  /** Redis removes an open session after this time without a message; 0: never. */
  idleSeconds: number;
}

/** The result of settling a message, with the lane's next head. */
export interface Settled {
  result: 'settled' | 'repeated' | 'fenced';
  next?: Head;
}

/** The consumer name under which every dispatcher reads the stream. */
const CONSUMER = 'dispatcher';
/** How long Redis stores a turn's hash after the outcome of its message. */
const TURN_KEEP_SECONDS = 3600;
/** How many lanes or pending entries one script call looks at. Such a call blocks Redis for about two milliseconds. */
const SLICE = 200;

/** The lanes of a shard in Redis. Replies that state the time of Redis set `clock`. Methods reject if Redis fails. */
export function createLaneStore(redis: RedisClient, keys: Keys, clock: RedisClock, messagesMax: number) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
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
      // An attempt may have created a turn for the entry. The reconciler's next pass removes the entry from its lane.
      await redis.expire(keys.turn(entry), TURN_KEEP_SECONDS);
      return isDiscarded;
    },
  };
}

async function createGroup(redis: RedisClient, keys: Keys): Promise<void> {
  // A full Redis refuses `XGROUP CREATE` even for an existing group, and the gateway must start on a full Redis.
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
  const admit = bindScript<AdmitReply>(redis, `${import.meta.dirname}/admit.lua`);
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
  const bind = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
  const readmit = bind<ReadmitReply>('readmit');
  const headsIn = bind<[cursor: string, HeadReply[]]>('heads');
  const at = [keys.inbound, keys.lanes, keys.absent];
  return async (): Promise<Readmission> => {
    const result: Readmission = { heads: [], broken: [], restored: 0, foreign: [] };
    for (let from: EntryId | '' | undefined; from !== ''; ) {
      const args = [INBOUND_GROUP, keys.lanePrefix, SLICE, from ?? ''];
      const [next, broken, restored, foreign] = await clock.learn(
        () => readmit(at, args),
        (reply) => reply[4],
      );
      result.broken.push(...broken);
      result.foreign.push(...foreign);
      result.restored += restored;
      from = next;
    }
    for (let cursor: string | undefined; cursor !== '0'; ) {
      const [next, heads] = await headsIn(
        [...at, keys.paused],
        [keys.lanePrefix, cursor ?? '0', SLICE, SLICE, keys.turnPrefix],
      );
      result.heads.push(...heads.map(headOf));
      cursor = next;
    }
    return result;
  };
}

type SettleReply = [Settled['result'], EntryId | '', LaneKey, traceparent: string, person: string];

function bindSettle(redis: RedisClient, keys: Keys) {
  const settle = bindScript<SettleReply>(redis, `${import.meta.dirname}/settle.lua`);
  return async (turn: Turn, { record, keepsAnswer, idleSeconds }: Settling): Promise<Settled> => {
    const { entry, lane, chat, fencingToken, session } = turn;
    const { inbound, lanes, outcomes, dead, counts, poisonCandidates, absent, lanePrefix, turnPrefix } = keys;
    const at = [
      ...[inbound, keys.lane(lane), lanes, keys.turn(entry), outcomes, dead, counts, poisonCandidates],
      ...[keys.chat(chat), absent, keys.session(session), keys.log(session)],
    ];
    const [result, head, ...rest] = await turn.afterWrites((writeNumbers) =>
      settle(at, [
        ...[entry, lane, fencingToken, INBOUND_GROUP, record.outcome, JSON.stringify(record), idleSeconds],
        ...[TURN_KEEP_SECONDS, writeNumbers, lanePrefix, turnPrefix, keepsAnswer ? 1 : ''],
      ]),
    );
    return { result, ...(head !== '' && { next: headOf([head, ...rest]) }) };
  };
}

export type RedisClock = ReturnType<typeof createClock>;

/**
 * The longest round trip after which a reply sets the clock again. A slower reply was delayed, or the request was sent
 * again, so the reply's time is inexact. The first reply sets the clock in any case.
 */
const ROUND_TRIP_MS_MAX = 1_000;

/**
 * Creates a clock of a shard's Redis server. Entry ids and job delays use this time, because the clocks of different machines
 * differ. Replies to ordinary requests set the clock; between replies, the monotonic clock of this process advances the time.
 */
export function createClock() {
  /** The time of Redis at which the monotonic clock of this process began. */
  let startMs: number | undefined;
  return {
    /** Ms since the epoch; the time of this machine until the first reply of Redis. */
    nowMs: () => Math.round(startMs === undefined ? Date.now() : startMs + performance.now()),
    /** Sends a request to Redis and sets the clock from the reply, unless the reply is slow. `timeOf` reads the reply's time. */
    async learn<T>(ask: () => Promise<T>, timeOf: (reply: T) => number | undefined): Promise<T> {
      const requestMs = performance.now();
      const reply = await ask();
      const replyMs = performance.now();
      const timeMs = timeOf(reply);
      const isQuick = replyMs - requestMs <= ROUND_TRIP_MS_MAX;
      if (timeMs !== undefined && (isQuick || startMs === undefined)) startMs = timeMs - (requestMs + replyMs) / 2;
      return reply;
    },
  };
}
