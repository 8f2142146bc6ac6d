import type { Alert } from '../../shared/flow/alert.ts';
import { watcherCondition } from './causes/watch.ts';
import type { Condition } from './causes/words.ts';
import {
  causeOf,
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
  WEEK_MS,
} from './incident.ts';
import { eachAlone, type WatchFailure } from './watch-failure.ts';

/** The incidents of the installation, by name: the open ones and those that ended recently. */
export type Book = ReadonlyMap<string, Incident>;

/** One observation: the alerts that were queued, and what a check of the state found. */
export interface Observation {
  /** Alerts, in the order in which they were queued. */
  alerts: readonly Alert[];
  /** All conditions that hold now; absent when the state was not checked. */
  conditions?: readonly Condition[] | undefined;
  /** Failed messages that are still dead letters, by the names of the incidents in whose time they failed. */
  letters?: ReadonlyMap<string, number> | undefined;
  /** Parts of the watch that failed during the check. */
  failures?: readonly WatchFailure[];
  /** Whether every channel has the newest stage of an incident: until then it is stored, for a week after its end at most. */
  isDelivered?: (incident: Incident) => boolean;
  nowMs: number;
}

const INCIDENTS_MAX = 1_000;
/** The most open incidents of one cause; alerts with further keys are merged into `<cause>:others`. */
const KEYS_MAX = 5;

/**
 * Enters an observation into the book. Pure: two processes that enter the same get the same, so the one that loses the
 * compare-and-set drops its result. An item that throws becomes a failure of the watch; all others are entered.
 */
export function enter(
  book: Book,
  { alerts, conditions, letters, failures = [], isDelivered = () => true, nowMs }: Observation,
): { book: Book; failures: readonly WatchFailure[] } {
  const incidents = new Map([...book].map(([id, incident]) => [id, notAhead(incident, nowMs)]));
  const failed = [...failures];
  const put = (incident: Incident): void => {
    incidents.set(incidentOf(incident), incident);
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
    const isEnded = isOver(incident, isLasting, nowMs);
    put(withLetters(isEnded ? ended(incident, nowMs) : incident, letters));
  });
  const watcher = watcherAfter(incidents.get('watcher'), failed, conditions !== undefined, nowMs);
  if (watcher) put(watcher);
  each([...incidents.values()], (incident) => {
    if (incident.isOpen) put(withCause(incident, causeOf(incident, incidents, nowMs)));
  });
  forget(incidents, isDelivered, nowMs);
  return { book: incidents, failures: failed };
}

function withLetters(incident: Incident, letters: Observation['letters']): Incident {
  const left = letters?.get(incidentOf(incident));
  const before = incident.letters;
  if (left === undefined || left === (before?.left ?? 0)) return incident;
  return { ...incident, letters: { left, most: Math.max(left, before?.most ?? 0) } };
}

function withCause(incident: Incident, cause: string | undefined): Incident {
  if (incident.under === cause) return incident;
  const { under: _, ...alone } = incident;
  return cause === undefined ? alone : { ...alone, under: cause };
}

/** Chooses the incident for an alert: its own, or `<cause>:others` where five of its cause are open. */
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

/** Updates the incident of the watch, last, since each earlier step may add a failure. Only a full check changes or ends it. */
function watcherAfter(
  before: Incident | undefined,
  failed: readonly WatchFailure[],
  isWhole: boolean,
  nowMs: number,
): Incident | undefined {
  if (failed.length > 0 && (isWhole || !before?.isOpen)) return seen(before, watcherCondition(failed), nowMs);
  const isEnded = before !== undefined && isWhole && failed.length === 0 && isOver(before, false, nowMs);
  return isEnded ? ended(before, nowMs) : before;
}

/** The whole book is read every second, so it must stay small; the oldest ended incidents are removed first. */
function forget(incidents: Map<string, Incident>, isDelivered: (incident: Incident) => boolean, nowMs: number): void {
  for (const [id, incident] of incidents) {
    const isOld = nowMs - (incident.endedMs ?? nowMs) > WEEK_MS;
    if (isForgotten(incident, nowMs) && (isDelivered(incident) || isOld)) incidents.delete(id);
  }
  const surplus = incidents.size - INCIDENTS_MAX;
  if (surplus <= 0) return;
  const oldest = [...incidents].sort(([, a], [, b]) => Number(a.isOpen) - Number(b.isOpen) || a.lastMs - b.lastMs);
  for (const [id] of oldest.slice(0, surplus)) incidents.delete(id);
}
