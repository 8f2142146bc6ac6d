import type { MessageEntity } from '@grammyjs/types';
import type { Settings } from '../../shared/base/settings.ts';
import { clip, counted } from '../../shared/base/text.ts';
import { utcClock, utcTime } from '../../shared/base/wall-time.ts';
import type { Button, Link } from '../../shared/telegram/messages.ts';
import { actLines, buttonsOf } from './act.ts';
import type { Book } from './book.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { CAUSES, markOf, rowAt } from './causes.ts';
import { type Incident, incidentOf, OTHERS } from './incident.ts';

/** The page of a trace. A URL may have been written with its braces encoded. Pure. */
export function traceUrl(template: string, traceId: string): string {
  return template.replace(/\{traceId\}|%7BtraceId%7D/i, traceId);
}

/** What the settings add to a message: where its links lead, and the name of the installation. */
export interface Surroundings {
  /** The page of a trace, with `{traceId}` in it. */
  trace?: string | undefined;
  /** The runbook, whose headings are the causes. */
  runbook?: string | undefined;
  /** The address under which operators reach the console. */
  console?: string | undefined;
  installation?: string | undefined;
  /** Whether there are operators: without one, messages have no buttons that act. */
  hasOperators?: boolean;
}

/** The surroundings that the settings name. Pure. */
export function surroundingsOf(settings: Settings): Surroundings {
  const { TELEGRAM_OPERATOR_IDS: named, TELEGRAM_ALLOWED_IDS: allowed } = settings;
  return {
    trace: settings.TRACE_URL_TEMPLATE,
    runbook: settings.RUNBOOK_URL,
    console: settings.CONSOLE_URL,
    installation: settings.INSTALLATION_NAME,
    // A worker alone need not know who is allowed: a press by anybody else is answered with a refusal.
    hasOperators: named === undefined ? allowed !== 'everyone' : named.size > 0,
  };
}

/** A message about an incident. */
export interface AlertMessage {
  text: string;
  /** The format of the text, by offsets in UTF-16 units; the text is readable without. */
  entities: readonly MessageEntity[];
  /** Where its buttons lead. */
  links: readonly Link[];
  /** Rows of buttons that act. */
  buttons?: readonly (readonly Button[])[];
}

const OBSERVED_CHARS_MAX = 400;
const ACTS_SHOWN = 2;
/** With everything above it, the message stays below the 4,096 UTF-16 units of `sendMessage`. */
const FOLDED_CHARS_MAX = 2_200;
const CONSEQUENCES_CHARS_MAX = 400;
const CHATS_SHOWN = 100;

/**
 * The message about an incident as it is now, in eight short lines at most: what it is, for whom and since when, what was
 * observed, what became of messages that failed, what operators did, what follows from it, what to do. Chats, entries and
 * traces are folded below. Pure.
 */
export function messageOf(incident: Incident, around: Surroundings = {}, book: Book = new Map()): AlertMessage {
  const { title, severity, todo = '' } = rowAt(incident);
  const { isOpen } = incident;
  const what = `${markOf(severity)}: ${title}`;
  const name = around.installation === undefined ? '' : `${around.installation}: `;
  const lines: Line[] = [
    { text: isOpen ? what : endOf(incident), type: 'bold' },
    { text: isOpen ? '' : what },
    { text: `${name}${isOpen ? sinceWhen(incident) : howLong(incident)}` },
    { text: clip(headline(incident), OBSERVED_CHARS_MAX) },
    { text: lettersLine(incident) },
    ...actLines(incident.acts)
      .slice(-ACTS_SHOWN)
      .map((text) => ({ text })),
    { text: isOpen ? consequencesOf(incident, book) : '' },
    { text: isOpen ? whatToDo(incident, todo, book) : '' },
    { text: folded(incident), type: 'expandable_blockquote' },
  ];
  return {
    ...laidOut(lines),
    links: isOpen ? linksTo(incident.cause, around, incident) : [],
    ...(around.hasOperators && { buttons: buttonsOf(incident) }),
  };
}

/** The message about trouble that is no incident of the book, with the runbook's section about it. Pure. */
export function troubleMessage(
  { title, text, section }: { title: string; text: string; section: string },
  around: Surroundings,
): AlertMessage {
  const head: Line = { text: `${markOf('page')}: ${title}`, type: 'bold' };
  const lines = [head, { text: around.installation ?? '' }, { text }];
  return { ...laidOut(lines), links: linksTo(section, around) };
}

/** A message of which the first line is the most important one. Pure. */
export function plainMessage(text: string): AlertMessage {
  const [head = '', ...lines] = text.split('\n');
  return { ...laidOut([{ text: head, type: 'bold' }, { text: lines.join('\n') }]), links: [] };
}

/** The buttons that lead to the trace of the incident's message, to the runbook's section about it, and to the console. */
function linksTo(section: string, { trace, runbook, console: page }: Surroundings, incident?: Incident): Link[] {
  const { links } = ALERT_WORDS;
  const traceId = incident?.traceId;
  const at = incident === undefined ? 'incidents' : `incident/${encodeURIComponent(incidentOf(incident))}`;
  return [
    ...(trace !== undefined && traceId !== undefined ? [{ text: links.trace, url: traceUrl(trace, traceId) }] : []),
    ...(runbook === undefined ? [] : [{ text: links.runbook, url: `${runbook}#${section}` }]),
    ...(page === undefined ? [] : [{ text: links.console, url: `${page.replace(/\/$/, '')}/console/${at}` }]),
  ];
}

interface Line {
  text: string;
  type?: 'bold' | 'expandable_blockquote';
}

/** Lines one below the other, without the empty ones. */
function laidOut(lines: readonly Line[]): Pick<AlertMessage, 'text' | 'entities'> {
  const entities: MessageEntity[] = [];
  let text = '';
  for (const line of lines.filter((each) => each.text !== '')) {
    if (text !== '') text += '\n';
    if (line.type !== undefined) entities.push({ type: line.type, offset: text.length, length: line.text.length });
    text += line.text;
  }
  return { text, entities };
}

/** The text of an alert to show: the latest if each is about the whole incident, otherwise the first. */
export function headline({ cause, key, isOpen, level, first, latest }: Incident): string {
  const { namesEach, endsBy } = CAUSES[cause];
  const isOfOne = namesEach === true || key === OTHERS || (endsBy === 'alert' && !isOpen);
  return !isOfOne && (endsBy === 'watch' || level !== '') ? latest : first;
}

/** The first line of a message about an incident that is over. */
export function endOf({ acts, cause, latest, endedMs }: Incident): string {
  const { resolved, closedBy } = ALERT_WORDS;
  const close = acts?.close;
  if (close !== undefined && close.atMs === endedMs) return `${resolved}: ${closedBy(close.by)}`;
  const { end = '', endsBy } = CAUSES[cause];
  return endsBy === 'alert' ? latest : `${resolved}: ${end}`;
}

function sinceWhen(incident: Incident): string {
  const whom = concerned(incident);
  const back = incident.reopenings === 0 ? '' : ' It is back within the hour.';
  return `${whom === '' ? 'Since' : `${whom} since`} ${utcTime(incident.openedMs)}.${back}`;
}

function howLong(incident: Incident): string {
  const { openedMs, endedMs = incident.lastMs } = incident;
  return `${concerned(incident) || 'It lasted'} from ${utcTime(openedMs)} to ${utcClock(endedMs)}.`;
}

/** How much it concerns, such as "3 messages of 2 chats"; empty where nothing was counted. */
function concerned({ cause, messages, chats }: Incident): string {
  if (messages === 0) return '';
  if (chats > 0) return `${counted(messages, 'message')} of ${counted(chats, 'chat')}`;
  return counted(messages, CAUSES[cause].endsBy === 'watch' ? 'message' : 'time');
}

/** What became of the messages that failed meanwhile. */
function lettersLine({ letters, isOpen, acts }: Incident): string {
  if (letters === undefined) return '';
  const { most, left } = letters;
  const failed = `${counted(most, 'message')} failed`;
  if (left === 0) return `${failed}; all were replayed or removed.`;
  if (acts?.close) return `${failed}; ${left} closed without an answer.`;
  if (left < most) return `${failed}; ${left} still to be replayed.`;
  return isOpen ? `${failed} so far.` : `${failed} and ${most === 1 ? 'waits' : 'wait'} to be replayed.`;
}

/** What follows from an incident and is open, as one line. */
function consequencesOf(incident: Incident, book: Book): string {
  const name = incidentOf(incident);
  const all = [...book.values()].filter(({ under, isOpen }) => isOpen && under === name);
  const words = all.map((each) => {
    const whom = concerned(each);
    return whom === '' ? rowAt(each).title : `${rowAt(each).title} (${whom})`;
  });
  return words.length === 0 ? '' : clip(`Consequences: ${words.join('; ')}.`, CONSEQUENCES_CHARS_MAX);
}

/** The advice for the operator; a consequence names its cause instead. */
function whatToDo({ under = '' }: Incident, todo: string, book: Book): string {
  const cause = book.get(under);
  return cause === undefined ? todo : `It follows from: ${rowAt(cause).title}.`;
}

/** All that identifies what is concerned: each occurrence, the chats, the first entry and the trace. */
function folded(incident: Incident): string {
  const { chats, chatNames, entry, traceId, waiting } = incident;
  const lines = shownOccurrences(incident);
  if (lines.length > 0) return lines.join('\n');
  const names = chatNames.slice(0, CHATS_SHOWN);
  const more = chats > names.length ? `, and ${chats - names.length} more` : '';
  return [
    names.length > 0 && `Chats: ${names.join(', ')}${more}`,
    waiting === undefined && entry !== undefined && `First message: ${entry}`,
    waiting !== undefined && `Oldest message: ${waiting.entry} of chat ${waiting.chat}`,
    traceId !== undefined && `Trace ${traceId}`,
  ]
    .filter((line) => line !== false)
    .join('\n');
}

/** The occurrences that the message has room for. */
export function shownOccurrences({ occurrences, occurrencesMore }: Incident): string[] {
  const lines = fitting(occurrences);
  return occurrencesMore > 0 ? [...lines, ALERT_WORDS.more(occurrencesMore)] : lines;
}

/** As many of the lines, from the first on, as one message takes. Pure. */
export function fitting(lines: readonly string[]): string[] {
  let chars = 0;
  const end = lines.findIndex((line) => {
    chars += line.length + 1;
    return chars > FOLDED_CHARS_MAX;
  });
  return lines.slice(0, end === -1 ? lines.length : end);
}

/** What is sent as a reply when an incident gets worse or ends: it rings, and the message has the rest. Pure. */
export function ringOf(incident: Incident): string {
  const { title, severity } = rowAt(incident);
  if (!incident.isOpen) {
    const end = endOf(incident);
    return [end, end.includes('closed by') ? `${title}.` : '', lettersLine(incident)].filter(Boolean).join(' ');
  }
  return `${markOf(severity)}: ${title}. ${clip(headline(incident), OBSERVED_CHARS_MAX)}`;
}
