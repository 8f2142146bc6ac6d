import { counted } from '../../shared/base/text.ts';
import type { Cause, Severity } from '../../shared/flow/alert.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/stops.ts';
import type { Condition } from '../alerts/causes/words.ts';
import { CAUSES, isAtLeast, rowAt, rowOf, severityOf } from '../alerts/causes.ts';
import { type Incident, QUIET_MS, REOPEN_MS } from '../alerts/incident.ts';

/** Why the installation is not well. */
export interface Trouble {
  /** A section of the runbook: the cause of an incident, or trouble that only a look from outside shows. */
  cause: string;
  /** `page` is red, `attention` is yellow. */
  severity: Exclude<Severity, 'info'>;
  text: string;
  todo: string;
  /** The cause of another trouble that it follows from: then it gives no colour. */
  under?: string;
}

/** How the installation fares: red where people get no answers now, yellow where somebody should look today. */
export type Colour = 'green' | 'yellow' | 'red' | 'starting';

/** The part of an outcome that the verdict needs. */
export type Ended = Pick<OutcomeRecord, 'outcome' | 'reason' | 'settledAtMs'>;

/** The state of the flow that the verdict is about. Times are by Redis' clock. */
export interface Judged {
  nowMs: number;
  /** The conditions that hold now. */
  conditions: readonly Condition[];
  incidents: readonly (Pick<Incident, 'isOpen' | 'lastMs' | 'endedMs' | 'latest'> & {
    cause: string;
    level?: string;
  })[];
  /** How the newest messages of all chats ended, the newest first. */
  newest: readonly Ended[];
  /** Messages that failed and were neither replayed nor closed. */
  openLetters: number;
}

/** The part of the state that shows only from outside of a worker. */
export interface Seen {
  workers: number;
  takesWrites: boolean;
  /** The numbers of the ledger that do not add up, in words. */
  imbalance: string | undefined;
  pauses: readonly Pause[];
  /** Whether a process has just been started, and had no time yet to show itself. */
  isStarting: boolean;
}

/** How many of the newest messages are looked at, and how many of them must have failed at least. */
const NEWEST = 10;
const FAILED_MIN = 3;
/** The outcomes of messages that were answered, besides those that failed. */
const ASKED: ReadonlySet<Ended['outcome']> = new Set(['answered', 'undeliverable']);
/** A fact cannot end: after a day it is only in the list. */
const FACT_MS = 24 * 3600_000;
/** The end of one of these shows that the reason of earlier failures is gone. */
const EXPLAINS: ReadonlySet<string> = new Set(['provider', 'fixed-parts', 'telegram']);
/** What is missing at a start until the first worker and the first poll have shown themselves. */
const COMES_WITH_A_START: ReadonlySet<string> = new Set(['worker', 'no-poll', 'no-delivery']);
/** What follows from a cause that only a look from outside shows. */
const FROM_OUTSIDE: Readonly<Record<string, readonly string[]>> = {
  worker: ['unanswered', 'idle', 'no-poll', 'no-delivery'],
  'redis-writes': ['unanswered', 'idle', 'no-poll', 'no-delivery', 'failed', 'dead-letters'],
};

/**
 * All that is wrong now: the causes, the worst first, then what follows from one of them; empty when all is well. One
 * trouble for each cause. Pure.
 */
export function troublesOf(judged: Judged, seen?: Seen): Trouble[] {
  const all = [
    ...(seen === undefined ? [] : ofProcesses(seen)),
    ...judged.conditions.flatMap((each) => troubleOf(each, severityOf(each), each.text)),
    ...judged.incidents.flatMap((each) => troubleOf(each, severityNow(each, judged.nowMs), each.latest)),
    ...mostFailed(judged),
    ...openLetters(judged),
  ].sort((one, other) => Number(other.severity === 'page') - Number(one.severity === 'page'));
  const causes = all.map(({ cause }) => cause);
  const once = all.filter(({ cause }, at) => causes.indexOf(cause) === at);
  const known = seen?.isStarting ? once.filter(({ cause }) => !COMES_WITH_A_START.has(cause)) : once;
  const linked = known.map((each) => withCause(each, known));
  return [...linked.filter(({ under }) => under === undefined), ...linked.filter(({ under }) => under !== undefined)];
}

/** The colour of what is wrong. Pure. */
export function colourOf(troubles: readonly Trouble[], isStarting = false): Colour {
  const causes = troubles.filter(({ under }) => under === undefined);
  if (causes.some(({ severity }) => severity === 'page')) return 'red';
  if (causes.length > 0) return 'yellow';
  return isStarting ? 'starting' : 'green';
}

function withCause(trouble: Trouble, all: readonly Trouble[]): Trouble {
  const { follows = [] } = rowOf(trouble.cause) ?? {};
  const cause = all.find(
    (each) =>
      isAtLeast(each.severity, trouble.severity) &&
      (FROM_OUTSIDE[each.cause]?.includes(trouble.cause) || (isWhole(each) && follows.includes(each.cause as Cause))),
  );
  return cause === undefined ? trouble : { ...trouble, under: cause.cause };
}

/** Whether a cause is as severe as its row says: a Redis that is only nearly full explains nothing yet. */
function isWhole({ cause, severity }: Trouble): boolean {
  return rowOf(cause)?.severity === severity;
}

function ofProcesses({ workers, takesWrites, imbalance, pauses }: Seen): Trouble[] {
  const all = pauses.find(({ chat }) => chat === EVERY_CHAT);
  const red = (cause: string, text: string, todo: string): Trouble => ({ cause, severity: 'page', text, todo });
  const troubles: Trouble[] = [];
  if (!takesWrites)
    troubles.push(red('redis-writes', 'Redis answers, but takes no writes.', 'See "npm run cli -- check".'));
  // Where nothing can be written, no worker can show that it lives.
  else if (workers === 0) troubles.push(red('worker', 'No worker process is alive.', 'Start the gateway.'));
  if (imbalance !== undefined) troubles.push(red('ledger', `${imbalance}.`, CAUSES.ledger.todo ?? ''));
  if (all) {
    const text = `Everything is paused by ${all.by}: ${all.why || 'no reason was given'}.`;
    troubles.push(red('paused', text, CAUSES.paused.todo ?? ''));
  }
  return troubles;
}

function troubleOf(of: { cause: string; level?: string | undefined }, severity: Severity, text: string): Trouble[] {
  if (severity === 'info') return [];
  const { cause, level = '' } = of;
  const todo = rowOf(cause) === undefined ? '' : (rowAt({ cause: cause as Cause, level }).todo ?? '');
  return [{ cause, severity, text, todo }];
}

/** A fact counts with its own severity for ten minutes, as attention for a day, and then not at all. */
function severityNow(incident: Judged['incidents'][number], nowMs: number): Severity {
  const { cause, isOpen, lastMs } = incident;
  const severity = severityOf(incident);
  if (!isOpen) return 'info';
  if (rowOf(cause)?.endsBy !== 'fact' || severity === 'info' || nowMs - lastMs <= QUIET_MS) return severity;
  return nowMs - lastMs <= FACT_MS ? 'attention' : 'info';
}

/** People who were never answered, after the incident is over as well. */
function openLetters({ openLetters: letters }: Judged): Trouble[] {
  if (letters === 0) return [];
  const text = `${counted(letters, 'message')} failed and ${letters === 1 ? 'was' : 'were'} neither replayed nor closed.`;
  return troubleOf({ cause: 'dead-letters' }, 'attention', text);
}

/**
 * Most of the newest messages failed, whatever the reasons. What failed before the end of an incident that explains it
 * is past, and so is what failed an hour ago: it may be that nobody writes for a day.
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
  return troubleOf(
    { cause: 'failed' },
    'page',
    `${failed.length} of the last ${asked.length} messages failed (${why}).`,
  );
}
