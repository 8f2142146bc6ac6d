import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { decodeMessage } from '../../shared/flow/message.ts';
import { type ChatKey, chatOf, type EntryId, isDeskLane, type Keys } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { fieldOfLetter, letterOfMessage } from '../../shared/state/lane/dead-letters.ts';
import { eventsIn, type KeptEvent, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import { EVERY_CHAT, type Pause, pauseOfChat, readPauses } from '../../shared/state/lane/stops.ts';
import { type InboundEntry, readInbound, storedMessage } from '../../shared/state/message/inbound.ts';
import { readTurn, type TurnSummary } from '../../shared/state/turn/summary.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import { locateMessage, type MessageLocation, type MessageName } from './message-location.ts';
import {
  type Act,
  type Action,
  chatName,
  type Report,
  type ReportSource,
  type Section,
  type Verdict,
} from './report.ts';
import { type Step, timelineOf } from './timeline.ts';
import { because, inWords, whereOf } from './words.ts';

/** A step that an operator can take about a message. */
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
  place?: MessageLocation;
  /** Why its chat rests, if it does. */
  pause?: Pause;
  turn?: TurnSummary;
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
  // Commands that act at once delay nobody.
  const untilMs = turn?.firstBegunMs ?? outcome?.settledAtMs ?? Number.POSITIVE_INFINITY;
  const before = ledger.others.filter((each) => each.chat === chat && each.settledAtMs <= untilMs);
  const acceptedMs = msOf(entry);
  const mayRest = inbound !== undefined && !isDeskLane(inbound.lane);
  const pause = mayRest ? pauseOfChat(await readPauses(redis, keys), chat) : undefined;
  const place = inbound && (await locateMessage(redis, keys, { entry, lane: inbound.lane }, turn));
  return {
    ...{ entry, chat, traceId: inbound?.traceId ?? outcome?.traceId ?? '', acceptedMs, ...aboutOf(inbound, outcome) },
    timeline: timelineOf({ acceptedMs, inbound, turn, events, before, outcome }),
    ...(outcome && { outcome }),
    ...(letter !== undefined && { letter }),
    ...(place && { place }),
    ...(pause && { pause }),
    ...(turn && { turn }),
    can: remediesOf(place, pause, letter),
  };
}

/** The mark of the last part is spared: the outcome says that it was delivered. */
function delivered(turn: TurnSummary, outcome: OutcomeRecord | undefined): TurnSummary {
  if (turn.parts === undefined || outcome === undefined || outcome.outcome === 'undeliverable') return turn;
  return { ...turn, parts: { ...turn.parts, sent: turn.parts.total } };
}

function aboutOf(inbound: InboundEntry | undefined, outcome: OutcomeRecord | undefined) {
  const sentAtMs = inbound?.sentAtMs ?? outcome?.sentAtMs;
  return { ...(sentAtMs !== undefined && { sentAtMs }), ...(inbound?.kind !== undefined && { kind: inbound.kind }) };
}

/** The steps that make sense, the likeliest first. Pure. */
function remediesOf(place: MessageLocation | undefined, pause: Pause | undefined, letter?: string): Remedy[] {
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
  for await (const record of outcomesIn(redis, keys).since(msOf(entry))) {
    if (record.entry === entry) return { others, outcome: record };
    if (others.length < BEFORE_MAX && msOf(record.entry) <= msOf(entry)) others.push(record);
  }
  return { others, outcome: undefined };
}

/** Messages that were accepted before it and ended after that: as many as all lanes of a shard may hold. */
const BEFORE_MAX = 10_000;

async function readEventsOf(redis: ReportSource['redis'], keys: Keys, entry: EntryId): Promise<KeptEvent[]> {
  const events: KeptEvent[] = [];
  for await (const event of eventsIn(redis, keys).since(msOf(entry))) if (event.entry === entry) events.push(event);
  return events;
}

/**
 * The words of a message that has no outcome yet, or whose dead letter is kept; `undefined` where they are no longer
 * stored. For operators who may read content: nobody else may call this. Contract: as at `ReportSource`.
 */
export async function readContent(
  { redis }: Pick<ReportSource, 'redis'>,
  { keys, entry }: Pick<MessageName, 'keys' | 'entry'>,
  letter: string | undefined,
): Promise<string | undefined> {
  const pending = await storedMessage(redis, keys, entry);
  const stored = pending ?? (letter === undefined ? undefined : await fieldOfLetter(redis, keys, letter, 'message'));
  const decoded = decodeMessage(stored);
  return decoded.ok ? decoded.value.content.text : stored;
}

/** The optional parts of a report on a message. */
export interface MessageExtras {
  /** The words of the message; `hidden` where the reader may not see them, `undefined` where they are not kept. */
  content?: { text: string | 'hidden' | undefined };
  /** Its shard, where there are several: names begin with it. */
  shard?: number;
}

/** The life of a message: where it is now, its timeline, and what can be done. Pure. */
export function messageReport(report: MessageReport, nowMs: number, { content, shard }: MessageExtras = {}): Report {
  const { entry, chat, traceId, kind, timeline, acceptedMs, turn, outcome } = report;
  const recoveries = turn?.recoveries ?? outcome?.recoveries ?? 0;
  return {
    title: `Message ${entry}`,
    nowMs,
    verdict: verdictOf(report, nowMs),
    sections: [
      {
        facts: [
          { name: 'Chat', value: chatName(chat), ...(kind !== undefined && { note: kind }) },
          { name: 'Accepted', value: { atMs: acceptedMs }, note: utcTime(acceptedMs) },
          {
            name: 'Attempt',
            value: turn?.attempt ?? outcome?.attempts ?? 0,
            note: counted(recoveries, 'recovery', 'recoveries'),
          },
        ],
      },
      { title: 'Timeline', timeline: { fromMs: acceptedMs, steps: timeline } },
      ...(content === undefined ? [] : [contentSection(content)]),
      { intro: `Trace ${traceId || 'none'}` },
    ],
    actions: report.can.map((remedy) => actionOf(remedy, report, shard === undefined ? '' : `${shard}/`)),
  };
}

/** The exact command of a remedy, and the button for it; names begin with the shard where there are several. */
function actionOf(remedy: Remedy, { entry, chat, letter, pause }: MessageReport, shard: string): Action {
  const name = `${shard}${entry}`;
  const letterName = `${shard}${letter ?? entry}`;
  switch (remedy) {
    case 'cancel':
      return { command: `cancel ${entry}`, act: { verb: 'cancel', target: name, label: 'Cancel' } };
    case 'retry':
      if (letter !== undefined) return { command: `retry ${entry}`, letter: letterName };
      return { command: `retry ${entry}`, act: { verb: 'retry', target: name, label: 'Try now' } };
    case 'resume':
      return resumeAction(pause?.chat === EVERY_CHAT ? EVERY_CHAT : chat);
    case 'show chat':
      return { command: `chat ${chat}` };
    case 'show letter':
      return { command: `dead show ${letterName}` };
  }
}

/** The end of a pause, of a chat or of every chat. */
export function resumeOf(chat: ChatKey | typeof EVERY_CHAT): Act {
  return { verb: 'resume', target: chat, label: chat === EVERY_CHAT ? 'Resume all' : 'Resume' };
}

/** The same as an action, with its command. */
export function resumeAction(chat: ChatKey | typeof EVERY_CHAT): Action {
  return { command: chat === EVERY_CHAT ? 'resume' : `resume ${chat}`, act: resumeOf(chat) };
}

function verdictOf({ place, outcome, pause, letter }: MessageReport, nowMs: number): Verdict {
  if (outcome !== undefined) {
    const tone = outcome.outcome === 'failed' || outcome.outcome === 'undeliverable' ? 'bad' : 'good';
    const kept = letter === undefined ? '' : `; kept as dead letter ${letter}`;
    return {
      tone,
      reason: ['Ended ', { atMs: outcome.settledAtMs }, `: ${outcome.outcome}${because(outcome.reason)}${kept}`],
    };
  }
  const paused = pause === undefined ? '' : `; PAUSED by ${pause.by} for ${inWords(nowMs - pause.sinceMs)}`;
  const reason = place === undefined ? 'Where it is, is not known.' : `Now: ${whereOf(place, nowMs)}${paused}`;
  return { tone: 'plain', reason };
}

function contentSection({ text }: NonNullable<MessageExtras['content']>): Section {
  if (text === 'hidden') return { title: 'Content', empty: 'Not shown: LOG_CONTENT is off.' };
  return text === undefined ? { title: 'Content', empty: 'No longer stored.' } : { title: 'Content', quote: text };
}
