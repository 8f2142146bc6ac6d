import { join } from 'node:path';
import type { Alert } from '../../shared/flow/alert.ts';
import { createLossTeller } from '../../shared/flow/data-loss.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { bindScript } from '../../shared/redis/script.ts';
import { balancedAlert, unbalancedAlert } from '../alerts/messages.ts';

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
  alarm?: { atMs: number; unaccounted: number };
}

/**
 * The proof that no message of a shard was lost without an outcome. Each count moves in the same script as what it
 * counts.
 *
 * Contract: each method is one atomic script, or two of which the second checks what the first saw; each rejects when
 * Redis cannot be reached.
 */
export interface Ledger {
  /** Reads, and changes nothing. */
  read(): Promise<LedgerReading>;
  /**
   * Reads, and queues an alert when the balance is not 0 or has changed, or a "Resolved" one when it is 0 again. Starts
   * the counts where there are none. May be repeated: a lasting state is queued once. Counts lower than this process
   * has seen before are reported too: Redis has then lost data.
   */
  check(nowMs: number): Promise<LedgerReading & { alert?: Alert; lostData?: Alert }>;
}

type BalanceReply = [
  accepted: number,
  settled: number,
  pending: number,
  isCounted: 0 | 1,
  alarmedAtMs: number,
  alarmedFor: number,
];

/** Binds the ledger of one shard to a connection. */
export function createLedger(redis: RedisClient, keys: Keys): Ledger {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, `${name}.lua`));
  const balance = script<BalanceReply>('balance');
  const alarm = script<0 | 1>('alarm');
  const read = async (begins: boolean) => readingOf(await balance([keys.counts, keys.inbound], [begins ? '1' : '']));
  const tellLoss = createLossTeller(redis, keys);
  return {
    read: () => read(false),
    async check(nowMs) {
      const reading = await read(true);
      const lost = await tellLoss({ accepted: reading.accepted, hasGrown: false });
      const seen = { ...reading, ...(lost && { lostData: lost }) };
      const { unaccounted, alarm: open } = reading;
      const alert = alertOn(reading, keys.counts);
      if (!alert) return seen;
      const lastsFrom = unaccounted === 0 ? 0 : (open?.atMs ?? nowMs);
      const args = [open?.atMs ?? 0, open?.unaccounted ?? 0, lastsFrom, unaccounted, JSON.stringify(alert)];
      const isQueued = (await alarm([keys.counts, keys.alerts], args)) === 1;
      return { ...seen, ...(isQueued && { alert }) };
    },
  };
}

/** The script reads all three numbers in one step, so a balance other than 0 is no race: one reading is enough. */
function alertOn(reading: LedgerReading, counts: string): Alert | undefined {
  const { unaccounted, alarm } = reading;
  if (unaccounted === 0) return alarm && balancedAlert(reading, counts);
  return unaccounted === alarm?.unaccounted ? undefined : unbalancedAlert(reading, counts);
}

function readingOf([accepted, settled, pending, isCounted, atMs, unaccounted]: BalanceReply): LedgerReading {
  return {
    ...{ accepted, settled, pending, unaccounted: accepted - settled - pending, isCounted: isCounted === 1 },
    ...(atMs > 0 && { alarm: { atMs, unaccounted } }),
  };
}
