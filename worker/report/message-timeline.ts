import { counted } from '../../shared/base/text.ts';
import { eventsIn, type OutcomeRecord, type StoredEvent } from '../../shared/state/lane/record-streams.ts';
import type { InboundEntry } from '../../shared/state/message/inbound.ts';
import type { EndedAttempt } from '../../shared/state/turn/aspects.ts';
import type { TurnSummary } from '../../shared/state/turn/summary.ts';
import { chatName, compact, findMatching, messageName, type ReadReport, shardsOf, tableSection } from './report.ts';

interface Step {
  /** Ms since the epoch; absent if the time is unknown. */
  atMs?: number;
  kind: 'accepted' | 'waited' | 'begun' | 'attempt' | 'crash' | 'model' | 'recovery' | 'parts' | 'outcome';
  text: string;
}

interface Trail {
  acceptedMs: number;
  inbound: InboundEntry | undefined;
  turn: TurnSummary | undefined;
  /** Audit events of this message, oldest first. */
  events: readonly StoredEvent[];
  /** Outcomes of earlier messages of the same chat, for which this message had to wait. */
  predecessors: readonly OutcomeRecord[];
  outcome: OutcomeRecord | undefined;
}

/** The steps of a message in chronological order; steps without a time come last. Pure. */
export function timelineOf({ acceptedMs, inbound, turn, events, predecessors, outcome }: Trail): Step[] {
  const replay = inbound?.replayOf === undefined ? '' : `; replayed after it had failed as ${inbound.replayOf}`;
  const steps: Step[] = [
    { atMs: acceptedMs, kind: 'accepted', text: `accepted${replay}` },
    ...predecessors.map(waitStep),
    ...compact<Step>(
      turn?.firstBegunMs !== undefined && { atMs: turn.firstBegunMs, kind: 'begun', text: 'the first attempt began' },
    ),
    ...(turn?.ended.map(attemptStep) ?? []),
    ...events.map(eventStep),
    ...(outcome ? [outcomeStep(outcome)] : []),
  ];
  const stepsInOrder = steps.toSorted((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0));
  return [...stepsInOrder, ...(turn ? stepsWithoutTime(turn) : [])];
}

function waitStep({ entry, settledAtMs, outcome }: OutcomeRecord): Step {
  return { atMs: settledAtMs, kind: 'waited', text: `until then it waited behind ${entry}, which ended as ${outcome}` };
}

function attemptStep({ atMs, attempt, reason, delayMs }: EndedAttempt): Step {
  const then = delayMs === undefined ? 'it went on at once' : `put off for ${(delayMs / 1000).toFixed(1)} s`;
  return { atMs, kind: 'attempt', text: `attempt ${attempt} ended: ${reason}; ${then}` };
}

function eventStep(record: StoredEvent): Step {
  const { event, entry, chat, traceId, atMs, ...about } = record;
  const kind = event.startsWith('model.') ? 'model' : 'recovery';
  return { atMs, kind, text: `${event} ${detailsOf(about)}`.trim() };
}

/** The fields of an event in words. Events hold numbers and short codes, but no user's text. */
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

function stepsWithoutTime({ crashes, toolRounds, parts }: TurnSummary): Step[] {
  const crashText = `its process ended during an attempt, ${counted(crashes, 'time')}`;
  return compact<Step>(
    crashes > 0 && { kind: 'crash', text: crashText },
    toolRounds > 0 && { kind: 'model', text: `${counted(toolRounds, 'round')} of tools` },
    parts && { kind: 'parts', text: `${parts.sent} of ${parts.total} parts delivered` },
  );
}

const SHOWN_MAX = 50;
/** The maximum number of events to search in a shard: many events of model calls may lie between two steps of recovery. */
const EVENTS_SEARCHED_MAX = 5_000;

/** The report `recoveries`: the newest steps of recovery, newest first. */
export const showRecoveries: ReadReport = async (at) => {
  const isStep = ({ event }: StoredEvent) => !event.startsWith('model.');
  const all = await Promise.all(
    shardsOf(at).map((keys) => findMatching(eventsIn(at.redis, keys).newest(EVENTS_SEARCHED_MAX), isStep, SHOWN_MAX)),
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
