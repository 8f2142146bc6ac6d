import type { Alert, Cause } from '../../shared/flow/alert.ts';
import { CAUSES, isOfAnotherKind } from './causes.ts';

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
  /** What the operator knows of this opening. */
  notified?: { atMs: number; messages: number; chats: number; level: string; reminders: number };
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

/** The kinds of notice about an incident. */
export type NoticeKind = 'opened' | 'reopened' | 'grown' | 'changed' | 'lasts' | 'resolved';

const CHATS_NAMED_MAX = 1_000;
const PARTS_MAX = 1_000;
const UNNAMED_MAX = 50;
const NAMED_MAX = 50;
/** An incident that only occurrences show ends after this long without one. */
export const QUIET_MS = 600_000;
/** A recurrence within this time after its end reopens the incident; a later one is new. */
export const REOPEN_MS = 3600_000;
/** Flapping trouble is notified again only once it lasts: it must not use up the operator's attention. */
export const FLAPPING_MS = 300_000;
/** How long occurrences are collected before the next notice of the same incident. */
const GROWTH_GAP_MS = 60_000;
const NAMING_GAP_MS = 5_000;
const REMINDERS_MS = [3600_000, 4 * 3600_000, 12 * 3600_000, 24 * 3600_000] as const;
/** Trouble that only some calls meet is not over after one clean check between two of them. */
const SETTLED_MS = 10_000;
const AHEAD_MS = 60_000;
/** How long a notified fact is not notified again, however many starts find it. */
const FACT_MS = 7 * 24 * 3600_000;

/** The name of the incident that an alert belongs to. */
export function incidentOf({ cause, key }: Pick<Alert, 'cause' | 'key'>): string {
  return key === undefined || key === '' ? cause : `${cause}:${key}`;
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
    openedMs: past(openedMs),
    lastMs: past(lastMs),
    ...(incident.endedMs !== undefined && { endedMs: past(endedMs) }),
    ...(notified && { notified: { ...notified, atMs: past(notified.atMs) } }),
  };
}

/** The incident with one more occurrence: opened, reopened or counted. */
export function occurred(before: Incident | undefined, alert: Placed<Alert>, nowMs: number): Incident {
  const isOpen = before?.isOpen === true;
  const incident = isOpen ? before : opened(before, alert, nowMs);
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
  const isOpen = before?.isOpen === true;
  const incident = isOpen ? before : opened(before, condition, Math.min(condition.sinceMs ?? nowMs, nowMs));
  return {
    ...incident,
    lastMs: nowMs,
    latest: condition.text,
    level: condition.level ?? incident.level,
    messages: Math.max(condition.messages ?? 0, incident.messages),
    chats: Math.max(condition.chats ?? 0, incident.chats),
    ...(isOpen && isNewPart(incident, condition) && oneMoreUnnamed(incident, condition.text)),
    ...withPart(incident, condition),
  };
}

/** The incident at its end. */
export function ended(incident: Incident, nowMs: number, words = ''): Incident {
  return { ...incident, isOpen: false, endedMs: nowMs, ...(words !== '' && { latest: words }) };
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
  { cause, lastMs, chatNames, isOpen }: Incident,
  isLasting: boolean | undefined,
  nowMs: number,
): boolean {
  const { endsBy } = CAUSES[cause];
  const quietMs = nowMs - lastMs;
  if (!isOpen) return false;
  if (endsBy === 'quiet') return quietMs > QUIET_MS;
  return endsBy === 'watch' && isLasting === false && (chatNames.length === 0 || quietMs > SETTLED_MS);
}

/** Whether nothing of it needs to be kept any longer. */
export function isForgotten({ cause, isOpen, lastMs, endedMs }: Incident, nowMs: number): boolean {
  if (isOpen) return CAUSES[cause].endsBy === 'fact' && nowMs - lastMs > FACT_MS;
  return nowMs - (endedMs ?? lastMs) > REOPEN_MS;
}

/** The notice that is due now; `undefined` when none is. */
export function dueNotice(incident: Incident, nowMs: number): NoticeKind | undefined {
  const { notified, isOpen, reopenings } = incident;
  if (!isOpen) return notified === undefined ? undefined : 'resolved';
  if (notified === undefined) {
    if (reopenings === 0) return 'opened';
    return isFlapping(incident, nowMs) ? undefined : 'reopened';
  }
  const sinceMs = nowMs - notified.atMs;
  if (sinceMs < (CAUSES[incident.cause].gapMs ?? 0)) return undefined;
  if (notified.level !== incident.level && sinceMs >= NAMING_GAP_MS) return 'changed';
  if (incident.unnamed.length > 0 && sinceMs >= NAMING_GAP_MS) return 'grown';
  if (hasGrown(incident, notified) && sinceMs >= GROWTH_GAP_MS) return 'grown';
  const { endsBy, isAhead } = CAUSES[incident.cause];
  const isReminded = (endsBy === 'watch' || endsBy === 'alert') && isAhead === undefined;
  return isReminded && sinceMs >= (REMINDERS_MS[Math.min(notified.reminders, 3)] ?? 0) ? 'lasts' : undefined;
}

/** The incident after the operator was notified. */
export function notifiedOf(incident: Incident, kind: NoticeKind, nowMs: number): Incident {
  const { notified: before, ...rest } = incident;
  const all = [...(incident.named ?? []), ...incident.unnamed];
  const namedMore = (incident.namedMore ?? 0) + incident.unnamedMore + Math.max(0, all.length - NAMED_MAX);
  const named = { unnamed: [], unnamedMore: 0, named: all.slice(0, NAMED_MAX), namedMore };
  if (kind === 'resolved') return { ...rest, ...named };
  const { messages, chats, level } = incident;
  const reminders = (before?.reminders ?? 0) + (kind === 'lasts' ? 1 : 0);
  return { ...rest, ...named, notified: { atMs: nowMs, messages, chats, level, reminders } };
}

/** What a check sees may flap, and so may a server; an occurrence that affected a message is always notified. */
function isFlapping({ cause, openedMs, chatNames }: Incident, nowMs: number): boolean {
  const mayFlap = CAUSES[cause].endsBy === 'watch' || cause === 'tool-server';
  return mayFlap && chatNames.length === 0 && nowMs - openedMs < FLAPPING_MS;
}

/** One chat became many, or either number has one digit more than when it was last notified. */
export function hasGrown({ messages, chats }: Incident, notified: { messages: number; chats: number }): boolean {
  const isMany = chats > 1 && notified.chats <= 1;
  return isMany || tens(chats) > tens(notified.chats) || tens(messages) > tens(notified.messages);
}

function tens(count: number): number {
  return Math.floor(Math.log10(Math.max(1, count)));
}
