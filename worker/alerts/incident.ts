import { createHash } from 'node:crypto';
import type { Alert, Cause } from '../../shared/flow/alert.ts';
import type { NotedActs, WaitingMessage } from './act.ts';
import { actsFor, CAUSES, isOfAnotherKind } from './causes.ts';

/**
 * One trouble of the installation, from its first occurrence to its end. Kept as JSON; times are ms since the epoch, by
 * Redis' clock.
 */
export interface Incident {
  cause: Cause;
  key: string;
  isOpen: boolean;
  openedMs: number;
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
  /** Messages and chats that it affects; only the first chats are kept by name. */
  messages: number;
  chats: number;
  chatNames: readonly string[];
  traceId?: string;
  /**
   * Occurrences that the operator has not been notified of, for a cause that names each; `unnamedMore` counts further
   * ones, which only the log has.
   */
  unnamed: readonly string[];
  unnamedMore: number;
  /** Those that the message about it names already, but for the first; `namedMore` counts those that it has no room for. */
  named?: readonly string[];
  namedMore?: number;
  /** Where it stands for many of its cause: their keys. */
  parts?: readonly string[];
  /** The message that it names, where one waits. */
  waiting?: WaitingMessage;
  /** What tells this opening from all others, where the clock has stepped since; see `openingOf`. */
  opening?: string;
  /** What operators did about this opening. */
  acts?: NotedActs;
  /** What the operator knows of this opening; `waiting` is the message that its buttons are about. */
  notified?: {
    atMs: number;
    messages: number;
    chats: number;
    level: string;
    reminders: number;
    waiting?: WaitingMessage | undefined;
  };
}

/** A lasting condition. Counts are current values. */
export interface Condition extends Alert {
  messages?: number;
  chats?: number;
  /** When it really began, by Redis' clock; absent when unknown. */
  sinceMs?: number;
}

/** An alert or a condition as it is entered; `part` is its own key, where it shares an incident with others. */
export type Placed<T extends Alert> = T & { part?: string };

/** The key of the incident that stands for many of its cause. */
export const OTHERS = 'others';

const CHATS_NAMED_MAX = 1_000;
const PARTS_MAX = 1_000;
const UNNAMED_MAX = 50;
/** An incident that only occurrences show ends after this long without one. */
export const QUIET_MS = 600_000;
/** A recurrence within this time after its end reopens the incident; a later one is new. */
export const REOPEN_MS = 3600_000;
/** One about which something may be done, or was, is kept for a day: who sleeps presses in the morning. */
const KEPT_MS = 24 * 3600_000;
/** Trouble that only some calls meet is not over after one clean check between two of them. */
const SETTLED_MS = 10_000;
/** How long an incident that was reopened within the hour stays open after its condition ends; the condition may recur. */
export const BACK_SETTLED_MS = 300_000;
const AHEAD_MS = 60_000;
/** How long a notified fact is not notified again, however many starts find it. */
const FACT_MS = 7 * 24 * 3600_000;

/** The name of the incident that an alert belongs to. */
export function incidentOf({ cause, key }: Pick<Alert, 'cause' | 'key'>): string {
  return key === undefined || key === '' ? cause : `${cause}:${key}`;
}

const OPENING_CHARS = 10;

/** What tells an opening of an incident from all others, in few letters. Pure. */
export function openingOf(incident: Pick<Incident, 'cause' | 'key' | 'openedMs' | 'opening'>): string {
  const digest = createHash('sha256')
    .update(`${incidentOf(incident)} ${incident.openedMs}`)
    .digest('base64url');
  return incident.opening ?? digest.slice(0, OPENING_CHARS);
}

/**
 * The incident with no time that lies ahead: after the clock has stepped back, its times would stand still for as long.
 * What is written by two processes at once is not meant.
 */
export function notAhead(incident: Incident, nowMs: number): Incident {
  const { openedMs, lastMs, endedMs = 0, notified } = incident;
  if (Math.max(openedMs, lastMs, endedMs, notified?.atMs ?? 0) <= nowMs + AHEAD_MS) return incident;
  const past = (ms: number): number => Math.min(ms, nowMs);
  return {
    ...incident,
    opening: openingOf(incident),
    openedMs: past(openedMs),
    lastMs: past(lastMs),
    ...(incident.endedMs !== undefined && { endedMs: past(endedMs) }),
    ...(notified && { notified: { ...notified, atMs: past(notified.atMs) } }),
  };
}

/** The incident with one more occurrence: opened, reopened or counted. */
export function occurred(before: Incident | undefined, alert: Placed<Alert>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, alert)) return { ...before, lastMs: nowMs };
  const isOpen = before?.isOpen === true;
  const incident = isOpen ? before : opened(recent(before, nowMs), alert, nowMs);
  const isNewChat = alert.chat !== undefined && !incident.chatNames.includes(alert.chat);
  const hasRoom = incident.chatNames.length < CHATS_NAMED_MAX;
  // The first is what the message begins with.
  const names = isOpen && (isNewPart(incident, alert) || CAUSES[alert.cause].namesEach === true);
  return {
    ...incident,
    lastMs: nowMs,
    latest: alert.text,
    level: alert.level ?? incident.level,
    messages: incident.messages + 1,
    chats: incident.chats + (isNewChat && hasRoom ? 1 : 0),
    ...(isNewChat && hasRoom && { chatNames: [...incident.chatNames, String(alert.chat)] }),
    ...(names && oneMoreUnnamed(incident, alert.line ?? alert.text)),
    ...withPart(incident, alert),
  };
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

function oneMoreUnnamed({ unnamed, unnamedMore }: Incident, text: string): Pick<Incident, 'unnamed' | 'unnamedMore'> {
  const hasRoom = unnamed.length < UNNAMED_MAX;
  return hasRoom ? { unnamed: [...unnamed, text], unnamedMore } : { unnamed, unnamedMore: unnamedMore + 1 };
}

/** The incident after a check of the state has seen its condition. */
export function seen(before: Incident | undefined, condition: Placed<Condition>, nowMs: number): Incident {
  if (before !== undefined && staysClosed(before, condition)) return { ...before, lastMs: nowMs };
  const isOpen = before?.isOpen === true;
  const openedMs = Math.min(condition.sinceMs ?? nowMs, nowMs);
  const incident = isOpen ? before : opened(recent(before, nowMs), condition, openedMs);
  const { chat, entry } = condition;
  return {
    ...incident,
    lastMs: nowMs,
    latest: condition.text,
    level: condition.level ?? incident.level,
    messages: Math.max(condition.messages ?? 0, incident.messages),
    chats: Math.max(condition.chats ?? 0, incident.chats),
    ...(chat !== undefined && entry !== undefined && { waiting: { chat, entry } }),
    ...(isOpen && isNewPart(incident, condition) && oneMoreUnnamed(incident, condition.text)),
    ...withPart(incident, condition),
  };
}

/**
 * A fact stays true, however many starts find it: once an operator has closed it, only another one opens it again. What
 * another version tells in words of its own is another one each time.
 */
function staysClosed({ cause, isOpen, level, latest, acts }: Incident, alert: Alert): boolean {
  const { endsBy, namesEach } = CAUSES[cause];
  if (cause === 'other-version' && latest !== alert.text) return false;
  return !isOpen && acts?.close !== undefined && endsBy === 'fact' && !namesEach && (alert.level ?? '') === level;
}

/** The incident at its end. */
export function ended(incident: Incident, nowMs: number, words = ''): Incident {
  return { ...incident, isOpen: false, endedMs: nowMs, ...(words !== '' && { latest: words }) };
}

/** What opens the same incident again: one that ended longer ago is another one, although it is still kept. */
function recent(before: Incident | undefined, nowMs: number): Incident | undefined {
  return before !== undefined && nowMs - (before.endedMs ?? before.lastMs) <= REOPEN_MS ? before : undefined;
}

function opened(last: Incident | undefined, alert: Condition, openedMs: number): Incident {
  const before = last && isOfAnotherKind(alert.cause, alert.level ?? '', last.level) ? undefined : last;
  return {
    cause: alert.cause,
    key: alert.key ?? '',
    isOpen: true,
    openedMs,
    lastMs: openedMs,
    ...(before?.endedMs !== undefined && { endedMs: before.endedMs }),
    reopenings: before === undefined ? 0 : before.reopenings + 1,
    first: alert.text,
    latest: alert.text,
    level: alert.level ?? '',
    messages: 0,
    chats: 0,
    chatNames: [],
    unnamed: [],
    unnamedMore: 0,
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

/** Whether nothing of it needs to be kept any longer. */
export function isForgotten(incident: Incident, nowMs: number): boolean {
  const { cause, isOpen, lastMs, endedMs } = incident;
  const isFact = CAUSES[cause].endsBy === 'fact';
  if (isOpen || isFact) return isFact && nowMs - lastMs > FACT_MS;
  return nowMs - (endedMs ?? lastMs) > (incident.acts === undefined && !isReplayable(incident) ? REOPEN_MS : KEPT_MS);
}

/** Whether what failed meanwhile can be put back, also once it is over. */
function isReplayable(incident: Incident): boolean {
  return actsFor(incident).some((name) => name === 'replay' || name === 'deliver');
}
