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
import { contentSection, wordsOf } from './letters.ts';
import { locateMessage, type MessageName, namedMessage, unknownMessage } from './message-location.ts';
import { timelineOf } from './message-timeline.ts';
import {
  type Action,
  chatName,
  fact,
  matching,
  type ReadReport,
  type ReportSource,
  resumeAction,
  type Section,
  type Verdict,
} from './report.ts';
import { because, pausedWords, traceText, whereOf } from './words.ts';

/** The life of one message, and where it is now. Times are ms since the epoch. */
export type MessageReport = NonNullable<Awaited<ReturnType<typeof readMessage>>>;

/** Reads the life of a message; `undefined` when nothing is kept of it any more. */
export async function readMessage({ redis }: Pick<ReportSource, 'redis'>, { keys, entry }: MessageName) {
  const [inbound, kept, ledger, events, letter] = await Promise.all([
    readInbound(redis, keys, entry),
    readTurn(redis, keys, entry),
    readLedgerOf(redis, keys, entry),
    matching(eventsIn(redis, keys).since(msOf(entry)), (event) => event.entry === entry),
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
    ...{ entry, chat, traceId: inbound?.traceId ?? outcome?.traceId ?? '', acceptedMs },
    // The kind is known while there is no outcome.
    ...{ sentAtMs: inbound?.sentAtMs ?? outcome?.sentAtMs, kind: inbound?.kind },
    timeline: timelineOf({ acceptedMs, inbound, turn, events, before, outcome }),
    ...{ outcome, letter, place, pause, turn },
  };
}

/** The mark of the last part is spared: the outcome says that it was delivered. */
function delivered(turn: TurnSummary, outcome: OutcomeRecord | undefined): TurnSummary {
  if (turn.parts === undefined || outcome === undefined || outcome.outcome === 'undeliverable') return turn;
  return { ...turn, parts: { ...turn.parts, sent: turn.parts.total } };
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

/** The words of a message that has no outcome yet, or whose dead letter is kept. */
async function readContent({ redis }: ReportSource, { keys, entry }: MessageName, letter: string | undefined) {
  const pending = await storedMessage(redis, keys, entry);
  return wordsOf(pending ?? (letter === undefined ? undefined : await fieldOfLetter(redis, keys, letter, 'message')));
}

export const showMessage: ReadReport = async (at, { words: [id = ''], content }) => {
  const name = await namedMessage(at, id);
  const read = await readMessage(at, name);
  if (read === undefined) throw unknownMessage(id);
  const steps = stepsOf(read, at.shards > 1 ? `${name.shard}/` : '');
  const nowMs = await serverTimeMs(at.redis);
  const words = content ? await readContent(at, name, read.letter) : { hidden: 'Not shown: LOG_CONTENT is off.' };
  const sections = [
    ...sectionsOf(read, at.settings.TRACE_URL_TEMPLATE),
    ...(content === undefined ? [] : [contentSection(words)]),
  ];
  return {
    report: {
      title: `Message ${read.entry}`,
      nowMs,
      verdict: verdictOf(read, nowMs),
      sections,
      actions: Object.values(steps),
    },
    json: { ...read, can: Object.keys(steps) },
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

/** The steps that make sense, the likeliest first; their names begin with the shard where there are several. Pure. */
function stepsOf({ entry, chat, letter, place, pause }: MessageReport, shard: string): Record<string, Action> {
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
    const kept = letter === undefined ? '' : `; kept as dead letter ${letter}`;
    const how = `: ${outcome.outcome}${because(outcome.reason)}${kept}`;
    return { tone, reason: ['Ended ', { atMs: outcome.settledAtMs }, how] };
  }
  const paused = pause === undefined ? '' : `; ${pausedWords(pause, nowMs)}`;
  const reason = place === undefined ? 'Where it is, is not known.' : `Now: ${whereOf(place, nowMs)}${paused}`;
  return { tone: 'plain', reason };
}
