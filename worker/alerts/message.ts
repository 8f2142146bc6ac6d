import type { MessageEntity } from '@grammyjs/types';
import type { Settings } from '../../shared/base/settings.ts';
import { clip, counted, durationInWords } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import type { Button, Link } from '../../shared/telegram/messages.ts';
import { actLines, buttonsOf } from './act.ts';
import type { Book } from './book.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { CAUSES, markOf, rowAt } from './causes.ts';
import { type Incident, incidentOf, OTHERS } from './incident.ts';

/** The URL of a trace. The braces in the template may be percent-encoded. Pure. */
export function traceUrl(template: string, traceId: string): string {
  return template.replace(/\{traceId\}|%7BtraceId%7D/i, traceId);
}

/** Settings for messages about incidents, such as link targets and the installation's name. */
export interface Surroundings {
  /** URL template of a trace, with `{traceId}` in it. */
  trace?: string | undefined;
  /** URL of the runbook, whose anchors are the names of the causes. */
  runbook?: string | undefined;
  /** URL at which operators reach the console. */
  console?: string | undefined;
  installation?: string | undefined;
  /** Whether there are operators. Without operators, messages have no action buttons. */
  hasOperators?: boolean;
}

/** Reads the surroundings from the settings. Pure. */
export function surroundingsOf(settings: Settings): Surroundings {
  const { TELEGRAM_OPERATOR_IDS: operators, TELEGRAM_ALLOWED_IDS: allowed } = settings;
  return {
    trace: settings.TRACE_URL_TEMPLATE,
    runbook: settings.RUNBOOK_URL,
    console: settings.CONSOLE_URL,
    installation: settings.INSTALLATION_NAME,
    // A worker that knows neither list of people shows the buttons, because they work for operators only.
    hasOperators: operators === undefined ? allowed !== 'everyone' : operators.size > 0,
  };
}

/** A message to the operators, such as an alert. */
export interface AlertMessage {
  text: string;
  /** The formatting of the text, by offsets in UTF-16 units. The text is readable without formatting. */
  entities: readonly MessageEntity[];
  /** Buttons that open a URL. */
  links: readonly Link[];
  buttons?: readonly (readonly Button[])[];
}

const OBSERVED_CHARS_MAX = 400;
const ACTS_SHOWN = 2;
/** The maximum length of all listed occurrences together. Keeps a message below the 4,096 UTF-16 units of `sendMessage`. */
const FOLDED_CHARS_MAX = 2_200;
const CONSEQUENCES_CHARS_MAX = 400;
const CHATS_SHOWN = 100;

/**
 * The message about an incident in its present state, with at most eight lines: title, affected messages and times,
 * observation, failed messages, operators' actions, consequences, advice. A folded block below these lines lists the
 * occurrences or, if none are stored, the chats, the first affected or the oldest waiting message, and the trace. Pure.
 */
export function messageOf(incident: Incident, around: Surroundings = {}, book: Book = new Map()): AlertMessage {
  const { title, severity, todo = '' } = rowAt(incident);
  const { isOpen } = incident;
  const heading = `${markOf(severity)}: ${title}`;
  const name = around.installation === undefined ? '' : `${around.installation}: `;
  const lines: Line[] = [
    { text: isOpen ? heading : endOf(incident), type: 'bold' },
    { text: isOpen ? '' : heading },
    { text: `${name}${isOpen ? sinceLine(incident) : durationLine(incident)}` },
    { text: clip(headline(incident), OBSERVED_CHARS_MAX) },
    { text: lettersLine(incident) },
    ...actLines(incident.acts)
      .slice(-ACTS_SHOWN)
      .map((text) => ({ text })),
    { text: isOpen ? consequencesOf(incident, book) : '' },
    { text: isOpen ? adviceFor(incident, todo, book) : '' },
    { text: detailsOf(incident), type: 'expandable_blockquote' },
  ];
  return {
    ...joinLines(lines),
    links: isOpen ? linksTo(incident.cause, around, incident) : [],
    ...(around.hasOperators && { buttons: buttonsOf(incident) }),
  };
}

/** The message about trouble outside the book of incidents, with links to the console and the runbook's section. Pure. */
export function troubleMessage(
  { title, text, section }: { title: string; text: string; section: string },
  around: Surroundings,
): AlertMessage {
  const head: Line = { text: `${markOf('page')}: ${title}`, type: 'bold' };
  const lines = [head, { text: around.installation ?? '' }, { text }];
  return { ...joinLines(lines), links: linksTo(section, around) };
}

/** A message with its first line in bold. Pure. */
export function plainMessage(text: string): AlertMessage {
  const [head = '', ...lines] = text.split('\n');
  return { ...joinLines([{ text: head, type: 'bold' }, { text: lines.join('\n') }]), links: [] };
}

/** Links to the trace, the runbook, and the console's page of the incident or of all incidents, if their URLs are known. */
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

/** Joins the lines that are not empty, and computes their entities. */
function joinLines(lines: readonly Line[]): Pick<AlertMessage, 'text' | 'entities'> {
  const entities: MessageEntity[] = [];
  let text = '';
  for (const line of lines.filter((each) => each.text !== '')) {
    if (text !== '') text += '\n';
    if (line.type !== undefined) entities.push({ type: line.type, offset: text.length, length: line.text.length });
    text += line.text;
  }
  return { text, entities };
}

/** The alert text to show: the latest if each text describes the whole incident, otherwise the first. */
export function headline({ cause, key, isOpen, level, first, latest }: Incident): string {
  const { namesEach, endsBy } = CAUSES[cause];
  const describesOne = namesEach === true || key === OTHERS || (endsBy === 'alert' && !isOpen);
  return !describesOne && (endsBy === 'watch' || level !== '') ? latest : first;
}

/** The first line of a message about an ended incident. */
export function endOf({ acts, cause, latest, endedMs }: Incident): string {
  const { resolved, closedBy } = ALERT_WORDS;
  const close = acts?.close;
  if (close !== undefined && close.atMs === endedMs) return `${resolved}: ${closedBy(close.by)}`;
  const { end = '', endsBy } = CAUSES[cause];
  return endsBy === 'alert' ? latest : `${resolved}: ${end}`;
}

function sinceLine(incident: Incident): string {
  const extent = extentOf(incident);
  const back = incident.reopenings === 0 ? '' : ' The trouble came back within an hour of its end.';
  return `${extent === '' ? 'Since' : `${extent} since`} ${utcTime(incident.openedMs)}.${back}`;
}

function durationLine(incident: Incident): string {
  const { openedMs, endedMs = incident.lastMs } = incident;
  const extent = extentOf(incident);
  const when = `${utcTime(openedMs)}, for ${durationInWords(endedMs - openedMs)}`;
  return extent === '' ? `From ${when}.` : `${extent}, from ${when}.`;
}

/** The extent of an incident, such as "3 messages of 2 chats" or "3 times"; empty without a count. */
function extentOf({ cause, messages, chats }: Incident): string {
  if (messages === 0) return '';
  if (chats > 0) return `${counted(messages, 'message')} of ${counted(chats, 'chat')}`;
  return counted(messages, CAUSES[cause].endsBy === 'watch' ? 'message' : 'time');
}

/** The line about messages that failed during the incident; empty if they have not been counted. */
function lettersLine({ letters, isOpen, acts }: Incident): string {
  if (letters === undefined) return '';
  const { most, left } = letters;
  const failed = `${counted(most, 'message')} failed`;
  if (left === 0) return `${failed}; none left to replay.`;
  if (acts?.close) return `${failed}; ${left} closed without an answer.`;
  if (left < most) return `${failed}; ${left} still to be replayed.`;
  return isOpen ? `${failed} so far.` : `${failed} and ${most === 1 ? 'waits' : 'wait'} to be replayed.`;
}

/** The line about the open incidents that an incident caused; empty if there are none. */
function consequencesOf(incident: Incident, book: Book): string {
  const name = incidentOf(incident);
  const all = [...book.values()].filter(({ under, isOpen }) => isOpen && under === name);
  const words = all.map((each) => {
    const extent = extentOf(each);
    return extent === '' ? rowAt(each).title : `${rowAt(each).title} (${extent})`;
  });
  return words.length === 0 ? '' : clip(`Consequences: ${words.join('; ')}.`, CONSEQUENCES_CHARS_MAX);
}

/** The advice to the operator; for a consequence, the title of its cause instead. */
function adviceFor({ under = '' }: Incident, todo: string, book: Book): string {
  const cause = book.get(under);
  return cause === undefined ? todo : `Caused by: ${rowAt(cause).title}.`;
}

/** The folded block: the lines of the occurrences; if there are none, the chats, the first or oldest message, and the trace. */
function detailsOf(incident: Incident): string {
  const { chats, chatNames, entry, traceId, waiting } = incident;
  const lines = visibleOccurrences(incident);
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

/** The lines of the occurrences that fit into the message and, if any were not stored, a last line with the number of these. */
export function visibleOccurrences({ occurrences, occurrencesMore }: Incident): string[] {
  const lines = linesThatFit(occurrences);
  return occurrencesMore > 0 ? [...lines, ALERT_WORDS.more(occurrencesMore)] : lines;
}

/** The first of the given lines, as many as fit into one message. Pure. */
export function linesThatFit(lines: readonly string[]): string[] {
  let chars = 0;
  const end = lines.findIndex((line) => {
    chars += line.length + 1;
    return chars > FOLDED_CHARS_MAX;
  });
  return lines.slice(0, end === -1 ? lines.length : end);
}

/** A short text about an incident's present stage. As a reply it notifies operators, unlike an edit of the message. Pure. */
export function shortTextOf(incident: Incident): string {
  const { title, severity } = rowAt(incident);
  if (!incident.isOpen) {
    const end = endOf(incident);
    return [end, end.includes('closed by') ? `${title}.` : '', lettersLine(incident)].filter(Boolean).join(' ');
  }
  return `${markOf(severity)}: ${title}. ${clip(headline(incident), OBSERVED_CHARS_MAX)}`;
}
