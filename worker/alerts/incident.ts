import { createHash } from 'node:crypto';
import { clip } from '../../shared/base/text.ts';
import type { Alert, Cause } from '../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import type { Condition } from './causes/words.ts';
import { actsFor, CAUSES, isAtLeast, rowAt } from './causes.ts';

/** A message that waits, and its chat. */
export interface WaitingMessage {
  chat: ChatKey;
  entry: EntryId;
}

/** What an operator did about an incident. Plain JSON; times are ms since the epoch, by Redis' clock. */
export interface NotedAct {
  by: string;
  atMs: number;
  /** The entry of the press; absent for the console and the command line. */
  entry?: EntryId;
  /** How it went, in few words; only an earlier version leaves it out. */
  result?: string;
}

/** What operators did about an opening of the incident: the last time of each act. */
export type NotedActs = Readonly<Record<string, NotedAct>>;

/**
 * One trouble of the installation, from its first occurrence to its end. Stored as JSON; times are ms since the epoch, by
 * Redis' clock.
 */
export interface Incident {
  cause: Cause;
  key: string;
  isOpen: boolean;
  openedMs: number;
  /** When the book first had this opening; `openedMs` may be long before. */
  enteredMs?: number;
  /** When it last occurred, or was last seen. */
  lastMs: number;
  endedMs?: number;
  /** How often it returned within the hour after its end. */
  reopenings: number;
  /** The first and the latest occurrence, in the words of the alerts. */
  first: string;
  latest: string;
  /** What kind of trouble it is now, where a cause has several. */
  level: string;
  /** Messages and chats that it affects; only the first chats are stored by name. */
  messages: number;
  chats: number;
  chatNames: readonly string[];
  /** The first message that it affects. */
  entry?: string;
  traceId?: string;
  /** A line for each occurrence, for a cause that names each; `occurrencesMore` counts further ones, which the log has. */
  occurrences: readonly string[];
  occurrencesMore: number;
  /** The keys of the alerts that were merged into it: only of `<cause>:others`. */
  parts?: readonly string[];
  /** The name of the incident that it follows from. */
  under?: string;
  /** Messages that failed meanwhile: the most at once, and how many of them are still dead letters. */
  letters?: { most: number; left: number };
  /** The oldest message without an answer, which its buttons are about. */
  waiting?: WaitingMessage;
  /** The id of this opening; see `openingOf`. */
  opening?: string;
  /** What operators did about this opening. */
  acts?: NotedActs;
}

/** An alert or a condition as it is entered; `part` is its own key if it was merged into `<cause>:others`. */
export type Placed<T extends Alert> = T & { part?: string };

/** The key of the incident that stands for many of its cause. */
export const OTHERS = 'others';

const CHATS_NAMED_MAX = 1_000;
const PARTS_MAX = 1_000;
const OCCURRENCES_MAX = 500;
const LINE_CHARS_MAX = 1_000;
/** An incident that only occurrences show ends after this long without one. */
export const QUIET_MS = 600_000;
/** A recurrence within this time after its end reopens the incident; a later one is new. */
export const REOPEN_MS = 3600_000;
/** How long an incident is stored whose messages can be replayed, or that operators acted on: its buttons work next morning. */
const STORED_MS = 24 * 3600_000;
/** An incident that alerts have counted stays open for so long: a check may see nothing between two failing calls. */
const SETTLED_MS = 10_000;
/** How long an incident that was reopened within the hour stays open after its condition ends; the condition may recur. */
export const BACK_SETTLED_MS = 300_000;
const AHEAD_MS = 60_000;
/** How long a fact is stored, and an ended incident that a channel lacks. */
export const WEEK_MS = 7 * 24 * 3600_000;

/** The name of the incident that an alert belongs to. */
export function incidentOf({ cause, key }: Pick<Alert, 'cause' | 'key'>): string {
  return key === undefined || key === '' ? cause : `${cause}:${key}`;
}

const OPENING_CHARS = 10;

/** The id of one opening of an incident, in buttons and in records of delivery. Version 0.3 stored none. Pure. */
export function openingOf(incident: Pick<Incident, 'cause' | 'key' | 'openedMs' | 'opening'>): string {
  const digest = createHash('sha256')
    .update(`${incidentOf(incident)} ${incident.openedMs}`)
    .digest('base64url');
  return incident.opening ?? digest.slice(0, OPENING_CHARS);
}

/**
 * The incident with its times capped at now: after Redis' clock has stepped back they would lie ahead for as long as the
 * step. Less than a minute may be the difference between two servers.
 */
export function notAhead(incident: Incident, nowMs: number): Incident {
  const { openedMs, lastMs, endedMs = 0 } = incident;
  if (Math.max(openedMs, lastMs, endedMs) <= nowMs + AHEAD_MS) return incident;
  const past = (ms: number): number => Math.min(ms, nowMs);
  return {
    ...incident,
    opening: openingOf(incident),
    openedMs: past(openedMs),
    lastMs: past(lastMs),
    ...(incident.enteredMs !== undefined && { enteredMs: past(incident.enteredMs) }),
    ...(incident.endedMs !== undefined && { endedMs: past(endedMs) }),
  };
}

/** The incident with one more occurrence: opened, reopened or counted. */
export function occurred(before: Incident | undefined, alert: Placed<Alert>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, alert)) return { ...before, lastMs: nowMs };
  const incident = before?.isOpen ? before : opened(recent(before, nowMs), alert, nowMs, nowMs);
  const { chat } = alert;
  const isNewChat =
    chat !== undefined && !incident.chatNames.includes(chat) && incident.chatNames.length < CHATS_NAMED_MAX;
  const isNamed = isNewPart(incident, alert) || CAUSES[alert.cause].namesEach === true;
  return {
    ...incident,
    lastMs: nowMs,
    latest: alert.text,
    level: alert.level ?? incident.level,
    messages: incident.messages + 1,
    chats: incident.chats + (isNewChat ? 1 : 0),
    ...(isNewChat && { chatNames: [...incident.chatNames, chat] }),
    ...(isNamed && withOccurrence(incident, lineOf(alert))),
    ...withPart(incident, alert),
  };
}

/** An occurrence as a line with all that identifies it. */
function lineOf({ line, text, chat, entry, traceId }: Alert): string {
  if (line !== undefined) return line;
  const where = chat === undefined ? '' : ` Chat ${chat}, entry ${entry}.`;
  return `${text}${where}${traceId === undefined ? '' : ` Trace ${traceId}`}`;
}

function isNewPart({ parts = [] }: Incident, { part }: Placed<Alert>): boolean {
  return part !== undefined && !parts.includes(part) && parts.length < PARTS_MAX;
}

function withPart(incident: Incident, alert: Placed<Alert>): Pick<Incident, 'parts'> {
  return isNewPart(incident, alert) ? { parts: [...(incident.parts ?? []), String(alert.part)] } : {};
}

/** The incident after one of those that it stands for is over: with the last of them it ends. */
export function partOver(incident: Incident, { part, text }: Placed<Alert>, nowMs: number): Incident {
  const parts = (incident.parts ?? []).filter((each) => each !== part);
  return parts.length === 0 ? ended(incident, nowMs, text) : { ...incident, parts };
}

function withOccurrence({ occurrences, occurrencesMore }: Incident, whole: string) {
  const line = clip(whole, LINE_CHARS_MAX);
  const hasRoom = occurrences.length < OCCURRENCES_MAX;
  return hasRoom ? { occurrences: [...occurrences, line] } : { occurrencesMore: occurrencesMore + 1 };
}

/** The incident after a check of the state has seen its condition. */
export function seen(before: Incident | undefined, condition: Placed<Condition>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, condition)) return { ...before, lastMs: nowMs };
  const openedMs = Math.min(condition.sinceMs ?? nowMs, nowMs);
  if (!Number.isFinite(openedMs)) throw new RangeError(`The beginning of ${condition.cause} cannot be read`);
  const incident = before?.isOpen ? before : opened(recent(before, nowMs), condition, openedMs, nowMs);
  const { chat, entry } = condition;
  return {
    ...incident,
    lastMs: nowMs,
    latest: condition.text,
    level: condition.level ?? incident.level,
    messages: Math.max(condition.messages ?? 0, incident.messages),
    chats: Math.max(condition.chats ?? 0, incident.chats),
    ...(chat !== undefined && entry !== undefined && { waiting: { chat, entry } }),
    ...(condition.traceId !== undefined && { traceId: condition.traceId }),
    ...(isNewPart(incident, condition) && withOccurrence(incident, condition.text)),
    ...withPart(incident, condition),
  };
}

/** Whether a fact that an operator closed stays closed: it does at the same level. The texts of another version have none. */
function staysClosed({ cause, isOpen, level, latest, acts }: Incident, alert: Alert): boolean {
  const { endsBy, namesEach } = CAUSES[cause];
  if (cause === 'other-version' && latest !== alert.text) return false;
  return !isOpen && acts?.close !== undefined && endsBy === 'fact' && !namesEach && (alert.level ?? '') === level;
}

/** The incident at its end. */
export function ended(incident: Incident, nowMs: number, words = ''): Incident {
  return { ...incident, isOpen: false, endedMs: nowMs, ...(words !== '' && { latest: words }) };
}

/** The earlier incident, if it ended within the hour: a later one is new, although the earlier is still stored. */
function recent(before: Incident | undefined, nowMs: number): Incident | undefined {
  return before !== undefined && nowMs - (before.endedMs ?? before.lastMs) <= REOPEN_MS ? before : undefined;
}

function opened(last: Incident | undefined, alert: Condition, openedMs: number, nowMs: number): Incident {
  // Trouble of another level is new, and does not return.
  const before = last?.level === (alert.level ?? '') ? last : undefined;
  return {
    cause: alert.cause,
    key: alert.key ?? '',
    isOpen: true,
    openedMs,
    enteredMs: nowMs,
    // A condition may return with the beginning that it had.
    opening: openingOf({ cause: alert.cause, key: alert.key ?? '', openedMs: nowMs }),
    lastMs: openedMs,
    reopenings: before === undefined ? 0 : before.reopenings + 1,
    first: alert.text,
    latest: alert.text,
    level: alert.level ?? '',
    messages: 0,
    chats: 0,
    chatNames: [],
    occurrences: [],
    occurrencesMore: 0,
    ...(alert.entry !== undefined && { entry: alert.entry }),
    ...(alert.traceId !== undefined && { traceId: alert.traceId }),
  };
}

/**
 * Whether an open incident is over; `isLasting` says whether a check has just seen its condition, and is absent without
 * a check.
 */
export function isOver(
  { cause, lastMs, chatNames, reopenings, isOpen }: Incident,
  isLasting: boolean | undefined,
  nowMs: number,
): boolean {
  const { endsBy } = CAUSES[cause];
  const quietMs = nowMs - lastMs;
  if (!isOpen) return false;
  if (endsBy === 'quiet') return quietMs > QUIET_MS;
  if (endsBy !== 'watch' || isLasting !== false) return false;
  if (reopenings > 0) return quietMs > BACK_SETTLED_MS;
  return chatNames.length === 0 || quietMs > SETTLED_MS;
}

/** Whether an incident need not be stored any longer once every channel has its end. */
export function isForgotten({ cause, isOpen, lastMs, endedMs, acts }: Incident, nowMs: number): boolean {
  const isFact = CAUSES[cause].endsBy === 'fact';
  if (isOpen || isFact) return isFact && nowMs - lastMs > WEEK_MS;
  return nowMs - (endedMs ?? lastMs) > (acts === undefined && !hasLetters(cause) ? REOPEN_MS : STORED_MS);
}

/** Whether messages that fail during an incident of a cause can be put back. */
export function hasLetters(cause: Cause): boolean {
  return actsFor(cause).some((name) => name === 'replay' || name === 'deliver');
}

/** How long a backlog gets to drain after the end of what caused it. */
export const DRAIN_MS = 60_000;

/**
 * The name of the incident that another one follows from: one that is open, or ended so lately that the backlog drains.
 * Follows the chain to its root. Pure.
 */
export function causeOf(incident: Incident, book: ReadonlyMap<string, Incident>, nowMs: number): string | undefined {
  let name: string | undefined;
  let current = incident;
  const passed = new Set([incidentOf(incident)]);
  for (;;) {
    const { follows = [] } = rowAt(current);
    const found = [...book].find(([id, each]) => {
      const isNow = each.isOpen || nowMs - (each.endedMs ?? each.lastMs) < DRAIN_MS;
      return isNow && !passed.has(id) && follows.includes(each.cause) && explains(each, incident);
    });
    if (found === undefined) return name;
    [name, current] = found;
    passed.add(name);
  }
}

/** An incident explains another only at the severity of its row (not a Redis that is nearly full), and none graver than itself. */
function explains(cause: Incident, consequence: Incident): boolean {
  const { severity } = rowAt(cause);
  return severity === CAUSES[cause.cause].severity && isAtLeast(severity, rowAt(consequence).severity);
}
