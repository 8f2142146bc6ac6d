import type { Config } from '../../shared/base/config.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { chatOf } from '../../shared/redis/keys.ts';
import { readAllowed } from '../../shared/state/chat/allowed.ts';
import { type Balance, createLedger } from '../../shared/state/lane/ledger.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import type { Order } from '../../shared/state/orders.ts';
import { findRefusedWrites, isStarting, serverTimeMs } from '../../shared/state/process/process.ts';
import { readReceivingProcess } from '../../shared/state/process/receiver.ts';
import { type Cached, countWorkers, readShown } from '../../shared/state/process/workers.ts';
import {
  type BudgetSettings,
  percentOf,
  type Spent,
  spentInWords,
  totalsOf,
} from '../../shared/state/spending/limit.ts';
import { type ModelSettings, modelsInUse } from '../model/catalog.ts';
import { conditionsOf, POLL_AGE_MS } from '../watch/rules.ts';
import { createSnapshotReader } from '../watch/snapshot.ts';
import { type Colour, colourOf, type Trouble, troublesOf } from '../watch/verdict.ts';
import { type Connections, connectionFacts, partsOf, readOpenBreakers } from './connections.ts';
import { type InFlight, readInFlight } from './in-flight.ts';
import { type IncidentReport, incidentItems, readIncidents } from './incidents.ts';
import {
  chatName,
  type Fact,
  joined,
  listSection,
  messageName,
  type Report,
  type ReportSource,
  runbookWords,
  type Section,
  shardsOf,
  type Text,
  type Verdict,
} from './report.ts';
import { inWords, megabytes } from './words.ts';

/** The state of the whole installation at one moment. Times are ms since the epoch, by Redis' clock. */
export interface Status extends InFlight, Connections {
  atMs: number;
  isGreen: boolean;
  colour: Colour;
  /** Why it is red or yellow, the worst first. */
  troubles: Trouble[];
  ledger: Balance;
  incidents: IncidentReport[];
  deadLetters: number;
  workers: number;
  /** What each of them keeps of chats in memory, in bytes. */
  cached: Cached[];
  /** Who was let in besides the ids of the settings. */
  allowed: Order[];
  /** The part of each limit of all chats that is spent, in billionths of a dollar or in tokens; none where there is none. */
  budgets: readonly Spent[];
}

/** The settings that the verdict depends on. */
export type StatusLimits = Pick<
  Config,
  'UNANSWERED_ALERT_MS' | 'DEAD_LETTERS_MAX' | 'TELEGRAM_BOT_TOKEN' | 'REDIS_ACCEPT'
> &
  BudgetSettings &
  ModelSettings;

/** Reads the state of everything. */
export async function readStatus(source: ReportSource, limits: StatusLimits): Promise<Status> {
  const { redis } = source;
  const nowMs = await serverTimeMs(redis);
  const snapshotAt = createSnapshotReader(redis, source.shards, limits.UNANSWERED_ALERT_MS, totalsOf(limits));
  const [starting, incidents, workers, shown, takesWrites, by, ledger, inFlight, allowed, breakers] = await Promise.all(
    [
      isStarting(redis),
      readIncidents(source),
      countWorkers(redis, nowMs),
      readShown(redis, nowMs),
      findRefusedWrites(redis, source.shards).then((refusal) => refusal === undefined),
      readReceivingProcess(redis, Number(limits.TELEGRAM_BOT_TOKEN.split(':')[0])),
      readLedger(source),
      readInFlight(source),
      readAllowed(redis),
      readOpenBreakers(redis, nowMs),
    ],
  );
  const open = new Set(incidents.filter(({ isOpen }) => isOpen).map(({ name }) => name));
  const now = await snapshotAt({ nowMs, open });
  const conditions = conditionsOf({ now, before: undefined, sinceMs: 0, limits: ruleLimits(limits) });
  const troubles = troublesOf(
    { nowMs, conditions, incidents, newest: now.newest },
    { workers, takesWrites, unaccounted: ledger.unaccounted, pauses: inFlight.pauses, isStarting: starting },
  );
  const colour = colourOf(troubles, starting);
  const { usedBytes, maxBytes } = now.redis;
  const memory = { usedBytes, maxBytes, ...(maxBytes > 0 && { share: usedBytes / maxBytes }) };
  return {
    ...{
      atMs: nowMs,
      isGreen: colour === 'green',
      colour,
      troubles,
      ledger,
      incidents,
      workers,
      cached: shown.map(({ usedBytes, maxBytes }) => ({ usedBytes, maxBytes })),
      allowed,
      breakers,
      budgets: now.spent,
    },
    ...inFlight,
    ...partsOf(now, by),
    telemetry: [...new Set(shown.flatMap(({ exportTrouble }) => exportTrouble || []))],
    deadLetters: now.shards.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
    redis: { ...memory, takesWrites, isVolatile: now.redis.isOnDisk !== true },
  };
}

/** Whoever asks wants to know at once: no grace for an endpoint or a Telegram that fails, nor for a poller that has just started. */
function ruleLimits(limits: StatusLimits) {
  const { UNANSWERED_ALERT_MS: unansweredMs, DEAD_LETTERS_MAX: deadLettersMax } = limits;
  const own = { pollAgeMs: POLL_AGE_MS, providerDownMs: 0, telegramDownMs: 0, models: modelsInUse(limits) };
  const isVolatileAccepted = limits.REDIS_ACCEPT.includes('volatile');
  return { unansweredMs, deadLettersMax, totals: totalsOf(limits), isVolatileAccepted, ...own };
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

const RUNNING_SHOWN = 10;
const INCIDENTS_SHOWN = 8;
const ORDERS_SHOWN = 20;

/** The state of everything on one screen: its colour first, and why. Pure. */
export function statusReport(status: Status): Report {
  const open = status.incidents.filter(({ isOpen }) => isOpen);
  const incidents = incidentItems(open.slice(0, INCIDENTS_SHOWN), status.atMs);
  return {
    nowMs: status.atMs,
    verdict: verdictOf(status),
    sections: [
      { facts: numbers(status) },
      listSection('Open incidents', {
        items: incidents,
        more: { count: open.length - INCIDENTS_SHOWN, noun: 'incident' },
      }),
      turnsInFlight(status),
      lanes(status),
      ...(status.pauses.length === 0 ? [] : [ordersSection('Paused', 'Chat', status.pauses, 'pause')]),
      ...(status.allowed.length === 0 ? [] : [allowedSection(status.allowed)]),
      { title: 'Connections', facts: connectionFacts(status, status.atMs) },
      ...(status.budgets.length === 0 ? [] : [{ title: 'Spent of each limit', facts: budgetFacts(status.budgets) }]),
    ],
  };
}

/** The part of each limit of all chats that is spent. Pure. */
export function budgetFacts(budgets: Status['budgets']): Fact[] {
  return budgets.map((each) => ({ name: each.limit.setting, value: `${spentInWords(each)}, ${percentOf(each)} %` }));
}

function verdictOf({ colour, troubles, atMs }: Status): Verdict {
  const [worst, ...others] = troubles;
  const word = `${colour.slice(0, 1).toUpperCase()}${colour.slice(1)}`;
  if (worst === undefined) {
    const reason = colour === 'starting' ? 'A process has just started.' : 'All is well.';
    return { tone: 'good', word, reason, more: [utcTime(atMs)] };
  }
  const more = [
    runbookWords(worst.todo, worst.cause),
    ...others.map(({ text, cause }) => runbookWords(`Also: ${text}`, cause)),
    utcTime(atMs),
  ];
  return { tone: colour === 'red' ? 'bad' : 'fair', word, reason: worst.text, more };
}

function numbers({ ledger, jobs, oldest, deadLetters, workers, cached }: Status): Fact[] {
  const waits: Text =
    oldest === undefined
      ? 'none waits for an answer'
      : [
          'oldest ',
          messageName(oldest.entry),
          ' of chat ',
          chatName(chatOf(oldest.lane)),
          ', accepted ',
          { atMs: oldest.acceptedMs },
        ];
  return [
    { name: 'Pending', value: ledger.pending, note: joined(`of ${ledger.accepted} accepted; `, waits) },
    { name: 'Running', value: jobs.active, note: `${jobs.waiting} waiting, ${jobs.delayed} put off` },
    { name: 'Dead letters', value: { of: 'letters', id: '', text: deadLetters }, note: 'messages that failed' },
    { name: 'Workers', value: workers, note: `alive${cachedWords(cached)}` },
  ];
}

/** How much the processes keep of chats in memory; nothing where none has shown it. */
function cachedWords(cached: readonly Cached[]): string {
  if (cached.length === 0) return '';
  const each = cached.map(({ usedBytes, maxBytes }) => `${megabytes(usedBytes)} of ${megabytes(maxBytes)}`);
  return `; chats in memory: ${each.join(', ')}`;
}

function turnsInFlight({ running, jobs, atMs }: Status): Section {
  const shown = running.slice(0, RUNNING_SHOWN);
  const rows = shown.map(({ entry, chat, step, attempt, sinceMs }) => [
    messageName(entry),
    chatName(chat),
    step,
    attempt,
    sinceMs === undefined ? 'just begun' : inWords(atMs - sinceMs),
  ]);
  const table = { columns: ['Message', 'Chat', 'Step', 'Attempt', 'For'], rows };
  return listSection('Turns in flight', { table, more: { count: jobs.active - shown.length, noun: 'turn' } });
}

function lanes({ lanes: { count, waiting, parked, behindQuestions, deepest } }: Status): Section {
  if (count === 0) return { title: 'Lanes', empty: 'No message is waiting.' };
  const parkedWords = `${parked} ${parked === 1 ? 'chat waits' : 'chats wait'} for somebody's decision, with ${behindQuestions} messages behind it.`;
  const intro = `Chats with messages: ${count}; in ${waiting} of them, messages wait for the one before.${parked === 0 ? '' : ` ${parkedWords}`}`;
  const rows = deepest.map(({ lane, messages }) => [chatName(chatOf(lane)), messages]);
  return { title: 'Lanes', intro, table: { columns: ['Chat', 'Messages'], rows } };
}

/** Who was let in besides the ids of the settings. Pure. */
export function allowedSection(allowed: readonly Order[]): Section {
  return ordersSection('Allowed besides TELEGRAM_ALLOWED_IDS', 'Id', allowed, 'id');
}

function ordersSection(title: string, of: string, orders: readonly Order[], noun: string): Section {
  const rows = orders
    .slice(0, ORDERS_SHOWN)
    .map(({ chat, sinceMs, by, why }) => [
      chat === EVERY_CHAT ? 'every chat' : chatName(chat),
      { atMs: sinceMs },
      by,
      why || 'no reason given',
    ]);
  const more = { count: orders.length - ORDERS_SHOWN, noun };
  return listSection(title, { table: { columns: [of, 'Since', 'By', 'Reason'], rows }, more });
}
