import type { Cause } from '../../shared/flow/alert.ts';
import type { Receiver } from '../../shared/state/process/receiver.ts';
import type { ProviderTrouble } from '../../shared/state/provider/provider.ts';
import type { Limit } from '../../shared/state/spending/limit.ts';
import { budgetConditions } from '../alerts/causes/budget.ts';
import { providerAlert, retirementCondition } from '../alerts/causes/endpoint.ts';
import { conflictAlert, notReceivingAlert, tokenAlert, unstoredAlert } from '../alerts/causes/receiving.ts';
import { fileConditions, memoryConditions } from '../alerts/causes/storage.ts';
import { telegramAlert } from '../alerts/causes/telegram.ts';
import {
  deadLettersAlert,
  idleAlert,
  LETTERS_SHARE,
  pausedAlert,
  unansweredAlert,
} from '../alerts/causes/unanswered.ts';
import { alertChannelAlert, watcherCondition } from '../alerts/causes/watch.ts';
import type { Condition } from '../alerts/causes/words.ts';
import { CAUSES } from '../alerts/causes.ts';
import { incidentOf } from '../alerts/incident.ts';
import { runEach, type WatchFailure } from '../alerts/watch-failure.ts';
import type { ModelsInUse } from '../model/catalog.ts';
import { type ShardSnapshot, type Snapshot, sum } from './snapshot.ts';

/** What a rule looks at. */
export interface Watch {
  now: Snapshot;
  /** What the previous check saw; `undefined` at the first. */
  before: Snapshot | undefined;
  /** When this process began to watch, by Redis' clock. */
  sinceMs: number;
  limits: RuleLimits;
}

export interface RuleLimits {
  /** A message without an outcome is overdue after this. */
  unansweredMs: number;
  /** A poll without updates lasts 50 seconds, so silence means trouble only much later. */
  pollAgeMs: number;
  /** An endpoint that fails for this long is down; one that refuses our key twice is down at once. */
  providerDownMs: number;
  /** A Telegram that does not answer for this long is away: shorter trouble passes unseen. */
  telegramDownMs: number;
  /** The limits of what all chats may spend. */
  totals: readonly Limit[];
  /** The most dead letters of a shard. */
  deadLettersMax: number;
  /** The models that the settings name. */
  models: ModelsInUse;
  /** The operator accepts a Redis that writes nothing to disk. */
  isVolatileAccepted: boolean;
}

/**
 * Longer than the pause of a poller after a conflict (10 s) or a refused token (60 s), so that it counts as lasting.
 */
const REFUSAL_RECENT_MS = 120_000;
/** While messages wait for delivery, a send is attempted more often than this. */
const SENDS_RECENT_MS = 120_000;
const PROVIDER_FAILURES_MIN = 2;
const ALERT_CHANNEL_MS = 120_000;
const DEAD_LETTERS_MANY = 100;
/** Time to choose another model. */
const RETIREMENT_AHEAD_MS = 30 * 24 * 3600_000;
const AT_ONCE: ReadonlySet<ProviderTrouble> = new Set(['auth', 'billing', 'model']);

/** What a check of the rules found, and which of them could not be checked. */
export interface Checked {
  conditions: readonly Condition[];
  failures: readonly WatchFailure[];
}

/**
 * Every condition of a snapshot that an operator must be notified of; a rule that throws keeps no other from being
 * checked. Pure.
 */
export function checkRules(watch: Watch): Checked {
  const failures: WatchFailure[] = [];
  const conditions: Condition[] = [];
  runEach(
    Object.entries(RULES),
    ([cause]) => cause,
    ([, rule]) => conditions.push(...rule(watch)),
    failures,
  );
  return { conditions, failures };
}

/** Like `checkRules`, with one more condition for the rules that threw. */
export function conditionsOf(watch: Watch): Condition[] {
  const { conditions, failures } = checkRules(watch);
  return failures.length === 0 ? [...conditions] : [...conditions, watcherCondition(failures)];
}

/** The rules, by the cause that each one finds. A rule that throws leaves its cause unchecked. */
const RULES: Readonly<Partial<Record<Cause, (watch: Watch) => Condition[]>>> = {
  unanswered,
  paused: resting,
  idle,
  provider: providerDown,
  'model-retires': retiringModels,
  telegram: telegramAway,
  'no-poll': (watch) => notReceiving(watch, 'poller'),
  'no-delivery': (watch) => notReceiving(watch, 'webhook'),
  conflict,
  token: refusedToken,
  memory: ({ now: { redis } }) => memoryConditions(redis),
  persistence: ({ now: { redis }, limits }) => fileConditions(redis, limits.isVolatileAccepted),
  budget: ({ now: { spent } }) => spent.flatMap(budgetConditions),
  'dead-letters': manyDeadLetters,
  'alert-channel': alertChannelDown,
};

/** One incident for any number of chats: the oldest message is named, the others are counted. */
function unanswered({ now }: Watch): Condition[] {
  const late = now.shards.map(({ overdue }) => overdue).filter(({ oldest }) => oldest !== undefined);
  const [oldest] = late.flatMap((overdue) => overdue.oldest ?? []).sort((a, b) => a.acceptedMs - b.acceptedMs);
  if (oldest === undefined) return [];
  const messages = sum(late, (overdue) => overdue.messages);
  const chats = sum(late, (overdue) => overdue.chats);
  const ageMs = now.nowMs - oldest.acceptedMs;
  return [unansweredAlert({ ...oldest, ageMs, messages, chats, waiting: waitingIn(now) })];
}

/** Messages that wait because an operator said so are no outage, and must not be forgotten. */
function resting({ now }: Watch): Condition[] {
  const all = now.shards.flatMap((shard) => shard.resting ?? []);
  const messages = sum(all, (each) => each.messages);
  const chats = sum(all, (each) => each.chats);
  return all.length === 0 ? [] : [pausedAlert(messages, chats)];
}

/** Whether a condition is no trouble now: an operator wanted it, or it is only for information. */
export function isIntended({ cause }: Condition): boolean {
  return cause === 'paused' || CAUSES[cause].severity === 'info';
}

/**
 * A worker takes a job within milliseconds: when two checks in a row see none active and the same one waiting, nobody
 * takes it. Two different ones are a busy shard that was seen twice between jobs.
 */
function idle({ now, before }: Watch): Condition[] {
  const isIdle = (shard: ShardSnapshot | undefined): boolean =>
    shard !== undefined && shard.jobsWaiting > 0 && shard.jobsActive === 0;
  const wasIdle = ({ shard, nextJob }: ShardSnapshot, shards: readonly ShardSnapshot[] = []): boolean => {
    const earlier = shards.find((other) => other.shard === shard);
    return isIdle(earlier) && earlier?.nextJob === nextJob;
  };
  // Another process may have opened it: its second check in a row counts as ours.
  const isKnown = now.open.has('idle');
  const stuck = now.shards.filter((shard) => isIdle(shard) && (isKnown || wasIdle(shard, before?.shards)));
  if (stuck.length === 0) return [];
  const jobs = sum(stuck, ({ jobsWaiting }) => jobsWaiting);
  const shards = stuck.map(({ shard }) => shard);
  return [idleAlert(jobs, shards)];
}

function providerDown({ now, limits }: Watch): Condition[] {
  const { failing } = now.provider;
  if (failing === undefined) return [];
  const isLong = now.nowMs - failing.sinceMs >= limits.providerDownMs;
  if (failing.failures < PROVIDER_FAILURES_MIN || !(isLong || AT_ONCE.has(failing.why))) return [];
  return [providerAlert(failing, now.nowMs - failing.sinceMs, waitingIn(now))];
}

/** Models in use that are retired, or will be soon; the date can pass before the model is. */
function retiringModels({ now, limits: { models } }: Watch): Condition[] {
  return [...models].flatMap(([model, settings]) => {
    const life = now.models.get(model);
    if (life === undefined || life.stage === 'active') return [];
    const isNear = (life.retiresAtMs ?? Number.POSITIVE_INFINITY) - now.nowMs <= RETIREMENT_AHEAD_MS;
    return isNear || life.stage === 'retired' ? [retirementCondition(model, settings, life)] : [];
  });
}

function telegramAway({ now, limits }: Watch): Condition[] {
  const { away } = now.telegram;
  if (away === undefined || now.nowMs - away.sinceMs < limits.telegramDownMs) return [];
  if (now.nowMs - (away.lastMs ?? now.nowMs) > SENDS_RECENT_MS) return [];
  return [telegramAlert({ ...away, lastsMs: now.nowMs - away.sinceMs, waiting: waitingIn(now) })];
}

/** A gateway that was off for a night starts with an old heartbeat: it first gets time to receive. */
function notReceiving({ now, sinceMs, limits }: Watch, as: Receiver): Condition[] {
  if (now.poll === undefined || now.poll.receiver !== as) return [];
  const { unstoredSinceMs, unstoredMs = Number.NEGATIVE_INFINITY } = now.poll;
  if (unstoredSinceMs !== undefined && now.nowMs - unstoredMs < limits.pollAgeMs / 2) {
    const lastsMs = now.nowMs - unstoredSinceMs;
    return lastsMs > limits.pollAgeMs / 2 ? [unstoredAlert(as, lastsMs)] : [];
  }
  const ageMs = now.nowMs - (now.poll.lastAnswerMs ?? now.poll.firstMs);
  const alert = notReceivingAlert(as, ageMs, now.poll.otherKind);
  const watchedMs = now.open.has(incidentOf(alert)) ? ageMs : now.nowMs - sinceMs;
  return Math.min(ageMs, watchedMs) > limits.pollAgeMs ? [alert] : [];
}

function conflict({ now }: Watch): Condition[] {
  const ageMs = now.nowMs - (now.poll?.conflictMs ?? Number.NEGATIVE_INFINITY);
  return now.poll && ageMs < REFUSAL_RECENT_MS ? [conflictAlert(now.poll.receiver, ageMs)] : [];
}

function refusedToken({ now }: Watch): Condition[] {
  const refusedMs = now.poll?.unauthorizedMs ?? Number.NEGATIVE_INFINITY;
  const ageMs = now.nowMs - refusedMs;
  const isAccepted = (now.poll?.lastAnswerMs ?? Number.NEGATIVE_INFINITY) > refusedMs;
  return ageMs < REFUSAL_RECENT_MS && !isAccepted ? [tokenAlert(ageMs)] : [];
}

function manyDeadLetters({ now, limits: { deadLettersMax: max } }: Watch): Condition[] {
  const letters = sum(now.shards, (shard) => shard.deadLetters);
  const fullest = Math.max(0, ...now.shards.map((shard) => shard.deadLetters));
  if (letters < DEAD_LETTERS_MANY && fullest < max * LETTERS_SHARE) return [];
  const dropped = sum(now.shards, (shard) => shard.lettersDropped);
  return [deadLettersAlert({ letters, fullest, max, dropped })];
}

/** The webhook gets this incident at once, and the chat when it takes something again. */
function alertChannelDown({ now }: Watch): Condition[] {
  const { failing } = now.alerting;
  if (failing === undefined || now.nowMs - failing.sinceMs < ALERT_CHANNEL_MS) return [];
  return [alertChannelAlert(now.nowMs - failing.sinceMs, failing.why)];
}

/** All messages without an answer. */
function waitingIn({ shards }: Snapshot): number {
  return sum(shards, ({ unanswered: messages }) => messages);
}
