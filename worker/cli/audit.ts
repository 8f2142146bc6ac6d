import { parseArgs } from 'node:util';
import { readProcessConfig } from '../../shared/base/config.ts';
import type { RedisClient } from '../../shared/redis/connection.ts';
import { fieldsOf } from '../../shared/redis/fields.ts';
import { type Keys, keysOf } from '../../shared/redis/keys.ts';
import { createLedger, type LedgerReading } from '../lane/ledger.ts';
import { loadPrices } from '../model/price-file.ts';
import type { Prices } from '../model/prices.ts';
import { type Counts, createRollUp, type RollUp, type RollUpBuilder, type Spending } from './audit-summary.ts';
import { withRedis } from './connection.ts';
import { type CliOutput, UsageError } from './output.ts';

const HELP = `Usage: npm run cli -- audit [--days N] [--json]

Adds up the last N days (7, at most 90) of the ledger and of the audit trail: outcomes, the proof that no message was
acknowledged without an outcome, what was done to requests that did not fit, latency, tokens and what they cost by purpose:
answers, summaries, and what was billed without an answer. Exit code 1 when the proof fails.`;

const DAYS_DEFAULT = 7;
const DAYS_MAX = 90;
const DAY_MS = 24 * 3600_000;
const PAGE = 1_000;

/** The proof over all shards, as of now: it is not per day. */
interface Proof extends Omit<LedgerReading, 'alarmedAtMs'> {
  /** Shards whose own numbers do not add up: another shard's surplus must not hide what is missing in one. */
  failedShards: number[];
}

/** Prints the audit; the exit code is 1 when messages are unaccounted for. */
export async function audit(args: string[], output: CliOutput): Promise<number> {
  const { values } = parsed(args);
  if (values.help) {
    output.line(HELP);
    return 0;
  }
  const days = daysOf(values.days);
  const prices = await pricesOf();
  return withRedis(async (redis, shards) => {
    const toMs = Date.now();
    const fromMs = toMs - days * DAY_MS;
    const builder = createRollUp(prices);
    let proof: Proof = { accepted: 0, settled: 0, pending: 0, unaccounted: 0, isCounted: true, failedShards: [] };
    for (let shard = 0; shard < shards; shard++) {
      const keys = keysOf(shard);
      await addShard(redis, keys, fromMs, builder);
      proof = added(proof, shard, await createLedger(redis, keys).read());
    }
    const rollUp = builder.result();
    const period = { days, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
    if (values.json) output.line(JSON.stringify({ ...period, proof, ...rollUp }));
    else for (const line of [...opening(period, proof), ...linesOf(rollUp)]) output.line(line);
    return proof.failedShards.length === 0 ? 0 : 1;
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
async function pricesOf(): Promise<Prices> {
  const reading = readProcessConfig('tool');
  if (!reading.ok) throw new UsageError(reading.problems.join('\n'));
  return loadPrices(reading.config.MODEL_PRICES_FILE).catch((error: Error) => {
    throw new UsageError(error.message);
  });
}

function daysOf(text: string | undefined): number {
  if (text === undefined) return DAYS_DEFAULT;
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (days < 1 || days > DAYS_MAX) throw new UsageError(`--days must be a number from 1 to ${DAYS_MAX}.`);
  return days;
}

async function addShard(redis: RedisClient, keys: Keys, fromMs: number, builder: RollUpBuilder): Promise<void> {
  for await (const record of recordsOf(redis, keys.outcomes, fromMs)) add(record, builder.addOutcome, builder);
  for await (const record of recordsOf(redis, keys.events, fromMs)) add(record, builder.addEvent, builder);
}

/** Counts a record that cannot be read, or lacks a part, as unreadable: it must not hide all the others. */
function add<T extends object>(text: string, take: (record: T) => void, builder: RollUpBuilder): void {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record !== 'object' || record === null) throw new TypeError('a record is an object');
    take(record as T);
  } catch {
    builder.addUnreadable();
  }
}

/** The `record` field of a stream's entries since a given time, read in pages. */
async function* recordsOf(redis: RedisClient, stream: string, fromMs: number): AsyncGenerator<string> {
  for (let from = `${fromMs}-0`; ; ) {
    const page = await redis.xrange(stream, from, '+', 'COUNT', PAGE);
    for (const [, fields] of page) yield fieldsOf(fields).get('record') ?? '';
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < PAGE) return;
    from = `(${last}`;
  }
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

function opening(period: { days: number; from: string; to: string }, proof: Proof): string[] {
  const { accepted, settled, pending, unaccounted } = proof;
  return [
    `Audit of ${period.days} days, ${period.from} to ${period.to}`,
    '',
    `Proof (since the counts began): accepted ${accepted} - settled ${settled} - pending ${pending} = ${unaccounted}`,
    `  ${verdictOf(proof)}`,
  ];
}

function verdictOf({ unaccounted, isCounted, failedShards }: Proof): string {
  if (failedShards.length > 0) {
    const what = unaccounted < 0 ? 'came in uncounted' : 'went without an outcome';
    const how = unaccounted === 0 ? 'shards make up for one another' : `${Math.abs(unaccounted)} ${what}`;
    return `${how} (shard ${failedShards.join(', ')}): see the runbook`;
  }
  if (!isCounted) return 'nothing was counted yet, so nothing is proven';
  return 'every message that was accepted has its outcome or waits for it';
}

function linesOf(rollUp: RollUp): string[] {
  const {
    outcomes,
    attempts,
    recoveries,
    latencyMs,
    contextSafety: safety,
    tokens,
    cost,
    failedCalls,
    unreadable,
  } = rollUp;
  const exceeded = Object.entries(safety.exceeded).map(([kind, phases]) => `  exceeded, ${kind}: ${inWords(phases)}`);
  const scrubbed = Object.entries(safety.scrubbed).map(
    ([kind, { messages, parts, bytes }]) => `  scrubbed, ${kind}: ${messages} messages, ${parts} parts, ${bytes} bytes`,
  );
  return [
    '',
    `Outcomes: ${outcomes.total} (${inWords(outcomes.byOutcome)})`,
    `  reasons: ${inWords(outcomes.byReason)}`,
    `  attempts: ${inWords(attempts)}; recoveries: ${inWords(recoveries)}`,
    ...(unreadable > 0 ? [`  records that cannot be read: ${unreadable}`] : []),
    `Latency of ${latencyMs.answered} answers, ms (Telegram states whole seconds): p50 ${latencyMs.p50}, p95 ${latencyMs.p95}, p99 ${latencyMs.p99}`,
    '',
    'Context safety',
    ...(exceeded.length > 0 ? exceeded : ['  exceeded: never']),
    `  old results masked ${safety.forcePruned}, compacted ${safety.compacted}, new sessions ${safety.newSessions}, gave up ${safety.gaveUp}`,
    `  compactions that failed: ${inWords(safety.compactionFailed)}`,
    ...scrubbed,
    `  thinking dropped ${safety.thinkingDropped}, output lowered ${safety.outputLowered}, torn records ${safety.tornRecords}`,
    `  capped: ${inWords(safety.capped)}`,
    `  requests mended: ${inWords(safety.repaired)}`,
    '',
    `Cost: ${money(cost.dollars)} (${inWords(cost.byPurpose, money)})`,
    ...(cost.unpricedModels.length > 0 ? [`  no price is known of: ${cost.unpricedModels.join(', ')}`] : []),
    `  calls without an answer: ${inWords(failedCalls.byReason)}; billed all the same: ${failedCalls.billed}`,
    ...Object.entries(tokens).flatMap(([purpose, models]) =>
      Object.entries(models).map(([model, spent]) => `  ${purpose}, ${model}: ${spendingOf(spent)}`),
    ),
  ];
}

function spendingOf(spent: Spending): string {
  const { calls, inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, thinkingTokens, dollars } = spent;
  const share = (part: number): number => (inputTokens === 0 ? 0 : Math.round((part / inputTokens) * 100));
  const cached = `${share(cacheReadTokens)} % from cache, ${share(cacheWriteTokens)} % written to it`;
  const thought = thinkingTokens > 0 ? ` (${thinkingTokens} thought)` : '';
  const price = dollars === undefined ? 'no price' : money(dollars);
  return `${calls} calls, input ${inputTokens} (${cached}), output ${outputTokens}${thought}, ${price}`;
}

/** Tenths of a cent for small amounts: a message costs no more than that. */
function money(dollars: number): string {
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`;
}

function inWords(counts: Counts, format: (value: number) => string = String): string {
  const words = Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => `${name} ${format(value)}`);
  return words.length === 0 ? 'none' : words.join(', ');
}
