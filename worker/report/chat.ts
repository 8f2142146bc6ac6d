import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { type ChatKey, type EntryId, keysOf, parseChatKey, type SessionId, shardOf } from '../../shared/redis/keys.ts';
import { readChatFields } from '../../shared/state/chat/chat.ts';
import { letterRecordsIn, outcomesIn } from '../../shared/state/lane/record-streams.ts';
import { type Pause, pauseOfChat, readPauses } from '../../shared/state/lane/stops.ts';
import { readHead, readWaiting } from '../../shared/state/lane/waiting.ts';
import { readInbound } from '../../shared/state/message/inbound.ts';
import { serverTimeMs } from '../../shared/state/process/process.ts';
import { createReminderBook } from '../../shared/state/reminder/book.ts';
import { createUsageBook, type Used } from '../../shared/state/spending/usage-book.ts';
import { readTurn } from '../../shared/state/turn/summary.ts';
import { createChatState, type SessionState } from '../command/chat-state.ts';
import type { OutcomeRecord } from '../lane/lane.ts';
import { resumeAction } from './message.ts';
import { locateMessage, type MessageLocation } from './message-location.ts';
import {
  type Act,
  type Action,
  chatName,
  listSection,
  messageName,
  type Piece,
  type Report,
  type ReportSource,
  type Section,
  type Verdict,
} from './report.ts';
import { sessionName } from './session.ts';
import { inWords, money, thousands, whereOf } from './words.ts';

/** The state of one chat. Times are ms since the epoch. */
export interface ChatReport {
  chat: ChatKey;
  shard: number;
  /** How many messages stand in its lanes, the one that is being answered and commands included. */
  waiting: number;
  /** The message that is first, and where it is. */
  head?: { entry: EntryId; acceptedMs: number; place: MessageLocation };
  /** Absent when nothing was ever said. */
  session?: SessionState & { id: SessionId };
  /** The newest first. */
  outcomes: OutcomeRecord[];
  /** Recoveries of the messages in `outcomes`. */
  recoveries: number;
  /** Of this day, of UTC. */
  today: Used;
  deadLetters: number;
  reminders: number;
  pause?: Pause;
  /** The other id of a group that became a supergroup. */
  movedTo?: ChatKey;
  movedFrom?: ChatKey;
}

const OUTCOMES_SHOWN = 10;
/** How far back the ledger is read: a quiet chat of a busy installation has no newer outcomes. */
const LOOKED_AT_MAX = 50_000;

/** Reads the state of a chat; `undefined` when nothing is known of it. */
export async function readChat({ redis, shards }: ReportSource, chat: ChatKey): Promise<ChatReport | undefined> {
  const shard = shardOf(parseChatKey(chat)?.chatId ?? 0, shards);
  const keys = keysOf(shard);
  const nowMs = await serverTimeMs(redis, keys.lanes);
  const stored = await readChatFields(redis, keys, chat);
  const id = stored?.session;
  const [waiting, head, outcomes, today, deadLetters, reminders, pauses, session] = await Promise.all([
    readWaiting(redis, keys, chat),
    readFirst(redis, keys, chat),
    newestOf(redis, keys, chat),
    createUsageBook(redis, keys).ofDays(stored?.movedTo ?? chat, 1, nowMs),
    countLetters(redis, keys, chat),
    createReminderBook(redis, keys).of(chat),
    readPauses(redis, keys),
    id && createChatState(redis, keys).session(id),
  ]);
  const isKnown = session || head || outcomes.length > 0 || stored !== undefined || deadLetters > 0;
  if (!isKnown) return undefined;
  const pause = pauseOfChat(pauses, chat);
  return {
    ...{ chat, shard, waiting, ...(head && { head }), ...(id && session && { session: { id, ...session } }), outcomes },
    recoveries: outcomes.reduce((sum, { recoveries: each }) => sum + each, 0),
    ...{ today: today[0] ?? NOTHING_USED, deadLetters, reminders: reminders.length, ...(pause && { pause }) },
    ...(stored?.movedTo !== undefined && { movedTo: stored.movedTo }),
    ...(stored?.movedFrom !== undefined && { movedFrom: stored.movedFrom }),
  };
}

const NOTHING_USED: Used = { calls: 0, inputTokens: 0, outputTokens: 0, dollars: 0, unpricedCalls: 0, shares: [] };

type Redis = ReportSource['redis'];
type ShardKeys = ReturnType<typeof keysOf>;

async function readFirst(redis: Redis, keys: ShardKeys, chat: ChatKey): Promise<ChatReport['head']> {
  const entry = await readHead(redis, keys, chat);
  const inbound = entry === undefined ? undefined : await readInbound(redis, keys, entry);
  if (!inbound) return undefined;
  const place = await locateMessage(redis, keys, inbound, await readTurn(redis, keys, inbound.entry));
  return { entry: inbound.entry, acceptedMs: inbound.acceptedMs, place };
}

async function newestOf(redis: Redis, keys: ShardKeys, chat: ChatKey): Promise<OutcomeRecord[]> {
  const found: OutcomeRecord[] = [];
  for await (const record of outcomesIn(redis, keys).newest(LOOKED_AT_MAX)) {
    if (record.chat === chat) found.push(record);
    if (found.length === OUTCOMES_SHOWN) break;
  }
  return found;
}

async function countLetters(redis: Redis, keys: ShardKeys, chat: ChatKey): Promise<number> {
  let letters = 0;
  for await (const record of letterRecordsIn(redis, keys).newest(LOOKED_AT_MAX)) if (record.chat === chat) letters += 1;
  return letters;
}

/** The state of one chat, and what can be done. Pure. */
export function chatReport(report: ChatReport, nowMs: number): Report {
  const { chat, shard, waiting, outcomes, recoveries, today, deadLetters, reminders } = report;
  const tokens = `${thousands(today.inputTokens)} tokens in, ${thousands(today.outputTokens)} out`;
  const unpriced = today.unpricedCalls > 0 ? `, ${today.unpricedCalls} without a price` : '';
  const rows = outcomes.map(({ entry, outcome, reason, attempts, settledAtMs }) => [
    messageName(entry),
    outcome,
    reason ?? '–',
    attempts,
    { atMs: settledAtMs },
  ]);
  const table = { columns: ['Message', 'Outcome', 'Reason', 'Attempts', 'Ended'], rows };
  return {
    title: [`Chat ${chat}, shard ${shard}`, ...movedWords(report)],
    nowMs,
    verdict: laneVerdict(report, nowMs),
    sections: [
      {
        facts: [
          { name: 'Waiting', value: waiting, note: 'including the one being answered' },
          { name: 'Today', value: money(today.dollars), note: `${counted(today.calls, 'call')}${unpriced}, ${tokens}` },
          {
            name: 'Dead letters',
            value: { of: 'letters', id: chat, text: deadLetters },
            note: `${counted(recoveries, 'recovery', 'recoveries')} recently`,
          },
          { name: 'Reminders', value: reminders, note: 'to come' },
        ],
      },
      { title: 'Session', ...sessionWords(report) },
      listSection('Newest outcomes', { table }, 'None recently.'),
    ],
    actions: actionsOf(report),
  };
}

function movedWords({ movedTo, movedFrom }: ChatReport): Piece[] {
  if (movedTo !== undefined) return [', became the supergroup ', chatName(movedTo)];
  return movedFrom === undefined ? [] : [', was the group ', chatName(movedFrom)];
}

function laneVerdict({ head, pause }: ChatReport, nowMs: number): Verdict {
  const why = pause?.why ? `: ${pause.why}` : '';
  const more = pause === undefined ? [] : [`PAUSED by ${pause.by} for ${inWords(nowMs - pause.sinceMs)}${why}`];
  if (head === undefined) return { tone: 'plain', reason: 'No message is waiting.', more };
  const accepted: Piece[] = [', accepted ', { atMs: head.acceptedMs }];
  return {
    tone: 'plain',
    reason: ['First: ', messageName(head.entry), ...accepted, `: ${whereOf(head.place, nowMs)}`],
    more,
  };
}

function sessionWords({ chat, session }: ChatReport): Pick<Section, 'empty' | 'intro'> {
  if (session === undefined) return { empty: 'None yet.' };
  const { id, messages, bytes, tokens, sinceMs, compactedMs } = session;
  const since = sinceMs === undefined ? '' : `, since ${utcTime(sinceMs)}`;
  const compacted = compactedMs === undefined ? 'never compacted' : `compacted ${utcTime(compactedMs)}`;
  const size = `${counted(messages, 'message')}, ${(bytes / 1e6).toFixed(2)} MB, ${thousands(tokens)} tokens`;
  return { intro: [sessionName(chat, id), `: ${size}${since}, ${compacted}`] };
}

function actionsOf({ chat, head, pause, deadLetters }: ChatReport): Action[] {
  const cancel: Act = { verb: 'cancel', target: chat, label: 'Cancel what waits' };
  const rest: Action = { command: `pause ${chat}`, act: { verb: 'pause', target: chat, label: 'Pause' } };
  return [
    ...(head === undefined ? [] : [{ command: `message ${head.entry}` }, { command: `cancel ${chat}`, act: cancel }]),
    pause === undefined ? rest : resumeAction(pause.chat),
    ...(deadLetters > 0 ? [{ command: `dead list --chat ${chat}` }] : []),
    { command: `session show ${chat}` },
  ];
}
