import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { chatOf, type EntryId, isDeskLane, type Keys } from '../../shared/redis/keys.ts';
import { msOf } from '../../shared/redis/stream.ts';
import { fieldOfLetter, letterOfMessage } from '../../shared/state/lane/dead-letters.ts';
import { eventsIn, type OutcomeRecord, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import { EVERY_CHAT, pauseOfChat, readPauses } from '../../shared/state/lane/stops.ts';
import { readInbound, storedMessage } from '../../shared/state/message/inbound.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { readTurn, type TurnSummary } from '../../shared/state/turn/summary.ts';
import { contentSection, textOf } from './letters.ts';
import { locateMessage, type MessageName, resolveMessage, unknownMessage } from './message-location.ts';
import { timelineOf } from './message-timeline.ts';
import {
  type Action,
  chatName,
  fact,
  findMatching,
  type ReadReport,
  type ReportSource,
  resumeAction,
  type Section,
  type Verdict,
} from './report.ts';
import { because, pausedWords, traceText, whereOf } from './words.ts';

/** The timeline and the present place of one message. Times are ms since the epoch. */
export type MessageReport = NonNullable<Awaited<ReturnType<typeof readMessage>>>;

/** Reads the timeline and the place of a message; `undefined` if Redis holds neither the message nor its outcome. */
export async function readMessage({ redis }: Pick<ReportSource, 'redis'>, { keys, entry }: MessageName) {
  const [inbound, storedTurn, ledger, events, letter] = await Promise.all([
    readInbound(redis, keys, entry),
    readTurn(redis, keys, entry),
    readLedgerOf(redis, keys, entry),
    findMatching(eventsIn(redis, keys).since(msOf(entry)), (event) => event.entry === entry),
    letterOfMessage(redis, keys, entry),
  ]);
  const { outcome } = ledger;
  const turn = storedTurn && withConfirmedParts(storedTurn, outcome);
  const chat = inbound ? chatOf(inbound.lane) : outcome?.chat;
  if (chat === undefined) return undefined;
  // Outcomes from after the beginning of the first attempt did not delay the message: a command, for example, may act at once.
  const untilMs = turn?.firstBegunMs ?? outcome?.settledAtMs ?? Number.POSITIVE_INFINITY;
  const predecessors = ledger.others.filter((each) => each.chat === chat && each.settledAtMs <= untilMs);
  const acceptedMs = msOf(entry);
  const canBePaused = inbound !== undefined && !isDeskLane(inbound.lane);
  const pause = canBePaused ? pauseOfChat(await readPauses(redis, keys), chat) : undefined;
  const place = inbound && (await locateMessage(redis, keys, { entry, lane: inbound.lane }, turn));
  return {
    ...{ entry, chat, traceId: inbound?.traceId ?? outcome?.traceId ?? '', acceptedMs },
    // `kind` is unknown once the message has an outcome.
    ...{ sentAtMs: inbound?.sentAtMs ?? outcome?.sentAtMs, kind: inbound?.kind },
    timeline: timelineOf({ acceptedMs, inbound, turn, events, predecessors, outcome }),
    ...{ outcome, letter, place, pause, turn },
  };
}

/** Takes the number of sent parts from the outcome, if stored there: the settle step does not mark the last part as sent. */
function withConfirmedParts(turn: TurnSummary, outcome: OutcomeRecord | undefined): TurnSummary {
  if (turn.parts === undefined || outcome?.delivery === undefined) return turn;
  return { ...turn, parts: { ...turn.parts, sent: outcome.delivery.confirmed } };
}

/** Reads a message's outcome, and the outcomes of older messages of the shard that ended while the message was pending. */
async function readLedgerOf(redis: ReportSource['redis'], keys: Keys, entry: EntryId) {
  const others: OutcomeRecord[] = [];
  for await (const record of outcomesIn(redis, keys).since(msOf(entry))) {
    if (record.entry === entry) return { others, outcome: record };
    if (others.length < OTHERS_MAX && msOf(record.entry) <= msOf(entry)) others.push(record);
  }
  return { others, outcome: undefined };
}

/** The maximum number of older messages to collect: about as many as all lanes of a shard hold. */
const OTHERS_MAX = 10_000;

/** Reads the user's text of a message that is pending or has a dead letter; `undefined` for any other message. */
async function readContent({ redis }: ReportSource, { keys, entry }: MessageName, letter: string | undefined) {
  const pending = await storedMessage(redis, keys, entry);
  return textOf(pending ?? (letter === undefined ? undefined : await fieldOfLetter(redis, keys, letter, 'message')));
}

export const showMessage: ReadReport = async (at, { words: [id = ''], content }) => {
  const name = await resolveMessage(at, id);
  const message = await readMessage(at, name);
  if (message === undefined) throw unknownMessage(id);
  const actions = actionsOf(message, at.shards > 1 ? `${name.shard}/` : '');
  const nowMs = await serverTimeMs(at.redis);
  const hiddenNotice = 'Not shown: LOG_CONTENT is off.';
  const visibleContent = content ? await readContent(at, name, message.letter) : { hiddenNotice };
  const sections = [
    ...sectionsOf(message, at.settings.TRACE_URL_TEMPLATE),
    ...(content === undefined ? [] : [contentSection(visibleContent)]),
  ];
  return {
    report: {
      title: `Message ${message.entry}`,
      nowMs,
      verdict: verdictOf(message, nowMs),
      sections,
      actions: Object.values(actions),
    },
    json: { ...message, can: Object.keys(actions) },
  };
};

function sectionsOf(report: MessageReport, template: string | undefined): Section[] {
  const { chat, traceId, kind, timeline, acceptedMs, turn, outcome } = report;
  const attempt = turn?.attempt ?? outcome?.attempts ?? 0;
  const recoveries = turn?.recoveries ?? outcome?.recoveries ?? 0;
  return [
    {
      facts: [
        fact('Chat', chatName(chat), kind),
        fact('Accepted', { atMs: acceptedMs }, utcTime(acceptedMs)),
        fact('Attempt', attempt, counted(recoveries, 'recovery', 'recoveries')),
      ],
    },
    { title: 'Timeline', timeline: { fromMs: acceptedMs, steps: timeline } },
    { intro: traceText(template, traceId) },
  ];
}

/** The possible actions by name, the likeliest first. `shard` is the prefix of their targets, such as `1/`, or empty. Pure. */
function actionsOf({ entry, chat, letter, place, pause }: MessageReport, shard: string): Record<string, Action> {
  const target = `${shard}${entry}`;
  const [cancel, retry] = [`cancel ${entry}`, `retry ${entry}`];
  const showChat = { 'show chat': { command: `chat ${chat}` } };
  if (letter !== undefined) {
    const name = `${shard}${letter}`;
    return {
      retry: { command: retry, act: { verb: 'replay', target: name, label: 'Put back' } },
      'show letter': { command: `dead show ${name}` },
      ...showChat,
    };
  }
  if (place === undefined) return showChat;
  return {
    ...(pause && { resume: resumeAction(pause.chat === EVERY_CHAT ? EVERY_CHAT : chat) }),
    ...(place.at === 'delayed' && { retry: { command: retry, act: { verb: 'retry', target, label: 'Try now' } } }),
    cancel: { command: cancel, act: { verb: 'cancel', target, label: 'Cancel' } },
    ...showChat,
  };
}

function verdictOf({ place, outcome, pause, letter }: MessageReport, nowMs: number): Verdict {
  if (outcome !== undefined) {
    const tone = outcome.outcome === 'failed' || outcome.outcome === 'undeliverable' ? 'bad' : 'good';
    const letterInWords = letter === undefined ? '' : `; kept as dead letter ${letter}`;
    const how = `: ${outcome.outcome}${because(outcome.reason)}${letterInWords}`;
    return { tone, reason: ['Ended ', { atMs: outcome.settledAtMs }, how] };
  }
  const pauseInWords = pause === undefined ? '' : `; ${pausedWords(pause, nowMs)}`;
  const reason = place === undefined ? 'Its place is unknown.' : `Now: ${whereOf(place, nowMs)}${pauseInWords}`;
  return { tone: 'plain', reason };
}
