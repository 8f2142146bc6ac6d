import type { Alert } from '../../shared/flow/alert.ts';
import { watcherCondition } from './causes/watch.ts';
import type { Condition } from './causes/words.ts';
import {
  addOccurrence,
  addSighting,
  capTimes,
  causeOf,
  endIncident,
  endPart,
  type Incident,
  incidentOf,
  isOver,
  isRemovable,
  OTHERS,
  type PlacedAlert,
  WEEK_MS,
} from './incident.ts';
import { runEach, type WatchFailure } from './watch-failure.ts';

/** The open and recently ended incidents of the installation, by name. */
export type Book = ReadonlyMap<string, Incident>;

/** New input for the book: queued alerts, and the findings of a check of the state. */
export interface Observation {
  /** Alerts, in the order in which they were queued. */
  alerts: readonly Alert[];
  /** All conditions that hold now; absent if no check was made. */
  conditions?: readonly Condition[] | undefined;
  /** The number of remaining dead letters of each incident, by the incident's name; see `countLettersOf`. */
  letters?: ReadonlyMap<string, number> | undefined;
  /** The parts of the watch that failed. */
  failures?: readonly WatchFailure[];
  /** Whether each channel has an incident's newest stage. Until then, an ended incident stays in the book, for up to a week. */
  isDelivered?: (incident: Incident) => boolean;
  nowMs: number;
}

const INCIDENTS_MAX = 1_000;
/** The maximum number of open incidents of one cause. Alerts with further keys are merged into `<cause>:others`. */
const KEYS_MAX = 5;

/**
 * Enters an observation into the book. An error about one alert, condition or incident becomes a failure of the watch, and
 * the others are entered all the same. Pure: two processes that enter the same observation get the same book, so the one
 * whose write comes too late can drop its result.
 */
export function enter(
  book: Book,
  { alerts, conditions, letters, failures = [], isDelivered = () => true, nowMs }: Observation,
): { book: Book; failures: readonly WatchFailure[] } {
  const incidents = new Map([...book].map(([id, incident]) => [id, capTimes(incident, nowMs)]));
  const allFailures = [...failures];
  const put = (incident: Incident): void => {
    incidents.set(incidentOf(incident), incident);
  };
  const each = <T extends Pick<Alert, 'cause' | 'key'>>(all: Iterable<T>, step: (one: T) => void): void =>
    runEach(all, (one) => one.cause, step, allFailures);
  each(alerts, (alert) => {
    const target = placeAlert(incidents, alert);
    const before = incidents.get(incidentOf(target));
    if (!alert.isOver) put(addOccurrence(before, target, nowMs));
    else if (before?.isOpen && target.part !== undefined) put(endPart(before, target, nowMs));
    else if (before?.isOpen) put(endIncident(before, nowMs, alert.text));
  });
  const lastingNames = conditions && new Set<string>();
  each(conditions ?? [], (condition) => {
    const target = placeAlert(incidents, condition);
    lastingNames?.add(incidentOf(target));
    put(addSighting(incidents.get(incidentOf(target)), target, nowMs));
  });
  const failedParts = new Set(failures.map(({ what }) => what));
  each([...incidents.values()], (incident) => {
    if (incident.cause === 'watcher') return;
    const isLasting = failedParts.has(incident.cause) ? undefined : lastingNames?.has(incidentOf(incident));
    const isEnded = isOver(incident, isLasting, nowMs);
    put(withLetters(isEnded ? endIncident(incident, nowMs) : incident, letters));
  });
  const watcher = watcherAfter(incidents.get('watcher'), allFailures, conditions !== undefined, nowMs);
  if (watcher) put(watcher);
  each([...incidents.values()], (incident) => {
    if (incident.isOpen) put(withCause(incident, causeOf(incident, incidents, nowMs)));
  });
  removeOld(incidents, isDelivered, nowMs);
  return { book: incidents, failures: allFailures };
}

function withLetters(incident: Incident, letters: Observation['letters']): Incident {
  const count = letters?.get(incidentOf(incident));
  const before = incident.letters;
  if (count === undefined || count === (before?.left ?? 0)) return incident;
  return { ...incident, letters: { left: count, most: Math.max(count, before?.most ?? 0) } };
}

function withCause(incident: Incident, cause: string | undefined): Incident {
  if (incident.under === cause) return incident;
  const { under: _, ...alone } = incident;
  return cause === undefined ? alone : { ...alone, under: cause };
}

/**
 * Chooses the incident for an alert: its own or, if the cause already has `KEYS_MAX` other open incidents, `<cause>:others`. A
 * key that was merged into `<cause>:others` stays there until the trouble with this key or that incident ends.
 */
function placeAlert<T extends Alert>(incidents: ReadonlyMap<string, Incident>, one: T): PlacedAlert<T> {
  const { cause, key = '' } = one;
  if (key === '' || incidents.get(incidentOf(one))?.isOpen) return one;
  const merged: PlacedAlert<T> = { ...one, key: OTHERS, part: key };
  delete merged.level;
  const others = incidents.get(incidentOf(merged));
  if (others?.isOpen && others.parts?.includes(key)) return merged;
  const open = [...incidents.values()].filter((each) => each.cause === cause && each.isOpen && each.key !== OTHERS);
  return open.length < KEYS_MAX || one.isOver ? one : merged;
}

/** Updates the incident `watcher`, after the steps that may add a failure. Only a check without failures ends this incident. */
function watcherAfter(
  before: Incident | undefined,
  allFailures: readonly WatchFailure[],
  isWhole: boolean,
  nowMs: number,
): Incident | undefined {
  if (allFailures.length > 0 && (isWhole || !before?.isOpen))
    return addSighting(before, watcherCondition(allFailures), nowMs);
  const isEnded = before !== undefined && isWhole && allFailures.length === 0 && isOver(before, false, nowMs);
  return isEnded ? endIncident(before, nowMs) : before;
}

/** Removes incidents that are no longer needed, and the oldest beyond `INCIDENTS_MAX`: every round reads the whole book. */
function removeOld(
  incidents: Map<string, Incident>,
  isDelivered: (incident: Incident) => boolean,
  nowMs: number,
): void {
  for (const [id, incident] of incidents) {
    const isOld = nowMs - (incident.endedMs ?? nowMs) > WEEK_MS;
    if (isRemovable(incident, nowMs) && (isDelivered(incident) || isOld)) incidents.delete(id);
  }
  const surplus = incidents.size - INCIDENTS_MAX;
  if (surplus <= 0) return;
  const oldest = [...incidents].sort(([, a], [, b]) => Number(a.isOpen) - Number(b.isOpen) || a.lastMs - b.lastMs);
  for (const [id] of oldest.slice(0, surplus)) incidents.delete(id);
}
