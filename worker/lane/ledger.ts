import type { Alert } from '../../shared/flow/alert.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import type { Keys } from '../../shared/redis/keys.ts';
import { createCounts, type LedgerReading } from '../../shared/state/lane/counts.ts';
import { createLossTeller } from '../../shared/state/message/inbox.ts';
import { balancedAlert, unbalancedAlert } from '../alerts/messages.ts';

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

const NO_ALARM = { atMs: 0, unaccounted: 0 };

/** Binds the ledger of one shard to a connection. */
export function createLedger(redis: RedisClient, keys: Keys): Ledger {
  const counts = createCounts(redis, keys);
  const tellLoss = createLossTeller(redis, keys);
  return {
    read: () => counts.read(false),
    async check(nowMs) {
      const reading = await counts.read(true);
      const lost = await tellLoss({ accepted: reading.accepted, hasGrown: false });
      const seen = { ...reading, ...(lost && { lostData: lost }) };
      const { unaccounted, alarm = NO_ALARM } = reading;
      const alert = alertOn(reading, keys.counts);
      if (!alert) return seen;
      const atMs = unaccounted === 0 ? 0 : alarm.atMs || nowMs;
      const isQueued = await counts.raise(alarm, { atMs, unaccounted }, alert);
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
