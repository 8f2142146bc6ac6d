import { utcTime } from '../../shared/base/utc-time.ts';
import { EVERY_CHAT } from '../../shared/state/lane/stops.ts';
import { percentOf, spentInWords } from '../../shared/state/spending/limit.ts';
import { incidentItems } from './incidents.ts';
import {
  chatName,
  type Fact,
  joined,
  listSection,
  messageName,
  type Report,
  type Section,
  type Text,
  type Verdict,
} from './report.ts';
import type { PartState, Status } from './status.ts';
import { counted, inWords, megabytes, percent } from './words.ts';

const RUNNING_SHOWN = 10;
const INCIDENTS_SHOWN = 8;
const PAUSES_SHOWN = 20;

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
      ...(status.pauses.length === 0 ? [] : [pauses(status)]),
      { title: 'Connections', facts: connections(status) },
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
    `${worst.todo} Runbook: ${worst.cause}`.trim(),
    ...others.map(({ text, cause }) => `Also: ${text} Runbook: ${cause}`),
    utcTime(atMs),
  ];
  return { tone: colour === 'red' ? 'bad' : 'fair', word, reason: worst.text, more };
}

function numbers({ ledger, jobs, oldest, deadLetters, workers }: Status): Fact[] {
  const waits: Text =
    oldest === undefined
      ? 'none waits for an answer'
      : [
          'oldest ',
          messageName(oldest.entry),
          ' of chat ',
          chatName(oldest.lane),
          ', accepted ',
          { atMs: oldest.acceptedMs },
        ];
  return [
    { name: 'Pending', value: ledger.pending, note: joined(`of ${ledger.accepted} accepted; `, waits) },
    { name: 'Running', value: jobs.active, note: `${jobs.waiting} waiting, ${jobs.delayed} put off` },
    { name: 'Dead letters', value: { of: 'letters', id: '', text: deadLetters }, note: 'messages that failed' },
    { name: 'Workers', value: workers, note: 'alive' },
  ];
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

function lanes({ lanes: { count, waiting, deepest } }: Status): Section {
  if (count === 0) return { title: 'Lanes', empty: 'No message is waiting.' };
  const intro = `${counted(count, 'chat')} with messages; in ${waiting} of them, messages wait for the one before.`;
  const rows = deepest.map(({ lane, messages }) => [chatName(lane), messages]);
  return { title: 'Lanes', intro, table: { columns: ['Chat', 'Messages'], rows } };
}

function pauses({ pauses: all }: Status): Section {
  const rows = all
    .slice(0, PAUSES_SHOWN)
    .map(({ chat, sinceMs, by, why }) => [
      chat === EVERY_CHAT ? 'every chat' : chatName(chat),
      { atMs: sinceMs },
      by,
      why || 'no reason given',
    ]);
  const more = { count: all.length - PAUSES_SHOWN, noun: 'pause' };
  return { title: 'Paused', table: { columns: ['Chat', 'Since', 'By', 'Reason'], rows }, more };
}

function connections({ receiving, provider, alerts, redis }: Status): Fact[] {
  const { usedBytes, maxBytes, share, takesWrites, isVolatile } = redis;
  const room = share === undefined ? 'without a limit' : `of ${megabytes(maxBytes)}, ${percent(share)}`;
  const state = takesWrites ? 'takes writes' : 'TAKES NO WRITES';
  const detail = `${megabytes(usedBytes)} ${room}; ${state}${isVolatile ? '; writes nothing to disk' : ''}`;
  const by = receiving.by === undefined ? '' : `; by ${receiving.by}`;
  const fact = (name: string, { isWell, detail: value }: PartState): Fact => ({
    name,
    value,
    tone: isWell ? 'good' : 'bad',
  });
  return [
    fact('Receiving', { ...receiving, detail: `${receiving.detail}${by}` }),
    fact('Model', provider),
    fact('Alerts', alerts),
    fact('Redis', { isWell: takesWrites, detail }),
  ];
}
