import { join } from 'node:path';
import type { Alert } from '../shared/alert.ts';
import type { Keys } from '../shared/keys.ts';
import { createLossTeller } from '../shared/loss.ts';
import type { RedisClient } from '../shared/redis.ts';
import { bindScript } from '../shared/script.ts';
import { balancedAlert, unbalancedAlert } from './incident.ts';

/** What went in and what came out, read at one moment. */
export interface Balance {
  /** Messages ever accepted. */
  accepted: number;
  /** Messages that ever got their outcome. */
  settled: number;
  /** Messages without an outcome: an entry is in the stream until it has one. */
  pending: number;
  /** `accepted - settled - pending`. Above 0: messages went without an outcome. Below 0: some came in uncounted. */
  unaccounted: number;
}

/** A balance, and what is known of it. */
export interface LedgerReading extends Balance {
  /** False on data that was never counted: then nothing can be unaccounted for, and nothing is proven. */
  isCounted: boolean;
  /** When the open alarm was raised, in ms since the epoch; absent when none is open. */
  alarmedAtMs?: number;
}

/**
 * The proof that no message of a shard went without an outcome. The counts move in the same scripts as what they count.
 *
 * Contract: each method is one atomic script, or two of which the second checks what the first saw; each rejects when
 * Redis cannot be reached.
 */
export interface Ledger {
  /** Reads, and changes nothing. */
  read(): Promise<LedgerReading>;
  /**
   * Reads, and queues an alert when the balance is not 0, or one that says "Resolved" when it is so again. Begins the
   * counts where there are none. May be repeated: the alerter sends an alert that lasts once an hour. Counts that are
   * lower than this process has seen them before are told too: then Redis lost data.
   */
  check(nowMs: number): Promise<LedgerReading & { alert?: Alert; lostData?: Alert }>;
}

type BalanceReply = [accepted: number, settled: number, pending: number, isCounted: 0 | 1, alarmedAtMs: number];

/** Binds the ledger of one shard to a connection. */
export function createLedger(redis: RedisClient, keys: Keys): Ledger {
  const script = <Reply>(name: string) => bindScript<Reply>(redis, join(import.meta.dirname, 'scripts', `${name}.lua`));
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
      const { unaccounted, alarmedAtMs } = reading;
      const alert = alertOn(reading, keys.counts);
      if (!alert) return seen;
      const lastsFrom = unaccounted === 0 ? 0 : (alarmedAtMs ?? nowMs);
      const args = [alarmedAtMs ?? 0, lastsFrom, JSON.stringify(alert)];
      const isQueued = (await alarm([keys.counts, keys.alerts], args)) === 1;
      return { ...seen, ...(isQueued && { alert }) };
    },
  };
}

/** The script reads all three numbers at one moment, so a balance that is not 0 is no race: one look is enough. */
function alertOn(reading: LedgerReading, counts: string): Alert | undefined {
  if (reading.unaccounted !== 0) return unbalancedAlert(reading, counts);
  return reading.alarmedAtMs === undefined ? undefined : balancedAlert(reading, reading.alarmedAtMs);
}

function readingOf([accepted, settled, pending, isCounted, alarmedAtMs]: BalanceReply): LedgerReading {
  return {
    ...{ accepted, settled, pending, unaccounted: accepted - settled - pending, isCounted: isCounted === 1 },
    ...(alarmedAtMs > 0 && { alarmedAtMs }),
  };
}
