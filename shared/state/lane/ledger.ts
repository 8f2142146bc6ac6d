import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';
import { createLossTeller } from '../message/inbox.ts';

/** The ledger's counts, read in one step. */
export interface Balance {
  /** Messages ever accepted. */
  accepted: number;
  /** Messages that have ever got an outcome. */
  settled: number;
  /** Messages without an outcome: an entry is in the stream until it has its outcome. */
  pending: number;
  /**
   * `accepted - settled - pending`. Above 0: messages disappeared without an outcome. Below 0: messages entered uncounted.
   */
  unaccounted: number;
}

interface LedgerReading extends Balance {
  /** False if no script has counted yet. `unaccounted` is then 0 by definition and proves nothing. */
  isCounted: boolean;
  alarm?: LedgerAlarm;
}

/** An alarm about `unaccounted` messages. */
interface LedgerAlarm {
  /** When the alarm began, in ms since the epoch. */
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
 * The proof that no message of a shard disappeared without an outcome. The script that accepts or settles a message also
 * counts it.
 *
 * Contract: each method rejects when Redis cannot be reached. If several processes call `check` at once, only one of them
 * changes the alarm and queues an alert about it.
 */
export function createLedger(redis: RedisClient, keys: Keys) {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, `${import.meta.dirname}/${name}.lua`);
  const balance = script<BalanceReply>('balance');
  const alarm = script<0 | 1>('alarm');
  const tellLoss = createLossTeller(redis, keys);
  /** Reads the balance. If `creates` is '1', also stores missing counts. */
  const read = async (creates: '1' | ''): Promise<LedgerReading> =>
    readingOf(await balance([keys.counts, keys.inbound], [creates]));
  return {
    /** Reads the balance and changes nothing. */
    read: () => read(''),
    /**
     * Reads the balance and creates missing counts. Queues an alert when `unaccounted` is not 0 and differs from the open
     * alarm's number, and a "Resolved" alert when it is 0 again. Also queues an alert when the count of accepted messages is
     * lower than this process has seen before, because Redis has then lost data.
     */
    async check(nowMs: number): Promise<LedgerReading & { alert?: Alert; lostData?: Alert }> {
      const reading = await read('1');
      const lostData = await tellLoss({ accepted: reading.accepted, hasGrown: false });
      const result = { ...reading, ...(lostData && { lostData }) };
      const { unaccounted, alarm: openAlarm = NO_ALARM } = reading;
      const alert = alertOn(reading, keys.counts);
      if (!alert) return result;
      const atMs = unaccounted === 0 ? 0 : openAlarm.atMs || nowMs;
      const args = [openAlarm.atMs, openAlarm.unaccounted, atMs, unaccounted, JSON.stringify(alert)];
      // Another process may have raised the same alarm meanwhile.
      return { ...result, ...((await alarm([keys.counts, keys.alerts], args)) === 1 && { alert }) };
    },
  };
}

/** The alert about a reading, if any. One reading is enough, because the script reads all three numbers in one step. */
function alertOn(reading: LedgerReading, counts: string): Alert | undefined {
  const { unaccounted, alarm } = reading;
  if (unaccounted === 0) return alarm && balancedAlert(reading, counts);
  return unaccounted === alarm?.unaccounted ? undefined : unbalancedAlert(reading, counts);
}

/** The alert about unaccounted messages. `counts` is the Redis key of the counts. */
function unbalancedAlert({ accepted, settled, pending, unaccounted }: Balance, counts: string): Alert {
  return {
    cause: 'ledger',
    key: counts,
    level: String(unaccounted),
    text: `The counts of messages do not add up: ${accepted} accepted, ${settled} settled, ${pending} waiting, ${unaccounted} unaccounted for (${counts}).`,
  };
}

/** The alert that ends the incident of `unbalancedAlert`. */
function balancedAlert({ accepted, settled, pending }: Balance, counts: string): Alert {
  return {
    cause: 'ledger',
    key: counts,
    isOver: true,
    text: `Resolved: the counts of messages add up again: ${accepted} accepted, ${settled} settled, ${pending} waiting.`,
  };
}
