import { join } from 'node:path';
import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { createLossTeller } from '../message/inbox.ts';

/** The ledger's counts, read in one step. */
export interface Balance {
  /** Messages ever accepted. */
  accepted: number;
  /** Messages that ever got an outcome. */
  settled: number;
  /** Messages without an outcome: an entry is in the stream until it has one. */
  pending: number;
  /**
   * `accepted - settled - pending`. Above 0: messages were lost without an outcome. Below 0: some came in uncounted.
   */
  unaccounted: number;
}

/** A balance, and its status. */
interface LedgerReading extends Balance {
  /** False on data that was never counted: nothing can then be unaccounted for, and nothing is proven. */
  isCounted: boolean;
  /** The open alarm: when it was raised, in ms since the epoch, and for how many; absent when none is open. */
  alarm?: LedgerAlarm;
}

/** An alarm about the balance: when it was raised, and for how many messages; both 0 for none. */
interface LedgerAlarm {
  atMs: number;
  unaccounted: number;
}

type BalanceReply = [...numbers: [number, number, number], isCounted: 0 | 1, atMs: number, unaccounted: number];

function readingOf([accepted, settled, pending, isCounted, atMs, unaccounted]: BalanceReply): LedgerReading {
  return {
    ...{ accepted, settled, pending, unaccounted: accepted - settled - pending, isCounted: isCounted === 1 },
    ...(atMs > 0 && { alarm: { atMs, unaccounted } }),
  };
}

const NO_ALARM = { atMs: 0, unaccounted: 0 };

export type Ledger = ReturnType<typeof createLedger>;

/**
 * The proof that no message of a shard was lost without an outcome. Each count moves in the same script as what it
 * counts.
 *
 * Contract: each method is one atomic script, or two of which the second checks what the first saw; each rejects when
 * Redis cannot be reached.
 */
export function createLedger(redis: RedisClient, keys: Keys) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const balance = script<BalanceReply>('balance');
  const alarm = script<0 | 1>('alarm');
  const tellLoss = createLossTeller(redis, keys);
  /** `begins` starts the counts where there are none. */
  const read = async (begins: '1' | ''): Promise<LedgerReading> =>
    readingOf(await balance([keys.counts, keys.inbound], [begins]));
  return {
    /** Reads, and changes nothing. */
    read: () => read(''),
    /**
     * Reads, and queues an alert when the balance is not 0 or has changed, or a "Resolved" one when it is 0 again. Starts
     * the counts where there are none. May be repeated: a lasting state is queued once. Counts lower than this process
     * has seen before are reported too: Redis has then lost data.
     */
    async check(nowMs: number): Promise<LedgerReading & { alert?: Alert; lostData?: Alert }> {
      const reading = await read('1');
      const lost = await tellLoss({ accepted: reading.accepted, hasGrown: false });
      const seen = { ...reading, ...(lost && { lostData: lost }) };
      const { unaccounted, alarm: before = NO_ALARM } = reading;
      const alert = alertOn(reading, keys.counts);
      if (!alert) return seen;
      const atMs = unaccounted === 0 ? 0 : before.atMs || nowMs;
      const args = [before.atMs, before.unaccounted, atMs, unaccounted, JSON.stringify(alert)];
      // Another process may have raised it meanwhile.
      return { ...seen, ...((await alarm([keys.counts, keys.alerts], args)) === 1 && { alert }) };
    },
  };
}

/** The script reads all three numbers in one step, so a balance other than 0 is no race: one reading is enough. */
function alertOn(reading: LedgerReading, counts: string): Alert | undefined {
  const { unaccounted, alarm } = reading;
  if (unaccounted === 0) return alarm && balancedAlert(reading, counts);
  return unaccounted === alarm?.unaccounted ? undefined : unbalancedAlert(reading, counts);
}

/**
 * Messages that disappeared without an outcome (above 0), or that came in uncounted (below 0); `counts` is the key of
 * the counts.
 */
function unbalancedAlert({ accepted, settled, pending, unaccounted }: Balance, counts: string): Alert {
  return {
    cause: 'ledger',
    key: counts,
    level: String(unaccounted),
    text: `The ledger does not add up: ${accepted} accepted, ${settled} settled, ${pending} waiting, ${unaccounted} unaccounted for (${counts}).`,
  };
}

/** The end of the above. */
function balancedAlert({ accepted, settled, pending }: Balance, counts: string): Alert {
  return {
    cause: 'ledger',
    key: counts,
    isOver: true,
    text: `Resolved: the ledger adds up again: ${accepted} accepted, ${settled} settled, ${pending} waiting.`,
  };
}
