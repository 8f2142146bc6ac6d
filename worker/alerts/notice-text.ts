import { clip } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { CAUSES } from './causes.ts';
import { type Incident, incidentOf, type NoticeKind } from './incident.ts';

/** A URL may have been written with its braces encoded. */
const TRACE_ID = /\{traceId\}|%7BtraceId%7D/i;
const OCCURRENCES_CHARS_MAX = 3_000;
const LATEST_CHARS_MAX = 700;

/** Where an operator reads on; each is absent where nobody set it. */
export interface Links {
  /** The page of a trace, with `{traceId}` in it. */
  trace?: string | undefined;
  /** The runbook, whose headings are the causes. */
  runbook?: string | undefined;
}

/** The lines under a notice that lead to the trace of its message, and to the runbook's section about it. Pure. */
export function linkLines({ cause, traceId }: Incident, { trace, runbook }: Links): string[] {
  return [
    ...(trace !== undefined && traceId !== undefined ? [`Trace: ${trace.replace(TRACE_ID, traceId)}`] : []),
    ...(runbook === undefined ? [] : [`Runbook: ${runbook}#${cause}`]),
  ];
}

/** The operator's notice: plain text that says what happened, since when, how much of it, and what to do. Pure. */
export function noticeText(incident: Incident, kind: NoticeKind): string {
  const { todo } = CAUSES[incident.cause];
  if (kind === 'opened') return withOthers(sentences(incident.first, others(incident), todo), incident);
  if (kind === 'reopened')
    return withOthers(sentences(incident.first, others(incident), backAgain(incident), todo), incident);
  if (kind === 'changed') return sentences(`Changed: ${incident.latest}`, extent(incident), todo);
  if (kind === 'lasts') return sentences(`Still open: ${incident.latest}`, extent(incident), todo);
  if (kind === 'spread') return spreadText(incident);
  return resolvedText(incident);
}

/** The first words name one occurrence; those that came before they were sent are named below. */
function withOthers(text: string, incident: Incident): string {
  return [text, ...named({ ...incident, unnamed: incident.unnamed.slice(1) })].join('\n');
}

function spreadText(incident: Incident): string {
  const { title } = CAUSES[incident.cause];
  if (incident.unnamed.length > 0) return named(incident).join('\n');
  return sentences(`Spreads: ${title}.`, extent(incident), `Latest: ${clip(incident.latest, LATEST_CHARS_MAX)}`);
}

/** Each occurrence that was not notified yet, as far as there is room; the others are in the log. */
function named({ unnamed, unnamedMore }: Pick<Incident, 'unnamed' | 'unnamedMore'>): string[] {
  const lines: string[] = [];
  let chars = 0;
  for (const text of unnamed) {
    chars += text.length + 1;
    if (chars > OCCURRENCES_CHARS_MAX) break;
    lines.push(text);
  }
  const more = unnamed.length - lines.length + unnamedMore;
  return more > 0 ? [...lines, `… and ${more} more, each in the log`] : lines;
}

function resolvedText(incident: Incident): string {
  const { over, endsBy } = CAUSES[incident.cause];
  const end = endsBy === 'alert' ? incident.latest : `Resolved: ${over}`;
  const lastedS = Math.round(((incident.endedMs ?? incident.lastMs) - incident.openedMs) / 1000);
  const lasted = sentences(end, `It lasted ${lastedS} seconds${concerned(incident)} (${incidentOf(incident)}).`);
  return [lasted, ...named(incident)].join('\n');
}

/** Whom an incident affects besides the message that its first words name. */
function others(incident: Incident): string {
  return incident.messages > 1 || incident.chats > 1 ? extent(incident) : '';
}

function extent(incident: Incident): string {
  return `Since ${utcTime(incident.openedMs)}${concerned(incident)}.`;
}

function concerned({ messages, chats }: Incident): string {
  if (messages === 0) return '';
  return chats === 0 ? `: ${count(messages, 'time')}` : `: ${count(messages, 'message')} of ${count(chats, 'chat')}`;
}

function backAgain({ reopenings, endedMs }: Incident): string {
  return `It is back: ${count(reopenings, 'time')} since ${utcTime(endedMs ?? 0)}.`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function sentences(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' ');
}
