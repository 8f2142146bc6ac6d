import { counted } from '../../shared/base/text.ts';
import type { Cause, Severity } from '../../shared/flow/alert.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import { EVERY_CHAT, type Pause } from '../../shared/state/lane/stops.ts';
import type { Condition } from '../alerts/causes/words.ts';
import { CAUSES, isAtLeast, rowAt, rowOf, severityOf } from '../alerts/causes.ts';
import { type Incident, QUIET_MS, REOPEN_MS } from '../alerts/incident.ts';

/** One reason why the installation is not green. */
export interface Trouble {
  /** The name of the runbook's section: a cause of incidents, or a trouble that is visible only from outside the workers. */
  cause: string;
  /** `page` makes the installation red, `attention` yellow. */
  severity: Exclude<Severity, 'info'>;
  text: string;
  todo: string;
  /** The `cause` of the trouble that led to this one, if any. A trouble with `under` does not affect the colour. */
  under?: string;
}

/**
 * The colour of the installation. Red: an operator must act now. Yellow: an operator should look today. Starting: there is
 * no trouble, but a process has just started.
 */
export type Colour = 'green' | 'yellow' | 'red' | 'starting';

/** The fields of an outcome that the colour depends on. */
export type RecentOutcome = Pick<OutcomeRecord, 'outcome' | 'reason' | 'settledAtMs'>;

/** The state of the flow that the colour depends on. Times are by Redis' clock. */
export interface FlowState {
  nowMs: number;
  conditions: readonly Condition[];
  incidents: readonly (Pick<Incident, 'isOpen' | 'lastMs' | 'endedMs' | 'latest'> & {
    cause: string;
    level?: string;
  })[];
  /** The newest outcomes of all chats, newest first. */
  newest: readonly RecentOutcome[];
  /** The number of failed messages that were neither replayed nor closed. */
  openLetters: number;
}

/** The part of the state that is visible only from outside the workers, e.g. that no worker is alive. */
export interface ProcessState {
  workers: number;
  takesWrites: boolean;
  /** Names the shards whose ledger counts do not add up; `undefined` if every shard's counts do. */
  imbalance: string | undefined;
  pauses: readonly Pause[];
  /** Whether a process has just started and may not have registered yet. */
  isStarting: boolean;
}

/** `mostFailed` looks at up to this many of the newest outcomes. Over half, and at least `FAILED_MIN`, must be failures. */
const NEWEST = 10;
const FAILED_MIN = 3;
/** Outcomes of messages that the model answered. */
const MODEL_ANSWERED: ReadonlySet<RecentOutcome['outcome']> = new Set(['answered', 'undeliverable']);
/** A fact does not end by itself, so it affects the colour only for this time after its last occurrence. */
const FACT_MS = 24 * 3600_000;
/** Causes of incidents whose end shows that the reason for earlier failures is gone. */
const FAILURE_CAUSES: ReadonlySet<string> = new Set(['provider', 'fixed-parts', 'telegram']);
/** Causes that are normal at a start, until the first worker has registered and the first poll has succeeded. */
const NORMAL_AT_START: ReadonlySet<string> = new Set(['worker', 'no-poll', 'no-delivery']);
/** The consequences of each trouble that is visible only from outside the workers. */
const OUTSIDE_CONSEQUENCES: Readonly<Record<string, readonly string[]>> = {
  worker: ['unanswered', 'idle', 'no-poll', 'no-delivery'],
  'redis-writes': ['unanswered', 'idle', 'no-poll', 'no-delivery', 'failed', 'dead-letters'],
};

/**
 * The present troubles, at most one for each cause. Troubles that no other trouble explains come before explained ones, and
 * within both groups those with severity `page` come first. Empty when all is well. Pure.
 */
export function troublesOf(flow: FlowState, processes?: ProcessState): Trouble[] {
  const all = [
    ...(processes === undefined ? [] : processTroubles(processes)),
    ...flow.conditions.flatMap((each) => troubleOf(each, severityOf(each), each.text)),
    ...flow.incidents.flatMap((each) => troubleOf(each, severityNow(each, flow.nowMs), each.latest)),
    ...mostFailed(flow),
    ...openLetters(flow),
  ].sort((one, other) => Number(other.severity === 'page') - Number(one.severity === 'page'));
  const causes = all.map(({ cause }) => cause);
  const distinct = all.filter(({ cause }, at) => causes.indexOf(cause) === at);
  const relevant = processes?.isStarting ? distinct.filter(({ cause }) => !NORMAL_AT_START.has(cause)) : distinct;
  const withCauses = relevant.map((each) => withCause(each, relevant));
  return [
    ...withCauses.filter(({ under }) => under === undefined),
    ...withCauses.filter(({ under }) => under !== undefined),
  ];
}

/** The colour that follows from the troubles. Pure. */
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
      (OUTSIDE_CONSEQUENCES[each.cause]?.includes(trouble.cause) ||
        (isFullSeverity(each) && follows.includes(each.cause as Cause))),
  );
  return cause === undefined ? trouble : { ...trouble, under: cause.cause };
}

/** Whether a trouble has the full severity of its cause. A nearly full Redis, for example, does not, and causes nothing yet. */
function isFullSeverity({ cause, severity }: Trouble): boolean {
  return rowOf(cause)?.severity === severity;
}

function processTroubles({ workers, takesWrites, imbalance, pauses }: ProcessState): Trouble[] {
  const all = pauses.find(({ chat }) => chat === EVERY_CHAT);
  const red = (cause: string, text: string, todo: string): Trouble => ({ cause, severity: 'page', text, todo });
  const troubles: Trouble[] = [];
  if (!takesWrites)
    troubles.push(red('redis-writes', 'Redis answers, but takes no writes.', 'See "npm run cli -- check".'));
  // While Redis takes no writes, no worker can renew its heartbeat, so missing workers prove nothing.
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

/**
 * The present severity of an incident: `info` once it has ended. An open fact keeps its severity for ten minutes after its last
 * occurrence, then at most `attention` until a day has passed, then `info`.
 */
function severityNow(incident: FlowState['incidents'][number], nowMs: number): Severity {
  const { cause, isOpen, lastMs } = incident;
  const severity = severityOf(incident);
  if (!isOpen) return 'info';
  if (rowOf(cause)?.endsBy !== 'fact' || severity === 'info' || nowMs - lastMs <= QUIET_MS) return severity;
  return nowMs - lastMs <= FACT_MS ? 'attention' : 'info';
}

/** The trouble that failed messages, even of ended incidents, were neither replayed nor closed; empty if there are none. */
function openLetters({ openLetters: letters }: FlowState): Trouble[] {
  if (letters === 0) return [];
  const text = `${counted(letters, 'message')} failed and ${letters === 1 ? 'was' : 'were'} neither replayed nor closed.`;
  return troubleOf({ cause: 'dead-letters' }, 'attention', text);
}

/**
 * The trouble that most of the newest outcomes are failures; empty if not. Failures more than an hour old, or from before
 * the end of an incident that explains them, do not count: without new messages, they would remain the newest outcomes.
 */
function mostFailed({ newest, incidents, nowMs }: FlowState): Trouble[] {
  const ends = incidents.flatMap(
    ({ cause, endedMs, isOpen }) => (FAILURE_CAUSES.has(cause) && !isOpen && endedMs) || [],
  );
  const sinceMs = Math.max(nowMs - REOPEN_MS, ...ends);
  const answeredOrFailed = newest
    .filter(({ outcome, settledAtMs }) => (outcome === 'failed' ? settledAtMs > sinceMs : MODEL_ANSWERED.has(outcome)))
    .slice(0, NEWEST);
  const failures = answeredOrFailed.filter(({ outcome }) => outcome === 'failed');
  if (failures.length < FAILED_MIN || failures.length * 2 <= answeredOrFailed.length) return [];
  const why = [...new Set(failures.map(({ reason }) => reason ?? 'no reason was given'))].join(', ');
  return troubleOf(
    { cause: 'failed' },
    'page',
    `${failures.length} of the last ${answeredOrFailed.length} messages failed (${why}).`,
  );
}
