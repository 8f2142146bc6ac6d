import { CAUSES } from './causes.ts';
import type { Incident } from './incident.ts';

/** The kinds of notice about an incident. */
export type NoticeKind = 'opened' | 'reopened' | 'grown' | 'changed' | 'lasts' | 'acted' | 'resolved';

const NAMED_MAX = 50;
/** How long occurrences are collected before the next notice of the same incident. */
const GROWTH_GAP_MS = 60_000;
const NAMING_GAP_MS = 5_000;
const REMINDERS_MS = [3600_000, 4 * 3600_000, 12 * 3600_000, 24 * 3600_000] as const;

/** The notice that is due now; `undefined` when none is. */
export function dueNotice(incident: Incident, nowMs: number): NoticeKind | undefined {
  const { notified, isOpen, reopenings } = incident;
  if (!isOpen) return notified === undefined ? undefined : 'resolved';
  if (notified === undefined) return reopenings === 0 ? 'opened' : 'reopened';
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
  if (kind === 'acted') return before ? { ...rest, notified: { ...before, waiting: incident.waiting } } : incident;
  const all = [...(incident.named ?? []), ...incident.unnamed];
  const namedMore = (incident.namedMore ?? 0) + incident.unnamedMore + Math.max(0, all.length - NAMED_MAX);
  const named = { unnamed: [], unnamedMore: 0, named: all.slice(0, NAMED_MAX), namedMore };
  if (kind === 'resolved') return { ...rest, ...named };
  const { messages, chats, level } = incident;
  const reminders = (before?.reminders ?? 0) + (kind === 'lasts' ? 1 : 0);
  const { waiting } = incident;
  return {
    ...rest,
    ...named,
    notified: { atMs: nowMs, messages, chats, level, reminders, ...(waiting && { waiting }) },
  };
}

/** One chat became many, or either number has one digit more than when it was last notified. */
export function hasGrown({ messages, chats }: Incident, notified: { messages: number; chats: number }): boolean {
  const isMany = chats > 1 && notified.chats <= 1;
  return isMany || tens(chats) > tens(notified.chats) || tens(messages) > tens(notified.messages);
}

function tens(count: number): number {
  return Math.floor(Math.log10(Math.max(1, count)));
}
