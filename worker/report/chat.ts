import { counted, thousands } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { type ChatKey, type Keys, keysOf, parseChatKey, shardOf } from '../../shared/redis/keys.ts';
import { readChatFields } from '../../shared/state/chat/chat.ts';
import { letterRecordsIn, type OutcomeRecord, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import { pauseOfChat, readPauses } from '../../shared/state/lane/stops.ts';
import { readHead, readWaiting } from '../../shared/state/lane/waiting.ts';
import { readInbound } from '../../shared/state/message/inbound.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { createReminderBook } from '../../shared/state/reminder/book.ts';
import { createUsageBook, type DayUsage } from '../../shared/state/spending/usage-book.ts';
import { readTurn } from '../../shared/state/turn/summary.ts';
import { createChatState } from '../command/chat-state.ts';
import { sum } from '../watch/snapshot.ts';
import { locateMessage } from './message-location.ts';
import {
  type Action,
  type ActionButton,
  chatName,
  compact,
  fact,
  findMatching,
  messageName,
  type Name,
  pauseAction,
  type ReadReport,
  type Report,
  type ReportSource,
  resumeAction,
  type Section,
  sessionName,
  tableSection,
  UnknownName,
  type Verdict,
} from './report.ts';
import { money, pausedWords, whereOf } from './words.ts';

type ChatReport = NonNullable<Awaited<ReturnType<typeof readChat>>>;

const OUTCOMES_SHOWN = 10;
/** The maximum number of records to search. In a busy installation, the outcomes of a quiet chat lie far back. */
const RECORDS_SEARCHED_MAX = 50_000;

/** Reads the state of a chat; `undefined` if Redis holds nothing about it. */
export async function readChat({ redis, shards }: ReportSource, chat: ChatKey) {
  const shard = shardOf(parseChatKey(chat)?.chatId ?? 0, shards);
  const keys = keysOf(shard);
  const nowMs = await serverTimeMs(redis, keys.lanes);
  const fields = await readChatFields(redis, keys, chat);
  const { session: id, movedTo, movedFrom } = fields ?? {};
  const isOfChat = (record: OutcomeRecord) => record.chat === chat;
  const [waiting, head, outcomes, [today], letters, reminders, pauses, session] = await Promise.all([
    readWaiting(redis, keys, chat),
    readFirst(redis, keys, chat),
    findMatching(outcomesIn(redis, keys).newest(RECORDS_SEARCHED_MAX), isOfChat, OUTCOMES_SHOWN),
    createUsageBook(redis, keys).ofDays(movedTo ?? chat, 1, nowMs),
    findMatching(letterRecordsIn(redis, keys).newest(RECORDS_SEARCHED_MAX), isOfChat),
    createReminderBook(redis, keys).of(chat),
    readPauses(redis, keys),
    id && createChatState(redis, keys).session(id),
  ]);
  if (!session && !head && outcomes.length === 0 && fields === undefined && letters.length === 0) return undefined;
  return {
    // `waiting` counts all messages in the chat's lanes, including commands and the running message.
    ...{ chat, shard, waiting, head, session: id && session ? { id, ...session } : undefined, outcomes },
    recoveries: sum(outcomes, (outcome) => outcome.recoveries),
    ...{ today: today as DayUsage, deadLetters: letters.length, reminders: reminders.length },
    ...{ pause: pauseOfChat(pauses, chat), movedTo, movedFrom },
  };
}

async function readFirst(redis: ReportSource['redis'], keys: Keys, chat: ChatKey) {
  const entry = await readHead(redis, keys, chat);
  const inbound = entry === undefined ? undefined : await readInbound(redis, keys, entry);
  if (!inbound) return undefined;
  const place = await locateMessage(redis, keys, inbound, await readTurn(redis, keys, inbound.entry));
  return { entry: inbound.entry, acceptedMs: inbound.acceptedMs, place };
}

export const showChat: ReadReport = async (at, { words: [word = ''] }) => {
  const chat = parseChatKey(word)?.chat;
  const state = chat && (await readChat(at, chat));
  if (!state)
    throw new UnknownName(
      `Nothing is known about chat ${chat ?? word}. Name a chat by its number, as in alerts and "npm run cli -- incidents".`,
    );
  return { report: chatReport(state, await serverTimeMs(at.redis)), json: state };
};

function chatReport(report: ChatReport, nowMs: number): Report {
  const { chat, shard, waiting, outcomes, recoveries, today, deadLetters, reminders, movedTo, movedFrom } = report;
  const tokens = `${thousands(today.inputTokens)} tokens in, ${thousands(today.outputTokens)} out`;
  const unpricedInWords = today.unpricedCalls > 0 ? `, ${today.unpricedCalls} without a price` : '';
  const rows = outcomes.map(({ entry, outcome, reason, attempts, settledAtMs }) => [
    messageName(entry),
    outcome,
    reason ?? '–',
    attempts,
    { atMs: settledAtMs },
  ]);
  const letters: Name = { of: 'dead', id: chat, text: deadLetters };
  return {
    title: [
      `Chat ${chat}, shard ${shard}`,
      ...(movedTo === undefined ? [] : [', became the supergroup ', chatName(movedTo)]),
      ...(movedFrom === undefined ? [] : [', was the group ', chatName(movedFrom)]),
    ],
    nowMs,
    verdict: laneVerdict(report, nowMs),
    sections: [
      {
        facts: [
          fact('Waiting', waiting, 'including the one being answered'),
          fact('Today', money(today.dollars), `${counted(today.calls, 'call')}${unpricedInWords}, ${tokens}`),
          fact('Dead letters', letters, `${counted(recoveries, 'recovery', 'recoveries')} recently`),
          fact('Reminders', reminders, 'to come'),
        ],
      },
      { title: 'Session', ...sessionWords(report) },
      tableSection('Newest outcomes', ['Message', 'Outcome', 'Reason', 'Attempts', 'Ended'], rows, 'None recently.'),
    ],
    actions: actionsOf(report),
  };
}

function laneVerdict({ head, pause }: ChatReport, nowMs: number): Verdict {
  const more = pause === undefined ? [] : [pausedWords(pause, nowMs)];
  if (head === undefined) return { tone: 'plain', reason: 'No message is waiting.', more };
  const { entry, acceptedMs, place } = head;
  const where = `: ${whereOf(place, nowMs)}`;
  return { tone: 'plain', reason: ['First: ', messageName(entry), ', accepted ', { atMs: acceptedMs }, where], more };
}

function sessionWords({ chat, session }: ChatReport): Pick<Section, 'empty' | 'intro'> {
  if (session === undefined) return { empty: 'None yet.' };
  const { id, messages, bytes, tokens, sinceMs, compactedMs } = session;
  const since = sinceMs === undefined ? '' : `, since ${utcTime(sinceMs)}`;
  const compaction = compactedMs === undefined ? 'never compacted' : `compacted ${utcTime(compactedMs)}`;
  const size = `${counted(messages, 'message')}, ${(bytes / 1e6).toFixed(2)} MB, ${thousands(tokens)} tokens`;
  return { intro: [sessionName(chat, id), `: ${size}${since}, ${compaction}`] };
}

function actionsOf({ chat, head, pause, deadLetters }: ChatReport): Action[] {
  const cancel: ActionButton = { verb: 'cancel', target: chat, label: 'Cancel what waits' };
  return compact<Action>(
    head !== undefined && { command: `message ${head.entry}` },
    head !== undefined && { command: `cancel ${chat}`, act: cancel },
    pause === undefined ? pauseAction(chat) : resumeAction(pause.chat),
    deadLetters > 0 && { command: `dead list --chat ${chat}` },
    { command: `session show ${chat}` },
  );
}
