import { join } from 'node:path';
import type { Alert } from '../../flow/alert.ts';
import type { RedisClient } from '../../redis/connection.ts';
import type { Keys } from '../../redis/keys.ts';
import { bindScript } from '../../redis/script.ts';

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
export interface LedgerReading extends Balance {
  /** False on data that was never counted: nothing can then be unaccounted for, and nothing is proven. */
  isCounted: boolean;
  /** The open alarm: when it was raised, in ms since the epoch, and for how many; absent when none is open. */
  alarm?: LedgerAlarm;
}

/** An alarm about the balance: when it was raised, and for how many messages; both 0 for none. */
export interface LedgerAlarm {
  atMs: number;
  unaccounted: number;
}

/** The counts of a shard. Contract: each method is one atomic script, and rejects when Redis cannot be reached. */
export interface Counts {
  /** Reads; `begins` starts the counts where there are none. */
  read(begins: boolean): Promise<LedgerReading>;
  /** Stores another alarm and queues its alert in one step. Returns false when the alarm was not as it was read. */
  raise(before: LedgerAlarm, after: LedgerAlarm, alert: Alert): Promise<boolean>;
}

type BalanceReply = [...numbers: [number, number, number], isCounted: 0 | 1, atMs: number, unaccounted: number];

/** Binds the counts of one shard to a connection. */
export function createCounts(redis: RedisClient, keys: Keys): Counts {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const balance = script<BalanceReply>('balance');
  const alarm = script<0 | 1>('alarm');
  return {
    read: async (begins) => readingOf(await balance([keys.counts, keys.inbound], [begins ? '1' : ''])),
    async raise(before, after, alert) {
      const args = [before.atMs, before.unaccounted, after.atMs, after.unaccounted, JSON.stringify(alert)];
      return (await alarm([keys.counts, keys.alerts], args)) === 1;
    },
  };
}

function readingOf([accepted, settled, pending, isCounted, atMs, unaccounted]: BalanceReply): LedgerReading {
  return {
    ...{ accepted, settled, pending, unaccounted: accepted - settled - pending, isCounted: isCounted === 1 },
    ...(atMs > 0 && { alarm: { atMs, unaccounted } }),
  };
}
