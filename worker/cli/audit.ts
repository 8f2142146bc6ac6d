import { keysOf } from '../../shared/redis/keys.ts';
import { createLedger, type LedgerReading } from '../../shared/state/lane/ledger.ts';
import { readSpent } from '../../shared/state/spending/budget.ts';
import { totalsOf } from '../../shared/state/spending/limit.ts';
import { loadPrices } from '../model/prices.ts';
import { auditReport, type Proof } from '../report/audit-report.ts';
import { readRollUp } from '../report/roll-up.ts';
import { UsageError, usableConfig } from './terminal.ts';
import { type Call, withRedis } from './verb.ts';

const DAYS_DEFAULT = 7;
const DAY_MS = 24 * 3600_000;

/** Prints the audit; the exit code is 1 when messages are unaccounted for, or called answered without a proof. */
export async function audit(call: Call): Promise<number> {
  const days = Number(call.options.days ?? DAYS_DEFAULT);
  const { config } = usableConfig(call.terminal, 'tool');
  // An unusable file is a configuration error.
  const prices = await loadPrices(config.MODEL_PRICES_FILE).catch((error: Error) => {
    throw new UsageError(error.message);
  });
  return withRedis(call.terminal, async ({ redis, shards }) => {
    const nowMs = Date.now();
    const fromMs = nowMs - days * DAY_MS;
    let proof: Proof = { accepted: 0, settled: 0, pending: 0, unaccounted: 0, isCounted: true, failedShards: [] };
    for (let shard = 0; shard < shards; shard++)
      proof = added(proof, shard, await createLedger(redis, keysOf(shard)).read());
    const rollUp = await readRollUp({ redis, shards }, fromMs, prices);
    const budgets = await readSpent(redis, totalsOf(config), nowMs);
    const period = { days, from: new Date(fromMs).toISOString(), to: new Date(nowMs).toISOString() };
    call.print({ ...period, proof, ...rollUp, budgets }, () => auditReport(rollUp, { days, nowMs, proof, budgets }));
    return proof.failedShards.length === 0 && rollUp.delivery.unconfirmed === 0 ? 0 : 1;
  });
}

function added(before: Proof, shard: number, reading: LedgerReading): Proof {
  const { accepted, settled, pending, unaccounted, isCounted } = reading;
  return {
    accepted: before.accepted + accepted,
    settled: before.settled + settled,
    pending: before.pending + pending,
    unaccounted: before.unaccounted + unaccounted,
    isCounted: before.isCounted && isCounted,
    failedShards: unaccounted === 0 ? before.failedShards : [...before.failedShards, shard],
  };
}
