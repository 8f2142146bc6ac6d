import { clip, counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import type { Severity } from '../../shared/flow/alert.ts';
import { parseChatKey } from '../../shared/redis/keys.ts';
import { EVERY_CHAT, type Pause, pauseOfChat } from '../../shared/state/lane/stops.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { actsOf } from '../alerts/act.ts';
import { createBookStore, glimpse } from '../alerts/book-store.ts';
import { rowAt, SEVERITIES, severityOf } from '../alerts/causes.ts';
import { type Incident, incidentOf, REOPEN_MS } from '../alerts/incident.ts';
import { timeOfLetters } from '../alerts/letter-counts.ts';
import { readAllPauses } from './in-flight.ts';
import { replayAction } from './letters.ts';
import { everyChatAction } from './operators.ts';
import {
  type Action,
  chatName,
  compact,
  type Item,
  listSection,
  type Piece,
  pauseAction,
  type ReadReport,
  type Report,
  type ReportSource,
  resumeAction,
  runbookWords,
  type Section,
  type Text,
  UnknownName,
} from './report.ts';
import { inWords, traceText } from './words.ts';

/** The fields of an incident for a report. Times are ms since the epoch, by Redis' clock. */
type IncidentReport = ReturnType<typeof reportOf>;

const CHATS_SHOWN = 20;
const CHARS_SHOWN = 300;
/** Incidents with more chats offer no buttons to pause single chats. */
const CHATS_PAUSED_MAX = 5;

/** The report `incidents`: open incidents and, without `--open`, those that ended within the last hour. */
export const showIncidents: ReadReport = async (at, { options }) => {
  const onlyOpen = options.open !== undefined;
  const all = await readIncidents(at);
  const nowMs = await serverTimeMs(at.redis);
  const open = all.filter(({ isOpen }) => isOpen);
  const recentlyEnded = all.filter(({ isOpen, endedMs = nowMs }) => !isOpen && nowMs - endedMs <= REOPEN_MS);
  const report: Report = {
    title: 'Incidents',
    nowMs,
    sections: compact<Section>(
      listSection('Open', { items: incidentItems(open, nowMs) }, 'No incident is open.'),
      !onlyOpen && listSection('Ended in the last hour', { items: incidentItems(recentlyEnded, nowMs) }),
    ),
    actions: [everyChatAction(await readAllPauses(at))],
  };
  return { report, json: onlyOpen ? open : all, code: open.length > 0 ? 1 : 0 };
};

export const showIncident: ReadReport = async (at, { words: [name = ''] }) => {
  const incident = (await readIncidents(at)).find((each) => each.name === name);
  if (incident === undefined)
    throw new UnknownName(`No incident is called “${name}”: it ended more than an hour ago, or never existed.`);
  const pauses = await readAllPauses(at);
  const nowMs = await serverTimeMs(at.redis);
  const items = incidentItems([incident], nowMs, at.settings.TRACE_URL_TEMPLATE);
  const replay = await replayAction(at, {
    ...timeOfFailures(incident, nowMs),
    labelOf: (count) => `Replay the ${count} that failed in its time`,
  });
  const close: Action[] = incident.canClose ? [{ act: { verb: 'close', target: name, label: 'Close' } }] : [];
  const actions = [...replay, ...close, ...chatActions(incident, pauses), everyChatAction(pauses)];
  return { report: { title: `Incident ${name}`, nowMs, sections: [{ items }], actions }, json: incident };
};

const WORST_FIRST: readonly Severity[] = ['page', 'attention', 'info'];

/**
 * Reads all stored incidents, also those of other versions. The order: open before ended, then root causes before
 * consequences, then (if open) graver before less grave, then newer before older.
 */
export async function readIncidents({ redis }: ReportSource): Promise<IncidentReport[]> {
  const { book, unread } = await createBookStore(redis).read();
  return [...[...book.values()].map(reportOf), ...[...unread].map(unreadableReport)].sort(
    (one, other) =>
      Number(other.isOpen) - Number(one.isOpen) ||
      Number(one.under !== undefined) - Number(other.under !== undefined) ||
      (one.isOpen ? WORST_FIRST.indexOf(one.severity) - WORST_FIRST.indexOf(other.severity) : 0) ||
      other.sinceMs - one.sinceMs,
  );
}

function reportOf(incident: Incident) {
  const { cause, isOpen, openedMs, lastMs, endedMs, messages, chats, chatNames, latest, traceId, under } = incident;
  const { letters } = incident;
  const { title, todo = '' } = rowAt(incident);
  return {
    ...{ name: incidentOf(incident), cause: cause as string, severity: severityOf(incident), title },
    ...{ isOpen, sinceMs: openedMs, lastMs },
    ...(!isOpen && endedMs !== undefined && { endedMs }),
    // `count` is the number of messages, or of occurrences if the cause affects no messages.
    ...{ count: messages, chats, latest, todo, traceId, under, letters, canClose: actsOf(incident).includes('close') },
    chatNames: chatNames.slice(0, CHATS_SHOWN),
  };
}

/** The time span of the failures that belong to an incident. */
function timeOfFailures({ cause, sinceMs, isOpen, endedMs }: IncidentReport, nowMs: number) {
  return timeOfLetters({ cause, openedMs: sinceMs, isOpen, ...(endedMs !== undefined && { endedMs }) }, nowMs);
}

/** The readable fields of an incident of another version. */
function unreadableReport([name, json]: [name: string, json: string]): IncidentReport {
  const { cause, isOpen, openedMs, lastMs, latest } = glimpse(json);
  const sinceMs = openedMs || lastMs || Date.now();
  return {
    ...{ name, cause: 'other-version', severity: severityOf({ cause: 'other-version' }) },
    ...{ title: `Not known to this version (${cause || 'not readable'})`, isOpen },
    ...{ sinceMs, lastMs: Math.max(sinceMs, lastMs), count: 0, chats: 0, chatNames: [] },
    ...{ traceId: undefined, under: undefined, letters: undefined, canClose: false },
    latest: clip((latest || json).replaceAll(/\p{Cc}/gu, ' '), CHARS_SHOWN),
    todo: 'It is kept for the version that wrote it.',
  };
}

export function incidentItems(all: readonly IncidentReport[], nowMs: number, template?: string): Item[] {
  return all.map((incident) => {
    const { name, title, cause, severity, isOpen, sinceMs, lastMs, endedMs, count, chats } = incident;
    const { latest, todo, traceId, under } = incident;
    const { tone, words } = SEVERITIES[severity];
    const when: Piece[] = isOpen
      ? [`OPEN for ${inWords(nowMs - sinceMs)}, since ${utcTime(sinceMs)}, last seen `, { atMs: lastMs }]
      : ['Began ', { atMs: sinceMs }, ', ended ', { atMs: endedMs ?? lastMs }];
    const names = namesOf(incident);
    const chatPieces: Piece[] = names.length === 0 ? [] : [': ', ...names];
    const number = `; ${counted(count, 'time')}${chats === 0 ? '' : `; ${counted(chats, 'chat')}`}`;
    const trace = template === undefined ? [] : ['; ', ...traceText(template, traceId ?? '')];
    return {
      title: [{ of: 'incident', id: name }, `: ${title}`],
      ...(isOpen ? { tone, severity: words } : { tone: 'plain' }),
      lines: compact<Text>(
        [...when, number, ...chatPieces],
        `Latest: ${latest}`,
        under === undefined ? runbookWords(isOpen ? todo : '', cause) : ['Caused by: ', { of: 'incident', id: under }],
        traceId !== undefined && ['First message: ', { of: 'message', id: traceId }, ...trace],
      ),
      ...(under === undefined && { runbook: cause }),
    };
  });
}

function namesOf({ chats, chatNames }: IncidentReport): Piece[] {
  const names = chatNames.flatMap((name, at) => (at === 0 ? [chatName(name)] : [', ', chatName(name)]));
  return names.length > 0 && chats > chatNames.length ? [...names, ', …'] : names;
}

/** Actions that pause or resume the chats of an incident; none if it has many chats, or while every chat is paused. */
function chatActions({ chats, chatNames }: IncidentReport, pauses: readonly Pause[]): Action[] {
  if (chats > CHATS_PAUSED_MAX) return [];
  const validChats = chatNames.flatMap((name) => parseChatKey(name)?.chat ?? []);
  return validChats.flatMap((chat) => {
    const pause = pauseOfChat(pauses, chat);
    if (pause?.chat === EVERY_CHAT) return [];
    return [pause === undefined ? pauseAction(chat, `Pause chat ${chat}`) : resumeAction(chat, `Resume chat ${chat}`)];
  });
}
