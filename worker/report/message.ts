import { type ChatKey, chatOf, type EntryId, type Keys } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream-id.ts';
import { EVERY_CHAT, type Pause, readPauses } from '../../shared/state/lane/pauses.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import { letterOfMessage } from './dead-letters.ts';
import { type InboundEntry, readInbound } from './inbound.ts';
import type { MessageName } from './message-name.ts';
import { type Place, readPlace } from './place.ts';
import { recordsSince } from './records.ts';
import type { ReportSource } from './source.ts';
import { type KeptEvent, type Step, timelineOf } from './timeline.ts';
import { readTurn, type Turn } from './turn.ts';

/** What an operator can do about a message. */
export type Remedy = 'cancel' | 'retry' | 'resume' | 'show chat' | 'show letter';

/** The life of one message, and where it is now. Times are ms since the epoch. */
export interface MessageReport {
  entry: EntryId;
  chat: ChatKey;
  traceId: string;
  acceptedMs: number;
  sentAtMs?: number;
  /** `text`, `file`, `reminder`, …; known while it has no outcome. */
  kind?: string;
  timeline: Step[];
  /** How it ended; absent while it has not. */
  outcome?: OutcomeRecord;
  /** The id of its dead letter, while that is kept. */
  letter?: string;
  /** Where it is; absent when it has ended. */
  place?: Place;
  /** Why its chat rests, if it does. */
  pause?: Pause;
  turn?: Turn;
  can: Remedy[];
}

/** Reads the life of a message; `undefined` when nothing is kept of it any more. */
export async function readMessage(
  { redis }: Pick<ReportSource, 'redis'>,
  { keys, entry }: MessageName,
): Promise<MessageReport | undefined> {
  const [inbound, kept, ledger, events, letter] = await Promise.all([
    readInbound(redis, keys, entry),
    readTurn(redis, keys, entry),
    readLedgerOf(redis, keys, entry),
    readEventsOf(redis, keys, entry),
    letterOfMessage(redis, keys, entry),
  ]);
  const { outcome } = ledger;
  const turn = kept && delivered(kept, outcome);
  const chat = inbound ? chatOf(inbound.lane) : outcome?.chat;
  if (chat === undefined) return undefined;
  const before = waitedBehind(ledger.others, chat, turn, outcome);
  const acceptedMs = msOf(entry);
  const pauses = inbound ? await readPauses(redis, keys) : [];
  const pause = pauses.find((each) => each.chat === EVERY_CHAT || each.chat === chat);
  const place = inbound && (await readPlace(redis, keys, { entry, lane: inbound.lane }, turn));
  return {
    ...{ entry, chat, traceId: inbound?.traceId ?? outcome?.traceId ?? '', acceptedMs, ...aboutOf(inbound, outcome) },
    timeline: timelineOf({ acceptedMs, inbound, turn, events, before, outcome }),
    ...(outcome && { outcome }),
    ...(letter !== undefined && { letter }),
    ...(place && { place }),
    ...(pause && { pause }),
    ...(turn && { turn }),
    can: remediesOf({ place, pause, letter }),
  };
}

/** The mark of the last part is spared: the outcome says that it was delivered. */
function delivered(turn: Turn, outcome: OutcomeRecord | undefined): Turn {
  if (turn.parts === undefined || outcome === undefined || outcome.outcome === 'undeliverable') return turn;
  return { ...turn, parts: { ...turn.parts, sent: turn.parts.total } };
}

function aboutOf(inbound: InboundEntry | undefined, outcome: OutcomeRecord | undefined) {
  const sentAtMs = inbound?.sentAtMs ?? outcome?.sentAtMs;
  return { ...(sentAtMs !== undefined && { sentAtMs }), ...(inbound?.kind !== undefined && { kind: inbound.kind }) };
}

/** What ended in its chat between its acceptance and its own beginning. Commands that act at once are in no one's way. */
function waitedBehind(
  others: readonly OutcomeRecord[],
  chat: ChatKey,
  turn: Turn | undefined,
  outcome: OutcomeRecord | undefined,
): OutcomeRecord[] {
  const untilMs = turn?.firstBegunMs ?? outcome?.settledAtMs ?? Number.POSITIVE_INFINITY;
  return others.filter((each) => each.chat === chat && each.settledAtMs <= untilMs);
}

/** What decides what can be done about a message. */
interface Standing {
  place: Place | undefined;
  pause: Pause | undefined;
  letter: string | undefined;
}

/** What can be done, the likeliest first. Pure. */
function remediesOf({ place, pause, letter }: Standing): Remedy[] {
  if (letter !== undefined) return ['retry', 'show letter', 'show chat'];
  if (place === undefined) return ['show chat'];
  return [
    ...(pause ? ['resume' as const] : []),
    ...(place.at === 'delayed' ? ['retry' as const] : []),
    'cancel',
    'show chat',
  ];
}

/** The outcome of a message, and what else of its shard ended since it was accepted with an older entry. */
async function readLedgerOf(redis: ReportSource['redis'], keys: Keys, entry: EntryId) {
  const others: OutcomeRecord[] = [];
  for await (const record of recordsSince<OutcomeRecord>(redis, keys.outcomes, msOf(entry))) {
    if (record.entry === entry) return { others, outcome: record };
    if (others.length < BEFORE_MAX && msOf(record.entry) <= msOf(entry)) others.push(record);
  }
  return { others, outcome: undefined };
}

/** Messages that were accepted before it and ended after that: as many as all lanes of a shard may hold. */
const BEFORE_MAX = 10_000;

async function readEventsOf(redis: ReportSource['redis'], keys: Keys, entry: EntryId): Promise<KeptEvent[]> {
  const events: KeptEvent[] = [];
  for await (const event of recordsSince<KeptEvent>(redis, keys.events, msOf(entry)))
    if (event.entry === entry) events.push(event);
  return events;
}
