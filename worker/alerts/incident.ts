import { hash } from 'node:crypto';
import { clip } from '../../shared/base/text.ts';
import type { Alert, Cause } from '../../shared/flow/alert.ts';
import type { ChatKey, EntryId } from '../../shared/redis/keys.ts';
import type { Condition } from './causes/words.ts';
import { actsFor, CAUSES, isAtLeast, rowAt } from './causes.ts';

/** A waiting message and its chat. */
export interface WaitingMessage {
  chat: ChatKey;
  entry: EntryId;
}

/** An operator's action on an incident. Plain JSON; times are ms since the epoch, by Redis' clock. */
export interface NotedAct {
  by: string;
  atMs: number;
  /** The entry of the button press in Telegram; absent for actions in the console or on the command line. */
  entry?: EntryId;
  /** The result in a few words; absent only in records of earlier versions. */
  result?: string;
}

/** The operators' actions on one opening of an incident, by the action's name: the latest action of each kind. */
export type NotedActs = Readonly<Record<string, NotedAct>>;

/**
 * One cause of trouble for the installation, from its first occurrence to its end. Stored as JSON; times are ms since the
 * epoch, by Redis' clock.
 */
export interface Incident {
  cause: Cause;
  key: string;
  isOpen: boolean;
  openedMs: number;
  /** When this opening was first stored. The trouble itself (`openedMs`) may be much older. */
  enteredMs?: number;
  /** Time of the latest occurrence, or of the latest check that found the condition. */
  lastMs: number;
  endedMs?: number;
  /** How often in a row the incident returned within an hour after its end. */
  reopenings: number;
  /** Alert texts of the first and the latest occurrence. The text of an alert that ends the incident also becomes `latest`. */
  first: string;
  latest: string;
  /** The present kind of trouble, for causes with several kinds. */
  level: string;
  /** The number of affected messages (or of occurrences, if none is affected) and of chats; the known names of the chats. */
  messages: number;
  chats: number;
  chatNames: readonly string[];
  /** The first affected message. */
  entry?: string;
  traceId?: string;
  /** One line for each occurrence if the cause has `namesEach`, or for each merged key in `<cause>:others`; otherwise empty. */
  occurrences: readonly string[];
  /** The number of further occurrences, whose lines only the log has. */
  occurrencesMore: number;
  /** The keys of the merged alerts; only for `<cause>:others`. */
  parts?: readonly string[];
  /** The name of the incident that is the root cause of this one. */
  under?: string;
  /** How many messages that failed during the incident are dead letters: the maximum so far (`most`), and now (`left`). */
  letters?: { most: number; left: number };
  /** The oldest unanswered message; the incident's buttons act on this message or its chat. */
  waiting?: WaitingMessage;
  /** The id of this opening; see `openingOf`. */
  opening?: string;
  /** The operators' actions on this opening. */
  acts?: NotedActs;
}

/** An alert or condition with the key of its incident. `part`: the original key, if it was merged into `<cause>:others`. */
export type PlacedAlert<T extends Alert> = T & { part?: string };

/** The key of the incident that collects the further alerts of a cause with many open incidents. */
export const OTHERS = 'others';

const CHATS_NAMED_MAX = 1_000;
const PARTS_MAX = 1_000;
const OCCURRENCES_MAX = 500;
const LINE_CHARS_MAX = 1_000;
/** An incident with `endsBy: 'quiet'` ends after this time without an occurrence. */
export const QUIET_MS = 600_000;
/** A recurrence of the same level within this time after the end counts as a reopening; any other is a new incident. */
export const REOPEN_MS = 3600_000;
/** How long an ended incident stays stored if operators acted on it or may still replay its messages. */
const ACTIONABLE_MS = 24 * 3600_000;
/** How long an incident with named chats stays open after `lastMs`: a check between two failing calls finds no trouble. */
const SETTLED_MS = 10_000;
/** How long a reopened incident stays open after its condition was last found, because the condition may recur once more. */
export const BACK_SETTLED_MS = 300_000;
const AHEAD_MS = 60_000;
/** How long facts stay stored after their last occurrence, and undelivered incidents after their end. */
export const WEEK_MS = 7 * 24 * 3600_000;

/** The name of the incident that an alert is about: `<cause>`, or `<cause>:<key>` if the alert has a key. */
export function incidentOf({ cause, key }: Pick<Alert, 'cause' | 'key'>): string {
  return key === undefined || key === '' ? cause : `${cause}:${key}`;
}

const OPENING_CHARS = 10;

/** The id of an incident's present opening: the stored one or, for an incident of version 0.3, a computed one. Pure. */
export function openingOf(incident: Pick<Incident, 'cause' | 'key' | 'openedMs' | 'opening'>): string {
  const digest = hash('sha256', `${incidentOf(incident)} ${incident.openedMs}`, 'base64url');
  return incident.opening ?? digest.slice(0, OPENING_CHARS);
}

/**
 * Caps the times of an incident at `nowMs`, so that no time lies in the future after Redis' clock has stepped back. Does
 * nothing if all times are at most a minute ahead, because the clocks of two servers may differ by that much.
 */
export function capTimes(incident: Incident, nowMs: number): Incident {
  const { openedMs, lastMs, endedMs = 0 } = incident;
  if (Math.max(openedMs, lastMs, endedMs) <= nowMs + AHEAD_MS) return incident;
  const capped = (ms: number): number => Math.min(ms, nowMs);
  return {
    ...incident,
    opening: openingOf(incident),
    openedMs: capped(openedMs),
    lastMs: capped(lastMs),
    ...(incident.enteredMs !== undefined && { enteredMs: capped(incident.enteredMs) }),
    ...(incident.endedMs !== undefined && { endedMs: capped(endedMs) }),
  };
}

/** Adds an occurrence to an incident, which opens or reopens if needed. If the incident `staysClosed`, only sets `lastMs`. */
export function addOccurrence(before: Incident | undefined, alert: PlacedAlert<Alert>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, alert)) return { ...before, lastMs: nowMs };
  const incident = before?.isOpen ? before : openIncident(before, alert, nowMs, nowMs);
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

/** The line of an occurrence: the alert's own or, if it has none, the alert's text with chat, entry and trace. */
function lineOf({ line, text, chat, entry, traceId }: Alert): string {
  if (line !== undefined) return line;
  const where = chat === undefined ? '' : ` Chat ${chat}, entry ${entry}.`;
  return `${text}${where}${traceId === undefined ? '' : ` Trace ${traceId}`}`;
}

function isNewPart({ parts = [] }: Incident, { part }: PlacedAlert<Alert>): boolean {
  return part !== undefined && !parts.includes(part) && parts.length < PARTS_MAX;
}

function withPart(incident: Incident, alert: PlacedAlert<Alert>): Pick<Incident, 'parts'> {
  return isNewPart(incident, alert) ? { parts: [...(incident.parts ?? []), String(alert.part)] } : {};
}

/** Removes a merged key from `<cause>:others`. If it was the last one, ends the incident. */
export function endPart(incident: Incident, { part, text }: PlacedAlert<Alert>, nowMs: number): Incident {
  const parts = (incident.parts ?? []).filter((each) => each !== part);
  return parts.length === 0 ? endIncident(incident, nowMs, text) : { ...incident, parts };
}

function withOccurrence({ occurrences, occurrencesMore }: Incident, whole: string) {
  const line = clip(whole, LINE_CHARS_MAX);
  const hasRoom = occurrences.length < OCCURRENCES_MAX;
  return hasRoom ? { occurrences: [...occurrences, line] } : { occurrencesMore: occurrencesMore + 1 };
}

/** Updates, opens or reopens the incident of a condition that a check found. Throws if `sinceMs` is not a finite number. */
export function addSighting(before: Incident | undefined, condition: PlacedAlert<Condition>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, condition)) return { ...before, lastMs: nowMs };
  const openedMs = Math.min(condition.sinceMs ?? nowMs, nowMs);
  if (!Number.isFinite(openedMs)) throw new RangeError(`The beginning of ${condition.cause} cannot be read`);
  const incident = before?.isOpen ? before : openIncident(before, condition, openedMs, nowMs);
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

/** Whether a fact that an operator closed stays closed: its cause has no `namesEach`, and the alert reports nothing new. */
function staysClosed({ cause, isOpen, level, latest, acts }: Incident, alert: Alert): boolean {
  const { endsBy, namesEach } = CAUSES[cause];
  if (cause === 'other-version' && latest !== alert.text) return false;
  return !isOpen && acts?.close !== undefined && endsBy === 'fact' && !namesEach && (alert.level ?? '') === level;
}

/** Ends an incident. `words` become its latest text, unless they are empty. */
export function endIncident(incident: Incident, nowMs: number, words = ''): Incident {
  return { ...incident, isOpen: false, endedMs: nowMs, ...(words !== '' && { latest: words }) };
}

function openIncident(last: Incident | undefined, alert: Condition, openedMs: number, nowMs: number): Incident {
  // Trouble of another level, or more than an hour later, is not a recurrence, but a new incident.
  const isRecent = last !== undefined && nowMs - (last.endedMs ?? last.lastMs) <= REOPEN_MS;
  const before = isRecent && last.level === (alert.level ?? '') ? last : undefined;
  return {
    cause: alert.cause,
    key: alert.key ?? '',
    isOpen: true,
    openedMs,
    enteredMs: nowMs,
    // Use `nowMs` instead of `openedMs`, because a condition that returns may have the same beginning as before.
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

/** Whether an open incident must end. `isLasting`: whether a check found its condition; `undefined` if no check could tell. */
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

/** Whether an incident is old enough to be removed once every channel has received its newest stage. */
export function isRemovable({ cause, isOpen, lastMs, endedMs, acts }: Incident, nowMs: number): boolean {
  const isFact = CAUSES[cause].endsBy === 'fact';
  if (isOpen || isFact) return isFact && nowMs - lastMs > WEEK_MS;
  return nowMs - (endedMs ?? lastMs) > (acts === undefined && !hasLetters(cause) ? REOPEN_MS : ACTIONABLE_MS);
}

/** Whether messages that fail during incidents of this cause can be replayed. */
export function hasLetters(cause: Cause): boolean {
  return actsFor(cause).some((name) => name === 'replay' || name === 'deliver');
}

/** How long an ended incident may still cause other incidents, because it takes time to answer the messages that waited. */
export const DRAIN_MS = 60_000;

/**
 * The name of the root cause of an incident, at the end of the chain of `follows`; `undefined` if the incident has no cause.
 * Each cause in the chain is open or ended less than `DRAIN_MS` ago. Pure.
 */
export function causeOf(incident: Incident, book: ReadonlyMap<string, Incident>, nowMs: number): string | undefined {
  let name: string | undefined;
  let current = incident;
  const visited = new Set([incidentOf(incident)]);
  for (;;) {
    const { follows = [] } = rowAt(current);
    const found = [...book].find(([id, each]) => {
      const isNow = each.isOpen || nowMs - (each.endedMs ?? each.lastMs) < DRAIN_MS;
      return isNow && !visited.has(id) && follows.includes(each.cause) && explains(each, incident);
    });
    if (found === undefined) return name;
    [name, current] = found;
    visited.add(name);
  }
}

/**
 * Whether one incident can cause another. The level of the cause must not have changed its severity: a nearly full Redis, for
 * example, causes nothing yet. The consequence must not be graver than the cause.
 */
function explains(cause: Incident, consequence: Incident): boolean {
  const { severity } = rowAt(cause);
  return severity === CAUSES[cause.cause].severity && isAtLeast(severity, rowAt(consequence).severity);
}
