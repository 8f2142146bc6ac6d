import { setTimeout as pause } from 'node:timers/promises';
import { fieldOfUpdate, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import type { OutcomeRecord } from '../../shared/state/lane/record-streams.ts';
import { createBookStore } from '../../worker/alerts/book-store.ts';
import { rowOf } from '../../worker/alerts/causes.ts';
import type { Incident } from '../../worker/alerts/incident.ts';
import { deliveredOf, isUpToDate } from '../../worker/alerts/next-sending.ts';
import { ALERT_CHAT } from '../fixture/gateway.ts';
import { settledOutcomes } from '../fixture/ledger.ts';
import type { ClaudeCall } from '../stand-in/claude/reaction.ts';
import type { ShownMessage } from '../stand-in/telegram/chats.ts';
import type { TelegramCall } from '../stand-in/telegram/server.ts';
import type { FaultLog, FaultWindow } from './fault.ts';
import type { Wait } from './hearing.ts';
import { type Asked, FIRST_CHAT, type Traffic } from './traffic.ts';
import type { ChaosWorld } from './world.ts';

/** A line of the gateway's own ledger, as far as it is judged. */
export type LedgerLine = Pick<OutcomeRecord, 'reason' | 'traceId' | 'delivery'> & { entry: string; outcome: string };

/** What a cut of Redis's file took away: updates whose acceptance is gone, and updates whose outcome is. */
export interface Cut {
  accepts: ReadonlySet<number>;
  outcomes: ReadonlySet<number>;
}

/** A time in which nothing was to be sent. */
export interface Quiet {
  fromMs: number;
  toMs: number;
}

/** All that a run is judged by. The stand-ins' ledgers come first; Redis only says which entry an update became. */
export interface Evidence {
  asked: readonly Asked[];
  confirmedUpTo: number;
  calls: readonly ClaudeCall[];
  /** What stands in each chat at the end. */
  shown: ReadonlyMap<number, readonly ShownMessage[]>;
  telegramCalls: readonly TelegramCall[];
  /** What the operator was told, but of processes that crashed. */
  alerts: readonly string[];
  /** What the operator was told of those. */
  uncleanEnds: readonly string[];
  ledger: readonly LedgerLine[];
  entryOf: ReadonlyMap<number, string>;
  /** What is still at work in Redis although all is done. */
  left: readonly string[];
  faults: readonly FaultWindow[];
  cut: Cut;
  /** What had to come back in time after a fault. */
  waits: readonly Wait[];
  /** Times in which the gateways knew that Telegram was away. */
  quiet: readonly Quiet[];
  /** How long it took from the end of the last fault until all was settled; undefined when it was not in time. */
  drainMs: number | undefined;
}

/** How the alert of a process that was killed begins, and the title of its incident. */
export const UNCLEAN_END = /crashed or was killed/;

/** Refusals, behind their methods, that can only be found out by trying. */
export const TRIED = /message is not modified|^answerGuestQuery: .*query is too old/;

/** Which entry each update became, as Redis remembers it. */
export async function entriesOf(world: ChaosWorld, asked: readonly Asked[]): Promise<Map<number, string>> {
  const { peek, keys, telegram } = world;
  if (asked.length === 0) return new Map();
  const entryOf = (updateId: number) =>
    peek.hget(keys.updates(telegram.botId, updateId), String(fieldOfUpdate(updateId)));
  const found = await Promise.all(asked.map(({ updateId }) => entryOf(updateId)));
  const pairs = asked.map(({ updateId }, index): [number, string | null] => [updateId, found[index] ?? null]);
  return new Map(pairs.filter((pair): pair is [number, string] => pair[1] !== null));
}

/** What is at work in Redis: nothing, when every message is settled. */
export async function workLeft(world: ChaosWorld): Promise<string[]> {
  const { peek, keys } = world;
  const queue = `${keys.queuePrefix}:${TURNS_QUEUE}`;
  const [inbound, lanes, active, wait, prioritized, delayed, alerts, undelivered, lists] = await Promise.all([
    peek.xlen(keys.inbound),
    peek.scard(keys.lanes),
    peek.llen(`${queue}:active`),
    peek.llen(`${queue}:wait`),
    peek.zcard(`${queue}:prioritized`),
    peek.zcard(`${queue}:delayed`),
    peek.xlen(keys.alerts),
    undeliveredIn(world),
    peek.keys(`${keys.lanePrefix}*`),
  ]);
  const counts = {
    'entries of the stream': inbound,
    lanes,
    'lane lists': lists.length,
    'active jobs': active,
    'waiting jobs': wait + prioritized,
    'delayed jobs': delayed,
    alerts,
    'incidents that no channel has': undelivered,
  };
  return Object.entries(counts).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : []));
}

/** Incidents of which a channel has not the newest stage, or the chat not each occurrence. */
async function undeliveredIn({ peek }: ChaosWorld): Promise<number> {
  const stored = await createBookStore(peek).read();
  const isMissing = (incident: Incident) => {
    // A mutant takes incidents of another version for ours.
    if (rowOf(incident.cause) === undefined) return false;
    const { lines, stage } = deliveredOf(incident, stored.delivered);
    return !isUpToDate(incident, stored) || (stage > 0 && lines < incident.occurrences.length);
  };
  return [...stored.book.values()].filter(isMissing).length;
}

const NEEDLESS_JOB_MS = 2_000;
const LOOK_MS = 50;

/**
 * What is still at work; of jobs those that stay. The reconciler may add a job for a message that is settled at that moment,
 * and a worker drops it.
 */
async function workThatStays(world: ChaosWorld): Promise<string[]> {
  const isOfJobs = (what: string) => what.endsWith(' jobs');
  const left = await workLeft(world);
  const deadlineMs = Date.now() + NEEDLESS_JOB_MS;
  let later = left;
  while (later.some(isOfJobs) && Date.now() < deadlineMs) {
    await pause(LOOK_MS);
    later = await workLeft(world);
  }
  return [...left.filter((what) => !isOfJobs(what)), ...later.filter(isOfJobs)];
}

/** Collects what a run left behind, once it is over. */
export async function collect(
  world: ChaosWorld,
  traffic: Traffic,
  faults: FaultLog,
  outcome: { cut: Cut; waits: readonly Wait[]; quiet: readonly Quiet[]; drainMs: number | undefined },
): Promise<Evidence> {
  const chats = [...new Set(traffic.asked.map(({ chatId }) => chatId))].filter((chat) => chat >= FIRST_CHAT);
  const [ledger, entryOf, left] = await Promise.all([
    settledOutcomes(world),
    entriesOf(world, traffic.asked),
    workThatStays(world),
  ]);
  const told = world.telegram.shown(ALERT_CHAT).map(({ text }) => text);
  return {
    asked: traffic.asked,
    confirmedUpTo: world.telegram.confirmedUpTo(),
    calls: world.claude.calls,
    shown: new Map(chats.map((chat) => [chat, world.telegram.shown(chat)])),
    telegramCalls: world.telegram.calls,
    alerts: told.filter((text) => !UNCLEAN_END.test(text)),
    uncleanEnds: told.filter((text) => UNCLEAN_END.test(text)),
    ledger,
    entryOf,
    left,
    faults: faults.windows,
    ...outcome,
  };
}
