import type { MessageEntity } from '@grammyjs/types';
import type { Config } from '../../shared/base/config.ts';
import { clip } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import type { Button, Link } from '../../shared/telegram/messages.ts';
import { actLines } from './act.ts';
import { buttonsOf } from './buttons.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { CAUSES, markOf, wordsOf } from './causes.ts';
import type { NoticeKind } from './due-notice.ts';
import { type Incident, incidentOf, OTHERS } from './incident.ts';

/** The page of a trace. A URL may have been written with its braces encoded. Pure. */
export function traceUrl(template: string, traceId: string): string {
  return template.replace(/\{traceId\}|%7BtraceId%7D/i, traceId);
}

const OCCURRENCES_CHARS_MAX = 2_600;
const LATEST_CHARS_MAX = 500;
const HEADLINE_CHARS_MAX = 700;

/** Where operators read on, and what they call this installation; each is absent where nobody set it. */
export interface Surroundings {
  /** The page of a trace, with `{traceId}` in it. */
  trace?: string | undefined;
  /** The runbook, whose headings are the causes. */
  runbook?: string | undefined;
  /** The address under which operators reach the console. */
  console?: string | undefined;
  installation?: string | undefined;
  /** Whether anybody may press what acts. */
  hasOperators?: boolean;
}

/** The surroundings that the settings name. Pure. */
export function surroundingsOf(config: Config): Surroundings {
  const { TELEGRAM_OPERATOR_IDS: named, TELEGRAM_ALLOWED_IDS: allowed } = config;
  return {
    trace: config.TRACE_URL_TEMPLATE,
    runbook: config.RUNBOOK_URL,
    console: config.CONSOLE_URL,
    installation: config.INSTALLATION_NAME,
    // A worker alone need not know who is allowed: who may not press is told so.
    hasOperators: named === undefined ? allowed !== 'everyone' : named.size > 0,
  };
}

/** A message about an incident. */
export interface Page {
  text: string;
  /** What formats the text, by offsets in UTF-16 units; it reads as well without. */
  entities: readonly MessageEntity[];
  /** Where its buttons lead. */
  links: readonly Link[];
  /** Rows of buttons that act. */
  buttons?: readonly (readonly Button[])[];
}

/** A message in plain words. */
export function plainPage(text: string): Page {
  return { text, entities: [], links: [] };
}

/** The message about the end of an incident, of which only the words are known. Pure. */
export function endPage(text: string): Page {
  return { ...plainPage(text), entities: [{ type: 'bold', offset: 0, length: text.split('\n', 1)[0]?.length ?? 0 }] };
}

/** The message about trouble that is no incident of the book, with the runbook's section about it. Pure. */
export function troublePage(
  { title, text, section }: { title: string; text: string; section: string },
  around: Surroundings,
): Page {
  const head: Line = { text: `${markOf('page')}: ${title}`, type: 'bold' };
  const lines = [head, { text: around.installation ?? '' }, { text }];
  return { ...laidOut(lines), links: linksTo(section, around) };
}

/** The buttons that lead to the trace of the incident's message, to the runbook's section about it, and to the console. */
function linksTo(
  section: string,
  { trace, runbook, console: page }: Surroundings,
  { name, traceId }: { name?: string; traceId?: string | undefined } = {},
): Link[] {
  const { links } = ALERT_WORDS;
  const at = name === undefined ? 'incidents' : `incident/${encodeURIComponent(name)}`;
  return [
    ...(trace !== undefined && traceId !== undefined ? [{ text: links.trace, url: traceUrl(trace, traceId) }] : []),
    ...(runbook === undefined ? [] : [{ text: links.runbook, url: `${runbook}#${section}` }]),
    ...(page === undefined ? [] : [{ text: links.console, url: `${page.replace(/\/$/, '')}/console/${at}` }]),
  ];
}

/**
 * The message about an incident as it is now: how severe it is, since when and for how many, what happened, what to do, and
 * each occurrence that is named. Pure.
 */
export function pageOf(incident: Incident, around: Surroundings = {}): Page {
  const { title, todo } = wordsOf(incident);
  const what = `${markOf(CAUSES[incident.cause].severity)}: ${title}`;
  const occurrences = {
    text: linesOf(incident, allNamed(incident)).join('\n'),
    type: 'expandable_blockquote',
  } as const;
  const head = clip(headline(incident), HEADLINE_CHARS_MAX);
  const done = actLines(incident.acts).join('\n');
  const buttons = around.hasOperators && { buttons: buttonsOf(incident) };
  if (!incident.isOpen) {
    const over: Line = { text: resolvedText(incident), type: 'bold' };
    const lines = [over, { text: what }, { text: head }, { text: done }, occurrences];
    return { ...laidOut(lines), links: [], ...buttons };
  }
  const lines: Line[] = [
    { text: what, type: 'bold' },
    { text: [around.installation ?? '', extent(incident)].filter(Boolean).join(': ') },
    { text: sentences(head, backAgain(incident), latest(incident)) },
    { text: todo && `\n${todo}` },
    { text: done && `\n${done}` },
    occurrences,
  ];
  return {
    ...laidOut(lines),
    links: linksTo(incident.cause, around, { name: incidentOf(incident), traceId: incident.traceId }),
    ...buttons,
  };
}

interface Line {
  text: string;
  type?: 'bold' | 'expandable_blockquote';
}

/** Lines one below the other, without the empty ones. */
function laidOut(lines: readonly Line[]): Pick<Page, 'text' | 'entities'> {
  const entities: MessageEntity[] = [];
  let text = '';
  for (const line of lines.filter((each) => each.text !== '')) {
    if (text !== '') text += '\n';
    if (line.type !== undefined) entities.push({ type: line.type, offset: text.length, length: line.text.length });
    text += line.text;
  }
  return { text, entities };
}

function allNamed({ named = [], unnamed }: Incident): string[] {
  return [...named, ...unnamed];
}

/** Whether the message about an incident names each occurrence that is to be named. */
export function isWhole(incident: Incident): boolean {
  const all = allNamed(incident);
  return (incident.namedMore ?? 0) === 0 && linesOf(incident, all).length === all.length && incident.unnamedMore === 0;
}

/** A change of an incident in few words, which are understood without the message as well. Pure. */
export function updateText(incident: Incident, kind: NoticeKind): string {
  const { title, todo } = wordsOf(incident);
  const named = linesOf({ ...incident, namedMore: 0 }, incident.unnamed);
  if (kind === 'changed' || kind === 'lasts')
    return sentences(`${ALERT_WORDS[kind]}: ${incident.latest}`, extent(incident), todo);
  if (kind === 'resolved') return [resolvedText(incident), ...named].join('\n');
  if (named.length > 0) return named.join('\n');
  return sentences(`${ALERT_WORDS.grown}: ${title}.`, extent(incident), newestText(incident.latest));
}

/** What an incident is, in the words of an alert: as it is now, where these are about the whole of it. */
export function headline({ cause, key, isOpen, level, first, latest }: Incident): string {
  const { namesEach, endsBy } = CAUSES[cause];
  const isOfOne = namesEach === true || key === OTHERS || (endsBy === 'alert' && !isOpen);
  return !isOfOne && (endsBy === 'watch' || level !== '') ? latest : first;
}

/** The latest occurrence, where neither the headline nor the list of all has it. */
function latest(incident: Incident): string {
  const { cause, key, messages, latest: newest } = incident;
  const isListed = CAUSES[cause].namesEach === true || key === OTHERS;
  if (messages <= 1 || isListed || newest === headline(incident)) return '';
  return newestText(newest);
}

function newestText(latest: string): string {
  return `${ALERT_WORDS.latest}: ${clip(latest, LATEST_CHARS_MAX)}`;
}

/** Occurrences, as far as there is room; the others are in the log. */
function linesOf({ namedMore = 0, unnamedMore }: Incident, all: readonly string[]): string[] {
  const lines: string[] = [];
  let chars = 0;
  for (const text of all) {
    chars += text.length + 1;
    if (chars > OCCURRENCES_CHARS_MAX) break;
    lines.push(text);
  }
  const more = all.length - lines.length + namedMore + unnamedMore;
  return more > 0 ? [...lines, ALERT_WORDS.more(more)] : lines;
}

function resolvedText(incident: Incident): string {
  const { acts, cause, latest, endedMs, lastMs, openedMs } = incident;
  const { resolved, over, closedBy, lasted } = ALERT_WORDS;
  const closed = acts?.close && `${resolved}: ${closedBy(acts.close.by)}`;
  const end = closed ?? (CAUSES[cause].endsBy === 'alert' ? latest : `${resolved}: ${over[cause]}`);
  const seconds = Math.round(((endedMs ?? lastMs) - openedMs) / 1_000);
  return sentences(end, lasted(seconds, concerned(incident), incidentOf(incident)));
}

function extent(incident: Incident): string {
  return ALERT_WORDS.since(utcTime(incident.openedMs), concerned(incident));
}

function concerned({ messages, chats }: Incident): string {
  if (messages === 0) return '';
  return chats === 0 ? ALERT_WORDS.times(messages) : ALERT_WORDS.messages(messages, chats);
}

function backAgain({ reopenings, endedMs }: Incident): string {
  return reopenings === 0 ? '' : ALERT_WORDS.back(reopenings, utcTime(endedMs ?? 0));
}

/** A text that ends with an id has no full stop, so that the id can be copied; before another sentence it gets one. */
function sentences(...parts: string[]): string {
  return parts.filter((part) => part !== '').reduce((one, other) => `${one}${/\w$/.test(one) ? '.' : ''} ${other}`);
}
