import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Payer } from '../../../worker/model/port.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';
import { type Bill, fieldOf, type Limit, nextPeriodMs, percentOf, periodAt, type Spent } from './limit.ts';

/** What something may come to: at least, at most, and what is booked if its process dies before it knows. */
export type Bounds = Readonly<Record<'least' | 'most' | 'certain', Bill>>;

/** Something that may be bought now: its most is held until it is settled. */
export interface Reservation {
  /** Replaces what is held by what it came to. Contract: never rejects; what cannot be settled lapses. */
  settle(bill: Bill): Promise<void>;
}

const DAY_SECONDS = 24 * 3600;
/** A book is not read after its period, but a call may be settled then. */
const KEEP_SECONDS = { day: 2 * DAY_SECONDS, month: 62 * DAY_SECONDS } as const;
/** A command whose reply was lost is repeated within seconds. */
const REPEAT_SECONDS = 300;
const LEASE_MS = 20_000;
const RENEW_MS = 5_000;
/** From here on a person, or a chat, is notified once. */
const NEARLY_PERCENT = 80;

/** A hold in the book of a limit, as the scripts read it. */
type Hold = readonly [book: string, field: string, most: number, certain: number];

interface Scripts {
  reserve: RunScript<number>;
  settle: RunScript<number>;
}

const KEYS = keysOf(0);

export type Budget = ReturnType<typeof createBudget>;

/**
 * The limits of what may be spent, by who pays.
 *
 * Contract: rejects when Redis cannot be reached. Of what a process that is gone held, the certain part is booked after
 * 20 seconds, and the rest is free again. Something that begins within a limit is never cut: a limit is exceeded by what one call
 * costs at most, since all others wait while it holds what is left.
 */
export function createBudget(
  redis: RedisClient,
  limitsFor: (payer: Payer | undefined) => readonly Limit[],
  /** By Redis' clock: one whose clock is wrong must not spend of another day. */
  nowMs: () => number = Date.now,
) {
  const script = (name: string) => bindScript<number>(redis, join(import.meta.dirname, `${name}.lua`));
  const scripts = { reserve: script('hold-money'), settle: script('settle-money') };
  const readOwn = (payer: Payer) => {
    const own = limitsFor(payer).filter(({ whose }) => whose !== 'total');
    return readSpent(redis, own, nowMs(), payer);
  };
  return {
    /** Holds what something may come to. Without a payer only the limits of all apply. A limit is returned that is used up. */
    reserve: (payer: Payer | undefined, bounds: Bounds) =>
      reserve(scripts, limitsFor(payer), { payer, bounds, atMs: nowMs() }),
    /** What is spent of each limit of a payer; the limits of all are not among them. */
    spentBy: readOwn,
    /**
     * A limit that is nearly spent, for the first message that asks in its period; of all chats together, for the first of
     * each chat. Idempotent for a message.
     */
    async nearlySpent(payer: Payer, message: EntryId): Promise<Spent | undefined> {
      for (const each of await readSpent(redis, limitsFor(payer), nowMs(), payer)) {
        const field = fieldOf(each.limit, payer);
        if (percentOf(each) < NEARLY_PERCENT || field === undefined) continue;
        const whose = each.limit.whose === 'total' ? `:${payer.chat}` : '';
        const told = [KEYS.spent(periodAt(each.limit.period, nowMs())), `${field}:told${whose}`] as const;
        if ((await redis.hsetnx(...told, message)) === 1 || (await redis.hget(...told)) === message) return each;
      }
      return undefined;
    },
  };
}

async function reserve(
  scripts: Scripts,
  limits: readonly Limit[],
  { payer, bounds, atMs }: { payer: Payer | undefined; bounds: Bounds; atMs: number },
): Promise<Reservation | Spent | 'held by others'> {
  const applied = limits.filter((limit) => fieldOf(limit, payer) !== undefined);
  const holds = applied.map((limit): Hold => {
    const book = KEYS.spent(periodAt(limit.period, atMs));
    const [most, certain] = [whole(bounds.most[limit.unit]), whole(bounds.certain[limit.unit])];
    return [book, fieldOf(limit, payer) ?? '', most, certain];
  });
  const reservation = { id: randomUUID(), limits: applied, holds };
  const asked = applied.flatMap(({ unit, max, period }) => [
    // What costs nothing is not stopped; what costs anything needs something that is left.
    Math.max(whole(bounds.least[unit]), bounds.most[unit] > 0 ? 1 : 0),
    max,
    KEEP_SECONDS[period],
  ]);
  const reply = await scripts.reserve([KEYS.reservations, KEYS.absent], [LEASE_MS, textOf(reservation), ...asked]);
  if (reply < 0) return 'held by others';
  const limit = applied[reply - 1];
  if (limit === undefined) return held(scripts, reservation);
  return { limit, spent: limit.max, isUsedUp: true, againMs: nextPeriodMs(limit.period, atMs) };
}

/** Renews what is held for as long as this process lives. */
function held(
  { reserve, settle }: Scripts,
  reservation: { id: string; limits: readonly Limit[]; holds: readonly Hold[] },
): Reservation {
  const text = textOf(reservation);
  const renew = () => reserve([KEYS.reservations, KEYS.absent], [LEASE_MS, text]).catch(() => {});
  const timer = setInterval(renew, RENEW_MS).unref();
  return {
    async settle(bill) {
      clearInterval(timer);
      const spent = reservation.limits.map(({ unit }) => whole(bill[unit]));
      const keys = [KEYS.reservations, KEYS.settled(reservation.id), KEYS.absent];
      // What was bought is there and paid for: it must not be lost, and bought again, for the sake of the books.
      await settle(keys, [text, REPEAT_SECONDS, ...spent]).catch(() => {});
    },
  };
}

function textOf({ id, holds }: { id: string; holds: readonly Hold[] }): string {
  return JSON.stringify([id, holds]);
}

/** What an endpoint states may be anything. */
function whole(amount: number): number {
  return Number.isFinite(amount) ? Math.min(Math.max(0, Math.round(amount)), Number.MAX_SAFE_INTEGER / 2) : 0;
}

/** What is spent of each of the limits now; without a payer, of those of all chats. */
export async function readSpent(
  redis: RedisClient,
  limits: readonly Limit[],
  nowMs: number,
  payer?: Payer,
): Promise<Spent[]> {
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
