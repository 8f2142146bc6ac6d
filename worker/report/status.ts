import { utcTime } from '../../shared/base/wall-time.ts';
import { chatOf, keysOf } from '../../shared/redis/keys.ts';
import { readAllowed } from '../../shared/state/chat/allowed-people.ts';
import { findRefusedWrites, hostAndPid, isStarting, serverTimeMs } from '../../shared/state/process/process.ts';
import { POLL_AGE_MS, readReceivingProcess } from '../../shared/state/process/receiver.ts';
import { countWorkers, readWorkerReports } from '../../shared/state/process/workers.ts';
import { readBreakers } from '../../shared/state/provider/provider.ts';
import { type LimitUsage, percentOf, spentInWords, totalsOf } from '../../shared/state/spending/limit.ts';
import { readTelegramPause } from '../../shared/state/telegram/telegram.ts';
import { colourOf, troublesOf } from '../watch/colour.ts';
import { alertsCheck, providerCheck, telegramCheck } from '../watch/readiness.ts';
import { conditionsOf, ruleLimitsOf } from '../watch/rules.ts';
import { createSnapshotReader, sum } from '../watch/snapshot.ts';
import { readInFlight } from './in-flight.ts';
import { incidentItems, readIncidents } from './incidents.ts';
import { allowedSection, everyChatAction, ordersSection } from './operators.ts';
import { imbalanceOf, readProof } from './proof.ts';
import {
  chatName,
  compact,
  type Fact,
  fact,
  listSection,
  messageName,
  piecesOf,
  type ReadReport,
  type Report,
  type ReportContext,
  type ReportRequest,
  runbookWords,
  type Section,
  type Text,
  type Verdict,
} from './report.ts';
import { inWords, megabytes, percent, stateOf, whenOf } from './words.ts';

/** The state of the whole installation at one moment. Times are ms since the epoch, by Redis' clock. */
export type Status = Awaited<ReturnType<typeof readStatus>>;

export const showStatus: ReadReport = async (at, { caller }) => {
  const status = await readStatus(at, caller);
  return { report: statusReport(status), json: status, code: status.colour === 'red' ? 1 : 0 };
};

async function readStatus(at: ReportContext, caller: ReportRequest['caller']) {
  const { redis, shards, settings } = at;
  const nowMs = await serverTimeMs(redis);
  const snapshotAt = createSnapshotReader(redis, shards, settings.UNANSWERED_ALERT_MS, totalsOf(settings));
  const [starting, incidents, workers, workersAlive, refusal, by, proof, inFlight, allowed, models, telegram] =
    await Promise.all([
      isStarting(redis),
      readIncidents(at),
      countWorkers(redis, nowMs),
      readWorkerReports(redis, nowMs),
      findRefusedWrites(redis, shards),
      readReceivingProcess(redis, Number(settings.TELEGRAM_BOT_TOKEN.split(':')[0])),
      readProof(at),
      readInFlight(at, caller),
      readAllowed(redis),
      readBreakers(redis, keysOf(0), nowMs),
      readTelegramPause(redis),
    ]);
  const open = new Set(incidents.filter(({ isOpen }) => isOpen).map(({ name }) => name));
  const now = await snapshotAt({ nowMs, open });
  // Failing calls count at once, because the operator asks for the state of this moment.
  const limits = ruleLimitsOf(settings, { pollAgeMs: POLL_AGE_MS, providerDownMs: 0, telegramDownMs: 0 });
  const conditions = conditionsOf({ now, before: undefined, sinceMs: 0, limits });
  const takesWrites = refusal === undefined;
  const { accepted, settled, pending, unaccounted } = proof;
  const answeredMs = now.poll?.lastAnswerMs;
  const troubles = troublesOf(
    { nowMs, conditions, incidents, newest: now.newest, openLetters: sum(now.shards, (shard) => shard.openLetters) },
    { workers, takesWrites, imbalance: imbalanceOf(proof), pauses: inFlight.pauses, isStarting: starting },
  );
  const colour = colourOf(troubles, starting);
  const { usedBytes, maxBytes } = now.redis;
  const memory = { usedBytes, maxBytes, ...(maxBytes > 0 && { share: usedBytes / maxBytes }) };
  return {
    ...{ atMs: nowMs, isGreen: colour === 'green', colour, troubles, incidents, workers, allowed },
    ledger: { accepted, settled, pending: Math.max(0, pending - (caller ? 1 : 0)), unaccounted },
    cached: workersAlive.map(({ usedBytes, maxBytes }) => ({ usedBytes, maxBytes })),
    breakers: { models, telegram },
    budgets: now.spent,
    ...inFlight,
    receiving: {
      ...stateOf(telegramCheck(now)),
      // The time since the last successful poll or check of the webhook.
      ageMs: answeredMs === undefined ? undefined : Math.max(0, nowMs - answeredMs),
      by: by === undefined ? undefined : `${hostAndPid(by).host}, process ${hostAndPid(by).pid}`,
    },
    provider: stateOf(providerCheck(now)),
    alerts: stateOf(alertsCheck(now)),
    telemetry: [...new Set(workersAlive.flatMap(({ exportTrouble }) => exportTrouble || []))],
    deadLetters: sum(now.shards, (shard) => shard.deadLetters),
    redis: { ...memory, takesWrites, isVolatile: now.redis.isOnDisk !== true },
  };
}

function connectionFacts(status: Status): Fact[] {
  const { receiving, provider, breakers, alerts, telemetry, redis, atMs: nowMs } = status;
  const { usedBytes, maxBytes, share, takesWrites, isVolatile } = redis;
  const room = share === undefined ? 'without a limit' : `of ${megabytes(maxBytes)}, ${percent(share)}`;
  const state = `${takesWrites ? 'takes writes' : 'TAKES NO WRITES'}${isVolatile ? '; writes nothing to disk' : ''}`;
  const by = receiving.by === undefined ? '' : `; by ${receiving.by}`;
  const open = [
    ...breakers.models.map((each) => ({ ...each, name: each.model })),
    ...(breakers.telegram ? [{ ...breakers.telegram, name: 'Telegram' }] : []),
  ].map(({ name, sinceMs, untilMs }) => `${name}: open since ${utcTime(sinceMs)}, next try ${whenOf(untilMs, nowMs)}`);
  const part = (name: string, isWell: boolean, value: string): Fact => ({ name, value, tone: isWell ? 'good' : 'bad' });
  return [
    part('Receiving', receiving.isWell, `${receiving.detail}${by}`),
    part('Model', provider.isWell, provider.detail),
    part('Breakers', open.length === 0, open.join('; ') || 'closed'),
    part('Alerts', alerts.isWell, alerts.detail),
    part('Redis', takesWrites, `${megabytes(usedBytes)} ${room}; ${state}`),
    ...telemetry.map((detail) => part('Telemetry', false, detail)),
  ];
}

const RUNNING_SHOWN = 10;
const INCIDENTS_SHOWN = 8;

function statusReport(status: Status): Report {
  const { atMs, allowed, budgets, incidents, pauses } = status;
  const open = incidents.filter(({ isOpen }) => isOpen);
  // Show only the first line of each incident, because the verdict has the advice.
  const items = incidentItems(open.slice(0, INCIDENTS_SHOWN), atMs).map(({ runbook: _, lines, ...item }) => ({
    ...item,
    lines: lines.slice(0, 1),
  }));
  return {
    nowMs: atMs,
    verdict: verdictOf(status),
    sections: compact<Section>(
      { facts: numbers(status) },
      listSection('Open incidents', { items, more: { count: open.length - INCIDENTS_SHOWN, noun: 'incident' } }),
      turnsInFlight(status),
      lanes(status),
      pauses.length > 0 && ordersSection('Paused', 'Chat', pauses, 'pause'),
      allowed.length > 0 && allowedSection(allowed),
      { title: 'Connections', facts: connectionFacts(status) },
      budgets.length > 0 && { title: 'Spent of each budget', facts: budgetFacts(budgets) },
    ),
    actions: [everyChatAction(pauses)],
  };
}

export function budgetFacts(budgets: readonly LimitUsage[]): Fact[] {
  return budgets.map((each) => fact(each.limit.setting, `${spentInWords(each)}, ${percentOf(each)} %`));
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
    ...others.map(({ text, cause, under }) => (under ? `Consequence: ${text}` : runbookWords(`Also: ${text}`, cause))),
    utcTime(atMs),
  ];
  return { tone: colour === 'red' ? 'bad' : 'fair', word, reason: worst.text, more };
}

function numbers({ ledger, jobs, oldest, deadLetters, workers, cached }: Status): Fact[] {
  const acceptedInWords = `of ${ledger.accepted} accepted; `;
  const waits: Text = oldest
    ? ['oldest ', messageName(oldest.entry), ' of chat ', chatName(chatOf(oldest.lane)), ', accepted ']
    : 'none waits for an answer';
  const pending = [acceptedInWords, ...piecesOf(waits), ...(oldest ? [{ atMs: oldest.acceptedMs }] : [])];
  const each = cached.map(({ usedBytes, maxBytes }) => `${megabytes(usedBytes)} of ${megabytes(maxBytes)}`);
  const inMemory = each.length === 0 ? '' : `; chats in memory: ${each.join(', ')}`;
  return [
    fact('Pending', ledger.pending, pending),
    fact('Running', jobs.active, `${jobs.waiting} waiting, ${jobs.delayed} put off`),
    fact('Dead letters', { of: 'dead', id: '', text: deadLetters }, 'messages that failed'),
    fact('Workers', workers, `alive${inMemory}`),
  ];
}

function turnsInFlight({ running, jobs, atMs }: Status): Section {
  const rows = running
    .slice(0, RUNNING_SHOWN)
    .map(({ entry, chat, step, attempt, sinceMs }) => [
      messageName(entry),
      chatName(chat),
      step,
      attempt,
      sinceMs === undefined ? 'just begun' : inWords(atMs - sinceMs),
    ]);
  const table = { columns: ['Message', 'Chat', 'Step', 'Attempt', 'For'], rows };
  return listSection('Messages being answered', { table, more: { count: jobs.active - rows.length, noun: 'message' } });
}

function lanes({ lanes: { count, waiting, parked, behindQuestions, deepest } }: Status): Section {
  if (count === 0) return { title: 'Lanes', empty: 'No message is waiting.' };
  const chats = parked === 1 ? 'chat waits' : 'chats wait';
  const questions =
    parked === 0 ? '' : ` ${parked} ${chats} for somebody's decision; messages behind: ${behindQuestions}.`;
  const intro = `Chats with messages: ${count}; in ${waiting} of them, messages wait behind another.${questions}`;
  const rows = deepest.map(({ lane, messages }) => [chatName(chatOf(lane)), messages]);
  return { title: 'Lanes', intro, table: { columns: ['Chat', 'Messages'], rows } };
}
