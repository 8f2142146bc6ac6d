import { totalsOf } from '../../shared/state/spending/limit.ts';
import { loadPrices } from '../model/prices.ts';
import { auditReport, readAudit } from '../report/audit-report.ts';
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
  return withRedis(call.terminal, async (source) => {
    const read = await readAudit(source, { days, prices, totals: totalsOf(config) });
    const { nowMs, proof, budgets, days: _, ...rollUp } = read;
    const period = { days, from: new Date(nowMs - days * DAY_MS).toISOString(), to: new Date(nowMs).toISOString() };
    call.print({ ...period, proof, ...rollUp, budgets }, () => auditReport(read));
    return proof.failedShards.length === 0 && rollUp.delivery.unconfirmed === 0 ? 0 : 1;
  });
}
