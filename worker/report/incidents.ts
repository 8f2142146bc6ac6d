import { clip, counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { createBookStore, glimpse } from '../alerts/book-store.ts';
import { wordsOf } from '../alerts/causes.ts';
import { type Incident, incidentOf, REOPEN_MS } from '../alerts/incident.ts';
import {
  chatName,
  type Item,
  joined,
  listSection,
  type Piece,
  type Report,
  type ReportSource,
  runbookWords,
} from './report.ts';
import { inWords } from './words.ts';

/** An incident as an operator reads of it. Times are ms since the epoch, by Redis' clock. */
export interface IncidentReport {
  /** Its name, as alerts and the runbook have it: the cause, and what distinguishes it from others of the cause. */
  name: string;
  /** One that this version does not know is what it is called where it was written. */
  cause: string;
  title: string;
  isOpen: boolean;
  sinceMs: number;
  lastMs: number;
  endedMs?: number;
  /** Messages, or occurrences where none is concerned. */
  count: number;
  chats: number;
  /** Some of the chats by name. */
  chatNames: readonly string[];
  /** The newest occurrence, in the words of the alert. */
  latest: string;
  todo: string;
  traceId?: string;
}

const CHATS_SHOWN = 20;
const CHARS_SHOWN = 300;

/**
 * The incidents that are open, and those that ended within the hour, with those that this version does not know: open
 * ones first, each by age.
 */
export async function readIncidents({ redis }: ReportSource): Promise<IncidentReport[]> {
  const { book, unread } = await createBookStore(redis).read();
  return [...[...book.values()].map(reportOf), ...[...unread].map(unreadReport)].sort(
    (one, other) => Number(other.isOpen) - Number(one.isOpen) || other.sinceMs - one.sinceMs,
  );
}

function reportOf(incident: Incident): IncidentReport {
  const { cause, isOpen, openedMs, lastMs, endedMs, messages, chats, chatNames, latest, traceId } = incident;
  const { title, todo } = wordsOf(incident);
  return {
    ...{ name: incidentOf(incident), cause, title, isOpen, sinceMs: openedMs, lastMs },
    ...(!isOpen && endedMs !== undefined && { endedMs }),
    ...{ count: messages, chats, chatNames: chatNames.slice(0, CHATS_SHOWN), latest, todo },
    ...(traceId !== undefined && { traceId }),
  };
}

/** The incident of another version, as far as it can be read. */
function unreadReport([name, json]: [name: string, json: string]): IncidentReport {
  const { cause, isOpen, openedMs, lastMs, latest } = glimpse(json);
  const sinceMs = openedMs || lastMs || Date.now();
  return {
    ...{ name, cause: 'other-version', title: `Not known to this version (${cause || 'not readable'})`, isOpen },
    ...{ sinceMs, lastMs: Math.max(sinceMs, lastMs), count: 0, chats: 0, chatNames: [] },
    latest: clip((latest || json).replaceAll(/\p{Cc}/gu, ' '), CHARS_SHOWN),
    todo: 'It is kept for the version that wrote it.',
  };
}

/** Open incidents, and unless only these are asked for those that ended within the hour. Pure. */
export function incidentsReport(all: readonly IncidentReport[], nowMs: number, onlyOpen = false): Report {
  const open = all.filter(({ isOpen }) => isOpen);
  const ended = all.filter(({ isOpen, endedMs = nowMs }) => !isOpen && nowMs - endedMs <= REOPEN_MS);
  return {
    title: 'Incidents',
    nowMs,
    sections: [
      listSection('Open', { items: incidentItems(open, nowMs) }, 'No incident is open.'),
      ...(onlyOpen ? [] : [listSection('Ended within the hour', { items: incidentItems(ended, nowMs) })]),
    ],
  };
}

/** Incidents in the given order. Pure. */
export function incidentItems(incidents: readonly IncidentReport[], nowMs: number): Item[] {
  return incidents.map((incident) => {
    const { name, title, cause, isOpen, sinceMs, lastMs, endedMs, count, latest, todo, traceId } = incident;
    const ended: Piece[] = isOpen
      ? [`OPEN for ${inWords(nowMs - sinceMs)}, since ${utcTime(sinceMs)}, last seen `, { atMs: lastMs }]
      : ['Began ', { atMs: sinceMs }, ', ended ', { atMs: endedMs ?? lastMs }];
    return {
      title: [{ of: 'incident' as const, id: name }, `: ${title}`],
      tone: isOpen ? 'bad' : 'over',
      lines: [
        joined(ended, `; ${counted(count, 'time')}`, chatsOf(incident)),
        `Latest: ${latest}`,
        runbookWords(isOpen ? todo : '', cause),
        ...(traceId === undefined ? [] : [['First message: ', { of: 'message' as const, id: traceId }]]),
      ],
      ...(isOpen && { runbook: cause }),
    };
  });
}

/** One incident: what it is, since when, whom it concerns, what to do. Pure. */
export function incidentReport(incident: IncidentReport, nowMs: number): Report {
  const { name, title, isOpen, sinceMs, lastMs, endedMs = lastMs, count, chats, latest, todo, traceId } = incident;
  return {
    title: `${name}: ${title}`,
    nowMs,
    verdict: {
      tone: isOpen ? 'bad' : 'good',
      reason: isOpen ? `Open for ${inWords(nowMs - sinceMs)}` : ['Ended ', { atMs: endedMs }],
      more: isOpen && todo !== '' ? [todo] : [],
    },
    sections: [
      {
        facts: [
          { name: 'Began', value: { atMs: sinceMs }, note: utcTime(sinceMs) },
          { name: 'Last seen', value: { atMs: lastMs }, note: utcTime(lastMs) },
          { name: 'Times', value: count },
          { name: 'Chats', value: chats },
        ],
      },
      { title: 'Latest', intro: latest },
      ...(traceId === undefined ? [] : [{ title: 'First message', intro: { of: 'message' as const, id: traceId } }]),
      ...(chats === 0 ? [] : [{ title: 'Chats', intro: namesOf(incident) }]),
    ],
  };
}

function chatsOf(incident: IncidentReport): Piece[] {
  return incident.chats === 0 ? [] : [`; ${counted(incident.chats, 'chat')}: `, ...namesOf(incident)];
}

function namesOf({ chats, chatNames }: IncidentReport): Piece[] {
  const names = chatNames.flatMap((name, at) => (at === 0 ? [chatName(name)] : [', ', chatName(name)]));
  return [...names, chats > chatNames.length ? ', …' : ''];
}
