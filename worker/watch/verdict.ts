import { counted } from '../../shared/base/text.ts';
import type { Cause, Severity } from '../../shared/flow/alert.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/stops.ts';
import { ALERT_WORDS } from '../alerts/causes/words.ts';
import { ruleOf, severityOf } from '../alerts/causes.ts';
import { type Condition, type Incident, QUIET_MS, REOPEN_MS } from '../alerts/incident.ts';
import type { OutcomeRecord } from '../lane/lane.ts';

/** Why the installation is not well. */
export interface Trouble {
  /** A section of the runbook: the cause of an incident, or what no incident can tell of. */
  cause: string;
  /** `page` is red, `attention` is yellow. */
  severity: Exclude<Severity, 'info'>;
  text: string;
  todo: string;
}

/** How the installation fares: red where somebody must come, yellow where somebody should look today. */
export type Colour = 'green' | 'yellow' | 'red' | 'starting';

/** What the verdict needs of an outcome. */
export type Ended = Pick<OutcomeRecord, 'outcome' | 'reason' | 'settledAtMs'>;

/** What the state of the flow is judged by. Times are by Redis' clock. */
export interface Judged {
  nowMs: number;
  /** The conditions that hold now. */
  conditions: readonly Condition[];
  incidents: readonly (Pick<Incident, 'isOpen' | 'lastMs' | 'endedMs' | 'latest'> & { cause: string })[];
  /** How the newest messages of all chats ended, the newest first. */
  newest: readonly Ended[];
}

/** What shows only to whoever looks from outside of a worker. */
export interface Seen {
  workers: number;
  takesWrites: boolean;
  unaccounted: number;
  pauses: readonly Pause[];
  /** Whether a process has just been started, and had no time yet to show itself. */
  isStarting: boolean;
}

/** How many of the newest messages are looked at, and how many of them must have failed at least. */
const NEWEST = 10;
const FAILED_MIN = 3;
/** Besides those that failed. */
const ASKED: ReadonlySet<Ended['outcome']> = new Set(['answered', 'undeliverable']);
/** A fact cannot end: it is for those who are there today, and then it is only in the list. */
const FACT_MS = 24 * 3600_000;
/** An end of these shows that the reason of earlier failures is gone. */
const EXPLAINS: ReadonlySet<string> = new Set(['provider', 'fixed-parts', 'telegram']);
/** What is missing at a start until the first worker and the first poll have shown themselves. */
const COMES_WITH_A_START: ReadonlySet<string> = new Set(['worker', 'no-poll', 'no-delivery']);

/** All that is wrong now, the worst first; empty when all is well. One trouble for each cause. Pure. */
export function troublesOf(judged: Judged, seen?: Seen): Trouble[] {
  const all = [
    ...(seen === undefined ? [] : ofProcesses(seen)),
    ...mostFailed(judged),
    ...judged.conditions.flatMap(({ cause, text }) => troubleOf(cause, severityOf(cause), text)),
    ...judged.incidents.flatMap((each) => troubleOf(each.cause, severityNow(each, judged.nowMs), each.latest)),
  ];
  const causes = all.map(({ cause }) => cause);
  const once = all.filter(({ cause }, at) => causes.indexOf(cause) === at);
  const told = seen?.isStarting ? once.filter(({ cause }) => !COMES_WITH_A_START.has(cause)) : once;
  return [
    ...told.filter(({ severity }) => severity === 'page'),
    ...told.filter(({ severity }) => severity === 'attention'),
  ];
}

/** The colour of what is wrong. Pure. */
export function colourOf(troubles: readonly Trouble[], isStarting = false): Colour {
  if (troubles.some(({ severity }) => severity === 'page')) return 'red';
  if (troubles.length > 0) return 'yellow';
  return isStarting ? 'starting' : 'green';
}

function ofProcesses({ workers, takesWrites, unaccounted, pauses }: Seen): Trouble[] {
  const all = pauses.find(({ chat }) => chat === EVERY_CHAT);
  const red = (cause: string, text: string, todo = todoOf(cause)): Trouble => ({ cause, severity: 'page', text, todo });
  const troubles: Trouble[] = [];
  if (!takesWrites)
    troubles.push(red('redis-writes', 'Redis answers, but takes no writes.', 'See "npm run cli -- check".'));
  // Where nothing can be written, nobody can show that it lives.
  else if (workers === 0) troubles.push(red('worker', 'No worker process is alive.', 'Start the gateway.'));
  if (unaccounted !== 0) troubles.push(red('ledger', `Unaccounted for: ${counted(unaccounted, 'message')}.`));
  if (all) troubles.push(red('paused', `Everything is paused by ${all.by}: ${all.why || 'no reason was given'}.`));
  return troubles;
}

function troubleOf(cause: string, severity: Severity, text: string): Trouble[] {
  return severity === 'info' ? [] : [{ cause, severity, text, todo: todoOf(cause) }];
}

function todoOf(cause: string): string {
  return ruleOf(cause) ? ALERT_WORDS.todo[cause as Cause] : '';
}

/** What happened, and cannot end, is as bad as it was for a while only. */
function severityNow({ cause, isOpen, lastMs }: Judged['incidents'][number], nowMs: number): Severity {
  const severity = severityOf(cause);
  if (!isOpen) return 'info';
  if (ruleOf(cause)?.endsBy !== 'fact' || severity === 'info' || nowMs - lastMs <= QUIET_MS) return severity;
  return nowMs - lastMs <= FACT_MS ? 'attention' : 'info';
}

/**
 * Most of the newest messages failed, whatever the reasons. What failed before the end of an incident that explains it
 * is past, and so is what failed an hour ago: nobody may write for a day.
 */
function mostFailed({ newest, incidents, nowMs }: Judged): Trouble[] {
  const ends = incidents.flatMap(({ cause, endedMs, isOpen }) => (EXPLAINS.has(cause) && !isOpen && endedMs) || []);
  const sinceMs = Math.max(nowMs - REOPEN_MS, ...ends);
  const asked = newest
    .filter(({ outcome, settledAtMs }) => (outcome === 'failed' ? settledAtMs > sinceMs : ASKED.has(outcome)))
    .slice(0, NEWEST);
  const failed = asked.filter(({ outcome }) => outcome === 'failed');
  if (failed.length < FAILED_MIN || failed.length * 2 <= asked.length) return [];
  const why = [...new Set(failed.map(({ reason }) => reason ?? 'no reason was given'))].join(', ');
  return troubleOf('failed', 'page', `${failed.length} of the last ${asked.length} messages failed (${why}).`);
}
