import { counted } from '../../shared/base/text.ts';
import { eventsIn, type OutcomeRecord, type StoredEvent } from '../../shared/state/lane/record-streams.ts';
import type { InboundEntry } from '../../shared/state/message/inbound.ts';
import type { EndedAttempt } from '../../shared/state/turn/aspects.ts';
import type { TurnSummary } from '../../shared/state/turn/summary.ts';
import { chatName, matching, messageName, type ReadReport, shardsOf, some, tableSection } from './report.ts';

interface Step {
  /** Ms since the epoch; absent when only that it happened is known. */
  atMs?: number;
  kind: 'accepted' | 'waited' | 'begun' | 'attempt' | 'crash' | 'model' | 'recovery' | 'parts' | 'outcome';
  text: string;
}

interface Trail {
  acceptedMs: number;
  inbound: InboundEntry | undefined;
  turn: TurnSummary | undefined;
  /** Of this message, in order. */
  events: readonly StoredEvent[];
  /** Of its chat: what ended after this one was accepted, and before it could begin. */
  before: readonly OutcomeRecord[];
  outcome: OutcomeRecord | undefined;
}

/** The life of a message, in the order of time. Pure. */
export function timelineOf({ acceptedMs, inbound, turn, events, before, outcome }: Trail): Step[] {
  const replay = inbound?.replayOf === undefined ? '' : `; put back, it had failed as ${inbound.replayOf}`;
  const steps: Step[] = [
    { atMs: acceptedMs, kind: 'accepted', text: `accepted${replay}` },
    ...before.map(waitedBehind),
    ...some<Step>(
      turn?.firstBegunMs !== undefined && { atMs: turn.firstBegunMs, kind: 'begun', text: 'the first attempt began' },
    ),
    ...(turn?.ended.map(attemptStep) ?? []),
    ...events.map(eventStep),
    ...(outcome ? [outcomeStep(outcome)] : []),
  ];
  const timed = steps.toSorted((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0));
  return [...timed, ...(turn ? untimed(turn) : [])];
}

function waitedBehind({ entry, settledAtMs, outcome }: OutcomeRecord): Step {
  return { atMs: settledAtMs, kind: 'waited', text: `until then it waited behind ${entry}, which ended as ${outcome}` };
}

function attemptStep({ atMs, attempt, reason, delayMs }: EndedAttempt): Step {
  const then = delayMs === undefined ? 'it went on at once' : `put off for ${(delayMs / 1000).toFixed(1)} s`;
  return { atMs, kind: 'attempt', text: `attempt ${attempt} ended: ${reason}; ${then}` };
}

function eventStep(kept: StoredEvent): Step {
  const { event, entry, chat, traceId, atMs, ...about } = kept;
  const kind = event.startsWith('model.') ? 'model' : 'recovery';
  return { atMs, kind, text: `${event} ${detailsOf(about)}`.trim() };
}

/** The numbers and codes of an event; it holds nothing that anybody wrote. */
function detailsOf(about: object): string {
  return Object.entries(about)
    .filter(([, value]) => value !== 0 && value !== '' && value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
}

function outcomeStep({ settledAtMs, outcome, reason, attempts, recoveries, into }: OutcomeRecord): Step {
  const why = reason === undefined ? '' : ` (${reason})`;
  const where = into === undefined ? '' : `, into ${into}`;
  const text = `${outcome}${why}${where}: ${counted(attempts, 'attempt')}, ${counted(recoveries, 'recovery', 'recoveries')}`;
  return { atMs: settledAtMs, kind: 'outcome', text };
}

function untimed({ crashes, toolRounds, parts }: TurnSummary): Step[] {
  const crashed = `its process ended in the middle of an attempt, ${counted(crashes, 'time')}`;
  return some<Step>(
    crashes > 0 && { kind: 'crash', text: crashed },
    toolRounds > 0 && { kind: 'model', text: `${counted(toolRounds, 'round')} of tools` },
    parts && { kind: 'parts', text: `${parts.sent} of ${parts.total} parts delivered` },
  );
}

const SHOWN_MAX = 50;
/** Calls of the model stand between them. */
const LOOKED_AT_MAX = 5_000;

/** The newest steps by which a request was made to fit, or to be accepted, newest first. */
export const showRecoveries: ReadReport = async (at) => {
  const isStep = ({ event }: StoredEvent) => !event.startsWith('model.');
  const all = await Promise.all(
    shardsOf(at).map((keys) => matching(eventsIn(at.redis, keys).newest(LOOKED_AT_MAX), isStep, SHOWN_MAX)),
  );
  const steps = all
    .flat()
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, SHOWN_MAX);
  const rows = steps.map(({ atMs, chat, entry, event, traceId: _, ...about }) => [
    { atMs },
    event,
    detailsOf(about),
    chatName(chat),
    messageName(entry),
  ]);
  const title = 'Requests that did not fit or were refused, and what was done';
  const columns = ['When', 'Step', 'Details', 'Chat', 'Message'];
  const sections = [tableSection(title, columns, rows, 'None on record.')];
  return { report: { title: 'Recoveries', nowMs: Date.now(), sections }, json: steps };
};
