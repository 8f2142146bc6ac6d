import type { Keys } from './keys.ts';

/** Something that the operator must know. */
export interface Alert {
  /** Alerts of one incident are sent once an hour; a name that holds an entry id is an incident of its own. */
  incident: string;
  /** Plain text: what happened, the chat id, numbers as digits, the trace id. */
  text: string;
}

/** Alerts that nobody takes must not fill Redis. */
const ALERTS_MAX = 10_000;

/** The command that queues an alert, for a fenced write: an alert is stored in one step with what it tells of. */
export function alertCommand(keys: Keys, alert: Alert): [name: string, ...args: (string | number)[]] {
  return ['XADD', keys.alerts, 'MAXLEN', '~', ALERTS_MAX, '*', 'alert', JSON.stringify(alert)];
}

/** Counts of the ledger that went back: they only ever grow, so Redis forgot what it had. `counts` is their key. */
export function lostDataAlert(counts: string, before: number, now: number): Alert {
  return {
    incident: `lost-data-${counts}`,
    text: `Redis lost data: ${before} messages had been accepted, and now it knows of ${now} (${counts}). Messages that waited may be gone without an answer, and conversations may have lost their end.`,
  };
}
