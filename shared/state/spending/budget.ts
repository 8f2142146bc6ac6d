import { randomUUID } from 'node:crypto';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';
import {
  type Bill,
  fieldOf,
  type Limit,
  type LimitUsage,
  nextPeriodMs,
  type Payer,
  percentOf,
  periodAt,
} from './limit.ts';

/**
 * Bounds of a purchase's cost, e.g. of a model call: the least, the most, and `certain`, the cost that is booked if the
 * process dies before it learns the real cost.
 */
export type Bounds = Readonly<Record<'least' | 'most' | 'certain', Bill>>;

/** Permission for one purchase. Until `settle`, the highest cost that the purchase may have is on hold. */
export interface Reservation {
  /** Replaces the hold with the real cost. Contract: never rejects; if Redis cannot be reached, the reservation lapses. */
  settle(bill: Bill): Promise<void>;
}

const DAY_SECONDS = 24 * 3600;
/** How long Redis stores the spending of a period. Longer than the period, as a call may be settled after the period's end. */
const KEEP_SECONDS = { day: 2 * DAY_SECONDS, month: 62 * DAY_SECONDS } as const;
/** How long Redis remembers a settled reservation. A request whose reply was lost is sent again within seconds. */
const REPEAT_SECONDS = 300;
const LEASE_MS = 20_000;
const RENEW_MS = 5_000;
/** Once this share of a limit is spent, the person or the chat gets one notice. */
const NEARLY_PERCENT = 80;
/** The maximum number of entries in `Calm`. */
const CALM_MAX = 10_000;

/** The cost of a purchase on hold in one limit. `book` is a period's hash, whose `field` has the amount spent. */
type Hold = readonly [book: string, field: string, most: number, certain: number];

interface Scripts {
  reserve: RunScript<number>;
  settle: RunScript<number[]>;
}

/** By a limit's hash and field: whether less than `NEARLY_PERCENT` was spent when this process last settled a call. */
type Calm = BoundedMap<string, boolean>;

const KEYS = keysOf(0);

export type Budget = ReturnType<typeof createBudget>;

/**
 * The limits on spending, by payer.
 *
 * Contract: each method rejects when Redis cannot be reached. If a process dies with a reservation, `certain` is booked after
 * 20 seconds and the rest is free again. A call that begins within a limit is never aborted for its cost. A limit can be
 * exceeded by the cost of one call at most, because other calls wait while one call holds the rest of the limit.
 */
export function createBudget(
  redis: RedisClient,
  limitsFor: (payer: Payer | undefined) => readonly Limit[],
  /** Redis' clock, so that a process with a wrong clock does not spend the limit of another day. */
  nowMs: () => number = Date.now,
) {
  const script = <R>(name: string) => bindScript<R>(redis, `${import.meta.dirname}/${name}.lua`);
  const scripts = { reserve: script<number>('hold-money'), settle: script<number[]>('settle-money') };
  const calm: Calm = new BoundedMap(CALM_MAX);
  const spentBy = (payer: Payer) => {
    const limits = limitsFor(payer).filter(({ whose }) => whose !== 'total');
    return readSpent(redis, limits, nowMs(), payer);
  };
  return {
    /**
     * Reserves the highest cost that a purchase may have. Without a payer only the limits of all chats apply. If a limit is
     * used up, returns that limit instead; if running calls hold the rest of a limit, `held by others`.
     */
    reserve: (payer: Payer | undefined, bounds: Bounds) =>
      reserve(scripts, calm, limitsFor(payer), { payer, bounds, atMs: nowMs() }),
    /** The spending of a payer's own limits, without the limits of all chats. */
    spentBy,
    /**
     * A limit of which at least `NEARLY_PERCENT` is spent, if the reply to `message` should say so. In each period, a limit is
     * returned for one message only; a limit of all chats, for one message of each chat. A repeated call for that message
     * returns the limit again. Skips limits that were below that share when this process last settled a call.
     */
    async nearlySpent(payer: Payer, message: EntryId): Promise<LimitUsage | undefined> {
      const atMs = nowMs();
      const limits = limitsFor(payer).filter((limit) => calm.get(addressOf(limit, payer, atMs).join(' ')) !== true);
      for (const each of await readSpent(redis, limits, atMs, payer)) {
        if (percentOf(each) < NEARLY_PERCENT) continue;
        const [book, field] = addressOf(each.limit, payer, atMs);
        const mark = [book, each.limit.whose === 'total' ? `${field}:told:${payer.chat}` : `${field}:told`] as const;
        if ((await redis.hsetnx(...mark, message)) === 1 || (await redis.hget(...mark)) === message) return each;
      }
      return undefined;
    },
  };
}

async function reserve(
  scripts: Scripts,
  calm: Calm,
  limits: readonly Limit[],
  { payer, bounds, atMs }: { payer: Payer | undefined; bounds: Bounds; atMs: number },
): Promise<Reservation | LimitUsage | 'held by others'> {
  const ofPayer = limits.filter((limit) => fieldOf(limit, payer) !== undefined);
  const holds = ofPayer.map((limit): Hold => {
    const [most, certain] = [whole(bounds.most[limit.unit]), whole(bounds.certain[limit.unit])];
    return [...addressOf(limit, payer, atMs), most, certain];
  });
  const reservation = { id: randomUUID(), limits: ofPayer, holds };
  const conditions = ofPayer.flatMap(({ unit, max, period }) => [
    // A purchase that is not free needs at least 1 of the unit, so that a used-up limit refuses the purchase.
    Math.max(whole(bounds.least[unit]), bounds.most[unit] > 0 ? 1 : 0),
    max,
    KEEP_SECONDS[period],
  ]);
  const args = [LEASE_MS, textOf(reservation), ...conditions];
  const reply = await scripts.reserve([KEYS.reservations, KEYS.absent], args);
  if (reply < 0) return 'held by others';
  const limit = ofPayer[reply - 1];
  if (limit === undefined) return keepRenewing(scripts, calm, reservation);
  return { limit, spent: limit.max, isUsedUp: true, againMs: nextPeriodMs(limit.period, atMs) };
}

/** Renews a reservation until the returned `settle` is called. */
function keepRenewing(
  { reserve, settle }: Scripts,
  calm: Calm,
  reservation: { id: string; limits: readonly Limit[]; holds: readonly Hold[] },
): Reservation {
  const text = textOf(reservation);
  const renew = () => reserve([KEYS.reservations, KEYS.absent], [LEASE_MS, text]).catch(() => {});
  const timer = setInterval(renew, RENEW_MS).unref();
  return {
    async settle(bill) {
      clearInterval(timer);
      const amounts = reservation.limits.map(({ unit }) => whole(bill[unit]));
      const keys = [KEYS.reservations, KEYS.settled(reservation.id), KEYS.absent];
      // A failed settlement must not reject: the caller would lose a paid answer and buy it again.
      const totals = await settle(keys, [text, REPEAT_SECONDS, ...amounts]).catch((): number[] => []);
      for (const [at, { max }] of reservation.limits.entries()) {
        const [book, field] = reservation.holds[at] ?? [];
        calm.set(`${book} ${field}`, (100 * (totals[at] ?? max)) / max < NEARLY_PERCENT);
      }
    },
  };
}

/** The Redis key and field that hold the amount spent of a limit. */
function addressOf(limit: Limit, payer: Payer | undefined, atMs: number): [book: string, field: string] {
  return [KEYS.spent(periodAt(limit.period, atMs)), fieldOf(limit, payer) ?? ''];
}

function textOf({ id, holds }: { id: string; holds: readonly Hold[] }): string {
  return JSON.stringify([id, holds]);
}

/** Turns an amount into a safe integer of 0 or more, because an endpoint may state any number. */
function whole(amount: number): number {
  return Number.isFinite(amount) ? Math.min(Math.max(0, Math.round(amount)), Number.MAX_SAFE_INTEGER / 2) : 0;
}

/** Reads the amounts spent of limits in their present periods; without a payer, only of those limits that are for all chats. */
export async function readSpent(
  redis: RedisClient,
  limits: readonly Limit[],
  nowMs: number,
  payer?: Payer,
): Promise<LimitUsage[]> {
  const all = limits.map(async (limit) => {
    const field = fieldOf(limit, payer);
    if (field === undefined) return [];
    const book = KEYS.spent(periodAt(limit.period, nowMs));
    const [spent, refusedAt] = (await redis.hmget(book, field, `${field}:refused`)).map(Number);
    const isUsedUp = (spent ?? 0) >= limit.max || refusedAt === limit.max;
    return [{ limit, spent: spent ?? 0, isUsedUp, againMs: nextPeriodMs(limit.period, nowMs) }];
  });
  return (await Promise.all(all)).flat();
}
