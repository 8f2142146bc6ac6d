import type { Alert } from '../../shared/flow/alert.ts';
import { watcherCondition } from './causes/watch.ts';
import { dueNotice, hasGrown, type NoticeKind, notifiedOf } from './due-notice.ts';
import {
  type Condition,
  ended,
  type Incident,
  incidentOf,
  isForgotten,
  isOver,
  notAhead,
  OTHERS,
  occurred,
  type Placed,
  partOver,
  seen,
} from './incident.ts';
import { isWhole, type Page, pageOf, type Surroundings, updateText } from './notice-text.ts';
import { eachAlone, type WatchFailure } from './watch-failure.ts';

/** The incidents of the installation, by name: the open ones and those that ended recently. */
export type Book = ReadonlyMap<string, Incident>;

/** A notice to the operator, with the whole message about the incident as it is to read now. */
export interface Notice extends Page {
  incident: string;
  kind: NoticeKind;
  /** What has changed, in few words; absent when it opens, and then the message is a new one. */
  update?: string;
  /** `silent`: the message says all of it, and nobody is to be rung. `naming`: the message has no room for all of it. */
  manner?: 'silent' | 'naming';
}

/** What was observed since the book was last written. */
export interface Observation {
  /** Alerts, in the order in which they were queued. */
  alerts: readonly Alert[];
  /** All conditions that hold now; absent when the state was not checked. */
  conditions?: readonly Condition[];
  /** What of the watch failed meanwhile. */
  failures?: readonly WatchFailure[];
  nowMs: number;
}

const INCIDENTS_MAX = 1_000;
/** Open incidents of one cause; further ones share one, so that a flood stays readable. */
const KEYS_MAX = 5;

/**
 * Enters an observation into the book, and returns what the operator must be notified of. Pure: the same observation of
 * the same book gives the same result, so of several watching processes the first to write does the work of all. What
 * cannot be entered is one more failure of the watch, and everything else is entered.
 */
export function enter(
  book: Book,
  { alerts, conditions, failures = [], nowMs }: Observation,
  around: Surroundings = {},
): { book: Book; notices: Notice[]; failures: readonly WatchFailure[] } {
  const incidents = new Map([...book].map(([id, incident]) => [id, notAhead(incident, nowMs)]));
  const notices: Notice[] = [];
  const failed = [...failures];
  const put = (incident: Incident): void => {
    const kind = dueNotice(incident, nowMs);
    const id = incidentOf(incident);
    if (kind) notices.push(noticeOf(incident, kind, around));
    incidents.set(id, kind ? notifiedOf(incident, kind, nowMs) : incident);
  };
  const each = <T extends Pick<Alert, 'cause' | 'key'>>(all: Iterable<T>, step: (one: T) => void): void =>
    eachAlone(all, (one) => one.cause, step, failed);
  each(alerts, (alert) => {
    const at = placed(incidents, alert);
    const before = incidents.get(incidentOf(at));
    if (!alert.isOver) put(occurred(before, at, nowMs));
    else if (before?.isOpen && at.part !== undefined) put(partOver(before, at, nowMs));
    else if (before?.isOpen) put(ended(before, nowMs, alert.text));
  });
  const lasting = conditions && new Set<string>();
  each(conditions ?? [], (condition) => {
    const at = placed(incidents, condition);
    lasting?.add(incidentOf(at));
    put(seen(incidents.get(incidentOf(at)), at, nowMs));
  });
  const blind = new Set(failures.map(({ what }) => what));
  each([...incidents.values()], (incident) => {
    if (incident.cause === 'watcher') return;
    const isLasting = blind.has(incident.cause) ? undefined : lasting?.has(incidentOf(incident));
    put(isOver(incident, isLasting, nowMs) ? ended(incident, nowMs) : incident);
  });
  const watcher = watcherAfter(incidents.get('watcher'), failed, conditions !== undefined, nowMs);
  if (watcher) put(watcher);
  forget(incidents, nowMs);
  return { book: incidents, notices, failures: failed };
}

function noticeOf(incident: Incident, kind: NoticeKind, around: Surroundings): Notice {
  const notice = about(incident, kind, around);
  if (kind === 'opened' || kind === 'reopened') return notice;
  const update = updateText(incident, kind);
  if (kind !== 'grown' || incident.unnamed.length === 0) return { ...notice, update };
  if (!isWhole(incident)) return { ...notice, update, manner: 'naming' };
  const isMore = incident.notified !== undefined && hasGrown(incident, incident.notified);
  return isMore ? { ...notice, update } : { ...notice, update, ...SILENT };
}

/** The notice that somebody did something about an incident, in few words: its message says so, and nobody is rung. */
export function actedNotice(
  incident: Incident,
  kind: 'acted' | 'resolved',
  update: string,
  around: Surroundings,
): Notice {
  return { ...about(incident, kind, around), update, ...SILENT };
}

function about(incident: Incident, kind: NoticeKind, around: Surroundings): Notice {
  return { incident: incidentOf(incident), kind, ...pageOf(incident, around) };
}

const SILENT = { manner: 'silent' } as const;

/** Where something is entered: where many of its cause are open, in the incident that stands for all others. */
function placed<T extends Alert>(incidents: ReadonlyMap<string, Incident>, one: T): Placed<T> {
  const { cause, key = '' } = one;
  if (key === '' || incidents.get(incidentOf(one))?.isOpen) return one;
  const shared: Placed<T> = { ...one, key: OTHERS, part: key };
  delete shared.level;
  const others = incidents.get(incidentOf(shared));
  if (others?.isOpen && others.parts?.includes(key)) return shared;
  const open = [...incidents.values()].filter((each) => each.cause === cause && each.isOpen && each.key !== OTHERS);
  return open.length < KEYS_MAX || one.isOver ? one : shared;
}

/** Last, since all that went before may have failed. A look at the alerts alone opens it, and neither changes nor ends it. */
function watcherAfter(
  before: Incident | undefined,
  failed: readonly WatchFailure[],
  isWhole: boolean,
  nowMs: number,
): Incident | undefined {
  if (failed.length > 0 && (isWhole || !before?.isOpen)) return seen(before, watcherCondition(failed), nowMs);
  return before?.isOpen && isWhole && failed.length === 0 ? ended(before, nowMs) : before;
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
