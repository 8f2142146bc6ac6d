import type { Config } from '../../shared/base/config.ts';
import { readKeeping } from '../../shared/redis/keeping.ts';
import { type Balance, createLedger } from '../../shared/state/lane/ledger.ts';
import { type Pause, readPauses } from '../../shared/state/lane/stops.ts';
import { type LaneDepth, readDepths } from '../../shared/state/lane/waiting.ts';
import { type InboundEntry, readOldest } from '../../shared/state/message/inbound.ts';
import { hostAndPid, isStarting, serverTimeMs, writeRefusal } from '../../shared/state/process/process.ts';
import { readReceivingProcess } from '../../shared/state/process/receiver.ts';
import { countWorkers } from '../../shared/state/process/workers.ts';
import { type BudgetSettings, type Spent, totalsOf } from '../../shared/state/spending/limit.ts';
import type { JobCounts } from '../lane/job-view.ts';
import { type ModelSettings, modelsInUse } from '../model/catalog.ts';
import { alertsCheck, providerCheck, telegramCheck } from '../watch/readiness.ts';
import { conditionsOf, POLL_AGE_MS } from '../watch/rules.ts';
import { createSnapshotReader, type Snapshot } from '../watch/snapshot.ts';
import { type Colour, colourOf, type Trouble, troublesOf } from '../watch/verdict.ts';
import { type IncidentReport, readIncidents } from './incidents.ts';
import { type RunningTurn, readJobCounts, readRunning } from './message-location.ts';
import { type ReportSource, shardsOf } from './report.ts';

/** How one thing that the gateway needs fares, in words. */
export interface PartState {
  isWell: boolean;
  detail: string;
}

/** The lanes of all chats. */
export interface Lanes {
  /** How many hold at least one message. */
  count: number;
  /** How many hold more than the one that is being answered. */
  waiting: number;
  /** The deepest first. */
  deepest: LaneDepth[];
}

const DEEPEST_SHOWN = 5;

/** The state of the whole installation at one moment. Times are ms since the epoch, by Redis' clock. */
export interface Status {
  atMs: number;
  isGreen: boolean;
  colour: Colour;
  /** Why it is red or yellow, the worst first. */
  troubles: Trouble[];
  ledger: Balance;
  /** The oldest message whose user has no answer. */
  oldest?: InboundEntry;
  lanes: Lanes;
  jobs: JobCounts;
  running: RunningTurn[];
  /** How receiving goes, and which process does it; `ageMs` is that of the last answer. */
  receiving: PartState & { ageMs?: number; by?: string };
  provider: PartState;
  alerts: PartState;
  incidents: IncidentReport[];
  deadLetters: number;
  /** `share` is 0 to 1; absent where Redis has no limit. Volatile: it writes nothing to disk. */
  redis: { usedBytes: number; maxBytes: number; share?: number; takesWrites: boolean; isVolatile: boolean };
  workers: number;
  pauses: Pause[];
  /** The part of each limit of all chats that is spent, in billionths of a dollar or in tokens; none where there is none. */
  budgets: readonly Spent[];
}

/** The settings that the verdict depends on. */
export type StatusLimits = Pick<Config, 'UNANSWERED_ALERT_MS' | 'DEAD_LETTERS_MAX' | 'TELEGRAM_BOT_TOKEN'> &
  BudgetSettings &
  ModelSettings;

/** Reads the state of everything. */
export async function readStatus(source: ReportSource, limits: StatusLimits): Promise<Status> {
  const { redis } = source;
  const nowMs = await serverTimeMs(redis);
  const snapshotAt = createSnapshotReader(redis, source.shards, limits.UNANSWERED_ALERT_MS, totalsOf(limits));
  const [starting, incidents, workers, takesWrites, by, ledger, pauses, oldest, lanes, jobs, running, keeping] =
    await Promise.all([
      isStarting(redis),
      readIncidents(source),
      countWorkers(redis, nowMs),
      writeRefusal(redis).then((refusal) => refusal === undefined),
      readReceivingProcess(redis, Number(limits.TELEGRAM_BOT_TOKEN.split(':')[0])),
      readLedger(source),
      readAllPauses(source),
      readOldestOfAll(source),
      readLanes(source),
      readJobCounts(source),
      readRunning(source),
      readKeeping(redis),
    ]);
  const open = new Set(incidents.filter(({ isOpen }) => isOpen).map(({ name }) => name));
  const now = await snapshotAt({ nowMs, open });
  const conditions = conditionsOf({ now, before: undefined, sinceMs: 0, limits: ruleLimits(limits) });
  const troubles = troublesOf(
    { nowMs, conditions, incidents, newest: now.newest },
    { workers, takesWrites, unaccounted: ledger.unaccounted, pauses, isStarting: starting },
  );
  const colour = colourOf(troubles, starting);
  return {
    ...{ atMs: nowMs, isGreen: colour === 'green', colour, troubles, ledger, ...(oldest && { oldest }) },
    ...{ lanes, jobs, running, incidents, workers, pauses, budgets: now.spent },
    ...partsOf(now, by),
    deadLetters: now.shards.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
    redis: { ...memoryOf(now), takesWrites, isVolatile: keeping.risks.includes('volatile') },
  };
}

/** Whoever asks wants to know at once: no grace for an endpoint or a Telegram that fails, nor for a poller that has just started. */
function ruleLimits(limits: StatusLimits) {
  const { UNANSWERED_ALERT_MS: unansweredMs, DEAD_LETTERS_MAX: deadLettersMax } = limits;
  const own = { pollAgeMs: POLL_AGE_MS, providerDownMs: 0, telegramDownMs: 0, models: modelsInUse(limits) };
  return { unansweredMs, deadLettersMax, totals: totalsOf(limits), ...own };
}

function partsOf(now: Snapshot, by: string | undefined): Pick<Status, 'receiving' | 'provider' | 'alerts'> {
  const stateOf = ({ ready, isDegraded, detail = '' }: ReturnType<typeof providerCheck>): PartState => ({
    isWell: ready && isDegraded !== true,
    detail,
  });
  const answeredMs = now.poll?.lastAnswerMs;
  return {
    receiving: {
      ...stateOf(telegramCheck(now)),
      ...(answeredMs !== undefined && { ageMs: Math.max(0, now.nowMs - answeredMs) }),
      ...(by !== undefined && { by: wordsOf(by) }),
    },
    provider: stateOf(providerCheck(now)),
    alerts: stateOf(alertsCheck(now)),
  };
}

/** A process by its host and process id. */
function wordsOf(name: string): string {
  const { host, pid } = hostAndPid(name);
  return `${host}, process ${pid}`;
}

function memoryOf({
  redis: { usedBytes, maxBytes },
}: Snapshot): Pick<Status['redis'], 'usedBytes' | 'maxBytes' | 'share'> {
  return { usedBytes, maxBytes, ...(maxBytes > 0 && { share: usedBytes / maxBytes }) };
}

async function readLanes(source: ReportSource): Promise<Lanes> {
  const all = (await Promise.all(shardsOf(source).map((keys) => readDepths(source.redis, keys)))).flat();
  const deepest = all.sort((one, other) => other.messages - one.messages).slice(0, DEEPEST_SHOWN);
  return { count: all.length, waiting: all.filter(({ messages }) => messages > 1).length, deepest };
}

async function readLedger(source: ReportSource): Promise<Balance> {
  const all = await Promise.all(shardsOf(source).map((keys) => createLedger(source.redis, keys).read()));
  const sum = (name: keyof Balance) => all.reduce((total, reading) => total + reading[name], 0);
  return {
    accepted: sum('accepted'),
    settled: sum('settled'),
    pending: sum('pending'),
    unaccounted: all.find(({ unaccounted }) => unaccounted !== 0)?.unaccounted ?? 0,
  };
}

async function readAllPauses(source: ReportSource): Promise<Pause[]> {
  const all = (await Promise.all(shardsOf(source).map((keys) => readPauses(source.redis, keys)))).flat();
  return all.filter(({ chat }, at) => all.findIndex((other) => other.chat === chat) === at);
}

async function readOldestOfAll(source: ReportSource): Promise<InboundEntry | undefined> {
  const each = await Promise.all(shardsOf(source).map((keys) => readOldest(source.redis, keys)));
  return each.filter((one) => one !== undefined).sort((one, other) => one.acceptedMs - other.acceptedMs)[0];
}
