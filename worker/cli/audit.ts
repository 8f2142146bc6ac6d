import { parseArgs } from 'node:util';
import type { Config } from '../../shared/base/config.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import type { LedgerReading } from '../../shared/state/lane/counts.ts';
import { readSpent } from '../budget/budget.ts';
import { totalsOf } from '../budget/limit.ts';
import { createLedger } from '../lane/ledger.ts';
import { loadPrices } from '../model/price-file.ts';
import type { Prices } from '../model/prices.ts';
import { readRollUp } from '../report/period.ts';
import { budgetLines, linesOf, opening, type Proof } from './audit-text.ts';
import { withRedis } from './connection.ts';
import { type Terminal, UsageError, usableConfig } from './terminal.ts';

const HELP = `Usage: npm run cli -- audit [--days N] [--json]

Adds up the last N days (7, at most 90) of the ledger and of the audit trail: outcomes, the proof that no message was
acknowledged without an outcome, what was done to requests that did not fit, latency, tokens and what they cost by purpose:
answers, summaries, and what was billed without an answer; cost by model, and the chats that cost most. Exit code 1 when the
proof fails, or a message is called answered although Telegram did not confirm every part of it.`;

const DAYS_DEFAULT = 7;
const DAYS_MAX = 90;
const DAY_MS = 24 * 3600_000;

/** Prints the audit; the exit code is 1 when messages are unaccounted for, or called answered without a proof. */
export async function audit(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parsed(args);
  if (values.help) {
    terminal.line(HELP);
    return 0;
  }
  const days = daysOf(values.days);
  const { config } = usableConfig(terminal, 'tool');
  const prices = await pricesOf(config);
  return withRedis(terminal, async (redis, shards) => {
    const toMs = Date.now();
    const fromMs = toMs - days * DAY_MS;
    let proof: Proof = { accepted: 0, settled: 0, pending: 0, unaccounted: 0, isCounted: true, failedShards: [] };
    for (let shard = 0; shard < shards; shard++) {
      proof = added(proof, shard, await createLedger(redis, keysOf(shard)).read());
    }
    const rollUp = await readRollUp({ redis, shards }, fromMs, prices);
    const budgets = await readSpent(redis, totalsOf(config), toMs);
    const period = { days, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
    if (values.json) terminal.line(JSON.stringify({ ...period, proof, ...rollUp, budgets }));
    else
      for (const line of [...opening(period, proof), ...linesOf(rollUp), ...budgetLines(budgets)]) terminal.line(line);
    return proof.failedShards.length === 0 && rollUp.delivery.unconfirmed === 0 ? 0 : 1;
  });
}

function parsed(args: string[]) {
  const options = { help: { type: 'boolean' }, json: { type: 'boolean' }, days: { type: 'string' } } as const;
  try {
    return parseArgs({ args, options });
  } catch {
    throw new UsageError(HELP);
  }
}

/** The operator's own prices. An unusable file is a configuration error. */
async function pricesOf(config: Config): Promise<Prices> {
  return loadPrices(config.MODEL_PRICES_FILE).catch((error: Error) => {
    throw new UsageError(error.message);
  });
}

function daysOf(text: string | undefined): number {
  if (text === undefined) return DAYS_DEFAULT;
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > DAYS_MAX) throw new UsageError(`--days must be a number from 1 to ${DAYS_MAX}.`);
  return days;
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
