import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { RedisClient } from '../../redis/connection.ts';
import { type EntryId, keysOf } from '../../redis/keys.ts';
import { bindScript, type RunScript } from '../../redis/script.ts';
import { type Bill, fieldOf, type Limit, nextPeriodMs, type Payer, percentOf, periodAt, type Spent } from './limit.ts';

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
/** The fields of books of which a process knows that no notice is due; of others it reads what is spent. */
const CALM_MAX = 10_000;

/** A hold in the book of a limit, as the scripts read it. */
type Hold = readonly [book: string, field: string, most: number, certain: number];

interface Scripts {
  reserve: RunScript<number>;
  settle: RunScript<number[]>;
}

/** Whether little enough is spent in a book's field, as far as this process knows. */
type Calm = BoundedMap<string, boolean>;

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
  const script = <R>(name: string) => bindScript<R>(redis, join(import.meta.dirname, `${name}.lua`));
  const scripts = { reserve: script<number>('hold-money'), settle: script<number[]>('settle-money') };
  const calm: Calm = new BoundedMap(CALM_MAX);
  const readOwn = (payer: Payer) => {
    const own = limitsFor(payer).filter(({ whose }) => whose !== 'total');
    return readSpent(redis, own, nowMs(), payer);
  };
  return {
    /** Holds what something may come to. Without a payer only the limits of all apply. A limit is returned that is used up. */
    reserve: (payer: Payer | undefined, bounds: Bounds) =>
      reserve(scripts, calm, limitsFor(payer), { payer, bounds, atMs: nowMs() }),
    /** What is spent of each limit of a payer; the limits of all are not among them. */
    spentBy: readOwn,
    /**
     * A limit that is nearly spent, for the first message that asks in its period; of all chats together, for the first of
     * each chat. Idempotent for a message. What the last call of this process left far from its limit is not read again.
     */
    async nearlySpent(payer: Payer, message: EntryId): Promise<Spent | undefined> {
      const atMs = nowMs();
      const near = limitsFor(payer).filter((limit) => calm.get(placeOf(limit, payer, atMs).join(' ')) !== true);
      for (const each of await readSpent(redis, near, atMs, payer)) {
        if (percentOf(each) < NEARLY_PERCENT) continue;
        const [book, field] = placeOf(each.limit, payer, atMs);
        const told = [book, each.limit.whose === 'total' ? `${field}:told:${payer.chat}` : `${field}:told`] as const;
        if ((await redis.hsetnx(...told, message)) === 1 || (await redis.hget(...told)) === message) return each;
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
): Promise<Reservation | Spent | 'held by others'> {
  const applied = limits.filter((limit) => fieldOf(limit, payer) !== undefined);
  const holds = applied.map((limit): Hold => {
    const [most, certain] = [whole(bounds.most[limit.unit]), whole(bounds.certain[limit.unit])];
    return [...placeOf(limit, payer, atMs), most, certain];
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
  if (limit === undefined) return held(scripts, calm, reservation);
  return { limit, spent: limit.max, isUsedUp: true, againMs: nextPeriodMs(limit.period, atMs) };
}

/** Renews what is held for as long as this process lives. */
function held(
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
      const spent = reservation.limits.map(({ unit }) => whole(bill[unit]));
      const keys = [KEYS.reservations, KEYS.settled(reservation.id), KEYS.absent];
      // What was bought is there and paid for: it must not be lost, and bought again, for the sake of the books.
      const now = await settle(keys, [text, REPEAT_SECONDS, ...spent]).catch((): number[] => []);
      for (const [at, { max }] of reservation.limits.entries()) {
        const [book, field] = reservation.holds[at] ?? [];
        calm.set(`${book} ${field}`, (100 * (now[at] ?? max)) / max < NEARLY_PERCENT);
      }
    },
  };
}

/** Where what is spent of a limit is written: in the book of its period, under whoever pays. */
function placeOf(limit: Limit, payer: Payer | undefined, atMs: number): [book: string, field: string] {
  return [KEYS.spent(periodAt(limit.period, atMs)), fieldOf(limit, payer) ?? ''];
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
