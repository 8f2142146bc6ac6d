import type { Cause } from '../../shared/flow/alert.ts';
import { createBookStore } from '../alerts/book-store.ts';
import { CAUSES } from '../alerts/cause.ts';
import { type Incident, incidentOf } from '../alerts/incident.ts';
import type { ReportSource } from './source.ts';

/** An incident as an operator reads of it. Times are ms since the epoch, by Redis' clock. */
export interface IncidentReport {
  /** Its name, as alerts and the runbook have it: the cause, and what distinguishes it from others of the cause. */
  name: string;
  cause: Cause;
  title: string;
  isOpen: boolean;
  sinceMs: number;
  lastMs: number;
  endedMs?: number;
  /** Messages, or occurrences where none is concerned. */
  count: number;
  chats: number;
  /** Some of the chats by name. */
  chatNames: readonly string[];
  /** The newest occurrence, in the words of the alert. */
  latest: string;
  todo: string;
  traceId?: string;
}

const CHATS_SHOWN = 20;

/** The incidents that are open, and those that ended within the hour: open ones first, each by age. */
export async function readIncidents({ redis }: ReportSource): Promise<IncidentReport[]> {
  const { book } = await createBookStore(redis).read();
  return [...book.values()]
    .map(reportOf)
    .sort((one, other) => Number(other.isOpen) - Number(one.isOpen) || other.sinceMs - one.sinceMs);
}

function reportOf(incident: Incident): IncidentReport {
  const { cause, isOpen, openedMs, lastMs, endedMs, messages, chats, chatNames, latest, traceId } = incident;
  // An incident of a version that this one does not know is shown all the same.
  const { title, todo } = CAUSES[cause] ?? { title: cause, todo: '' };
  return {
    ...{ name: incidentOf(incident), cause, title, isOpen, sinceMs: openedMs, lastMs },
    ...(!isOpen && endedMs !== undefined && { endedMs }),
    ...{ count: messages, chats, chatNames: chatNames.slice(0, CHATS_SHOWN), latest, todo },
    ...(traceId !== undefined && { traceId }),
  };
}
