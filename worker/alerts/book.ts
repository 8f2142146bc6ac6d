import type { Alert } from '../../shared/flow/alert.ts';
import {
  type Condition,
  dueNotice,
  ended,
  type Incident,
  incidentOf,
  isForgotten,
  isOver,
  type NoticeKind,
  notifiedOf,
  occurred,
  seen,
} from './incident.ts';
import { type Links, linkLines, noticeText } from './notice-text.ts';

/** The incidents of the installation, by name: the open ones and those that ended recently. */
export type Book = ReadonlyMap<string, Incident>;

/** A notice to the operator. */
export interface Notice {
  incident: string;
  kind: NoticeKind;
  text: string;
}

/** What was observed since the book was last written. */
export interface Observation {
  /** Alerts, in the order in which they were queued. */
  alerts: readonly Alert[];
  /** All conditions that hold now; absent when the state was not checked. */
  conditions?: readonly Condition[];
  nowMs: number;
}

const INCIDENTS_MAX = 1_000;

/**
 * Enters an observation into the book, and returns what the operator must be notified of. Pure: the same observation of
 * the same book gives the same result, so of several watching processes the first to write does the work of all.
 */
export function enter(
  book: Book,
  { alerts, conditions, nowMs }: Observation,
  links: Links = {},
): { book: Book; notices: Notice[] } {
  const incidents = new Map(book);
  const notices: Notice[] = [];
  const put = (incident: Incident): void => {
    const kind = dueNotice(incident, nowMs);
    const id = incidentOf(incident);
    if (kind) notices.push({ incident: id, kind, text: linked(incident, kind, links) });
    incidents.set(id, kind ? notifiedOf(incident, kind, nowMs) : incident);
  };
  for (const alert of alerts) {
    const before = incidents.get(incidentOf(alert));
    if (!alert.isOver) put(occurred(before, alert, nowMs));
    else if (before?.isOpen) put(ended(before, nowMs, alert.text));
  }
  for (const condition of conditions ?? []) {
    put(seen(incidents.get(incidentOf(condition)), condition, nowMs));
  }
  const lasting = conditions && new Set(conditions.map(incidentOf));
  for (const [id, incident] of [...incidents]) {
    put(isOver(incident, lasting?.has(id), nowMs) ? ended(incident, nowMs) : incident);
  }
  forget(incidents, nowMs);
  return { book: incidents, notices };
}

/** An end needs no reading on. */
function linked(incident: Incident, kind: NoticeKind, links: Links): string {
  const lines = kind === 'resolved' ? [] : linkLines(incident, links);
  return [noticeText(incident, kind), ...lines].join('\n');
}

/** The whole book is read every second, so it must stay small; the oldest ended incidents are removed first. */
function forget(incidents: Map<string, Incident>, nowMs: number): void {
  for (const [id, incident] of incidents) {
    if (isForgotten(incident, nowMs)) incidents.delete(id);
  }
  const surplus = incidents.size - INCIDENTS_MAX;
  if (surplus <= 0) return;
  const oldest = [...incidents].sort(([, a], [, b]) => Number(a.isOpen) - Number(b.isOpen) || a.lastMs - b.lastMs);
  for (const [id] of oldest.slice(0, surplus)) incidents.delete(id);
}
