import type { Alert } from '../shared/alert.ts';
import type { PollRecord } from '../shared/heartbeat.ts';
import type { ChatKey, EntryId } from '../shared/keys.ts';
import {
  conflictAlert,
  idleAlert,
  memoryAlert,
  noDeliveryAlert,
  noPollAlert,
  resolvedAlert,
  takenWebhookAlert,
  tokenAlert,
  unansweredAlert,
  unsentAlert,
} from './incident.ts';

/** The state of the flow at one moment, by Redis' clock. */
export interface Snapshot {
  nowMs: number;
  shards: ShardSnapshot[];
  /** `undefined` when nothing ever received. */
  poll: PollRecord | undefined;
  memory: { usedBytes: number /** 0 when there is no limit. */; maxBytes: number };
  /** The incidents that are open, with the ms since the epoch at which they were opened. */
  open: ReadonlyMap<string, number>;
}

/** The state of one shard. */
export interface ShardSnapshot {
  shard: number;
  /** The messages that have no outcome yet: how many, and the oldest. */
  unanswered: number;
  oldest?: Unanswered;
  jobsWaiting: number;
  jobsActive: number;
  /** When the oldest alert was queued that is not sent yet. */
  oldestAlertMs?: number;
}

/** A message that has no outcome yet. */
export interface Unanswered {
  entry: EntryId;
  chat: ChatKey;
  traceId: string;
  acceptedMs: number;
}

/** What a rule looks at. */
export interface Watch {
  now: Snapshot;
  /** What the check before this one saw; `undefined` at the first. */
  before: Snapshot | undefined;
  /** When this process began to watch, by Redis' clock. */
  sinceMs: number;
  limits: RuleLimits;
}

export interface RuleLimits {
  unansweredMs: number;
  /** A poll without news lasts 50 seconds, so silence is news only much later. */
  pollAgeMs: number;
}

export const POLL_AGE_MS = 120_000;

/** Longer than the pause of a poller after a conflict (10 s) or a refused token (60 s), so that it counts as lasting. */
const REFUSAL_RECENT_MS = 120_000;
const ALERT_AGE_MS = 120_000;
const MEMORY_SHARE = 0.8;

/** The kinds of incidents. One of a shard ends in the shard's number: `idle-0`. */
const KINDS = {
  unanswered: { by: 'telegram', over: 'messages are answered again.' },
  idle: { by: 'telegram', over: 'waiting jobs are run again.' },
  'no-poll': { by: 'telegram', over: 'Telegram is polled again.' },
  'no-delivery': { by: 'telegram', over: 'the webhook receives messages again.' },
  conflict: { by: 'telegram', over: 'no other process receives with the same token any more.' },
  token: { by: 'log', over: 'the bot token is accepted again.' },
  alerts: { by: 'log', over: 'alerts are sent again.' },
  memory: { by: 'telegram', over: 'Redis has room again.' },
} as const satisfies Record<string, { by: Channel; over: string }>;

type Kind = keyof typeof KINDS;

/** How the operator is told: on Telegram, or in the log where Telegram cannot carry it. */
export type Channel = 'telegram' | 'log';

/** Something that the operator is to be told, and how. */
export interface Condition extends Alert {
  by: Channel;
}

/** Every condition of a snapshot that an operator must know of. Pure. */
export function conditionsOf(watch: Watch): Condition[] {
  const ofShards = watch.now.shards.flatMap((shard) => [
    ...unanswered(shard, watch),
    ...idle(shard, watch),
    ...unsent(shard, watch),
  ]);
  const ofAll = [...notReceiving(watch), ...conflict(watch), ...refusedToken(watch), ...fullMemory(watch)];
  return [...ofShards, ...ofAll].map(withChannel);
}

/**
 * Whether messages are taken: Telegram was polled with success, or spoke well of the webhook, a short while ago. Unlike the alert about it this has no
 * grace for a process that has just begun to watch.
 */
export function isPolled({ now, limits }: Watch): boolean {
  return now.poll?.lastAnswerMs !== undefined && now.nowMs - now.poll.lastAnswerMs < limits.pollAgeMs;
}

/** The open incidents whose condition is over. Pure. Incidents of a kind that this version does not know are left alone. */
export function resolvedBy(conditions: readonly Condition[], now: Snapshot): Condition[] {
  const lasting = new Set(conditions.map(({ incident }) => incident));
  return [...now.open].flatMap(([incident, openedMs]) => {
    const kind = kindOf(incident);
    if (kind === undefined || lasting.has(incident)) return [];
    const { by, over } = KINDS[kind];
    return [{ ...resolvedAlert(incident, over, now.nowMs - openedMs), by }];
  });
}

function unanswered({ shard, oldest, unanswered: waiting }: ShardSnapshot, { now, limits }: Watch): Alert[] {
  if (oldest === undefined) return [];
  const ageMs = now.nowMs - oldest.acceptedMs;
  return ageMs > limits.unansweredMs ? [unansweredAlert(shard, { ...oldest, ageMs, waiting })] : [];
}

/** A job is handed on within milliseconds, so two checks in a row that see none active are no coincidence. */
function idle({ shard, jobsWaiting, jobsActive }: ShardSnapshot, { now, before }: Watch): Alert[] {
  if (jobsWaiting === 0 || jobsActive > 0) return [];
  const alert = idleAlert(shard, jobsWaiting);
  const earlier = before?.shards.find((other) => other.shard === shard);
  const wasIdle = earlier !== undefined && earlier.jobsWaiting > 0 && earlier.jobsActive === 0;
  // Another process may have opened it: its second check in a row is as good as ours.
  return wasIdle || now.open.has(alert.incident) ? [alert] : [];
}

function unsent({ shard, oldestAlertMs }: ShardSnapshot, { now }: Watch): Alert[] {
  if (oldestAlertMs === undefined) return [];
  const ageMs = now.nowMs - oldestAlertMs;
  return ageMs > ALERT_AGE_MS ? [unsentAlert(shard, ageMs)] : [];
}

/** A gateway that was off for a night has an old heartbeat when it starts: it gets its time to receive first. */
function notReceiving({ now, sinceMs, limits }: Watch): Alert[] {
  if (now.poll === undefined) return [];
  const ageMs = now.nowMs - (now.poll.lastAnswerMs ?? now.poll.firstMs);
  const alert = (now.poll.receiver === 'webhook' ? noDeliveryAlert : noPollAlert)(ageMs, now.poll.otherKind);
  const watchedMs = now.open.has(alert.incident) ? ageMs : now.nowMs - sinceMs;
  return Math.min(ageMs, watchedMs) > limits.pollAgeMs ? [alert] : [];
}

function conflict({ now }: Watch): Alert[] {
  const ageMs = now.nowMs - (now.poll?.conflictMs ?? Number.NEGATIVE_INFINITY);
  const alert = now.poll?.receiver === 'webhook' ? takenWebhookAlert : conflictAlert;
  return ageMs < REFUSAL_RECENT_MS ? [alert(ageMs)] : [];
}

function refusedToken({ now }: Watch): Alert[] {
  const refusedMs = now.poll?.unauthorizedMs ?? Number.NEGATIVE_INFINITY;
  const ageMs = now.nowMs - refusedMs;
  const isAccepted = (now.poll?.lastAnswerMs ?? Number.NEGATIVE_INFINITY) > refusedMs;
  return ageMs < REFUSAL_RECENT_MS && !isAccepted ? [tokenAlert(ageMs)] : [];
}

function fullMemory({ now: { memory } }: Watch): Alert[] {
  const isLimited = memory.maxBytes > 0;
  return isLimited && memory.usedBytes > memory.maxBytes * MEMORY_SHARE ? [memoryAlert(memory)] : [];
}

function kindOf(incident: string): Kind | undefined {
  const kind = incident.replace(/-\d+$/, '');
  return Object.hasOwn(KINDS, kind) ? (kind as Kind) : undefined;
}

function withChannel(alert: Alert): Condition {
  const kind = kindOf(alert.incident);
  return { ...alert, by: kind === undefined ? 'telegram' : KINDS[kind].by };
}
