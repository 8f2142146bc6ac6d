import type { Settings } from '../../shared/base/settings.ts';
import type { Cause } from '../../shared/flow/alert.ts';
import type { Receiver } from '../../shared/state/process/receiver.ts';
import type { ProviderTrouble } from '../../shared/state/provider/provider.ts';
import { type Limit, totalsOf } from '../../shared/state/spending/limit.ts';
import { budgetConditions } from '../alerts/causes/budget.ts';
import { providerAlert, retirementCondition } from '../alerts/causes/endpoint.ts';
import { conflictAlert, knockAlert, notReceivingAlert, tokenAlert, unstoredAlert } from '../alerts/causes/receiving.ts';
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
import { plainName } from '../ask/message-header.ts';
import { type ModelsInUse, modelsInUse } from '../model/catalog.ts';
import { type ShardSnapshot, type Snapshot, sum } from './snapshot.ts';

/** The input of a rule. */
export interface RuleInput {
  now: Snapshot;
  /** The snapshot of the previous check; `undefined` at the first check. */
  before: Snapshot | undefined;
  /** When this process started to watch, by Redis' clock. */
  sinceMs: number;
  limits: RuleLimits;
}

interface RuleLimits {
  /** A message without an outcome is overdue after this time. */
  unansweredMs: number;
  /** The longest permitted time since the last successful poll; much longer than the 50 seconds of a poll without updates. */
  pollAgeMs: number;
  /** After two failed calls, an endpoint counts as down: for trouble in `AT_ONCE` at once, otherwise after this time. */
  providerDownMs: number;
  /** Telegram counts as away after this time without an answer. Trouble that ends earlier causes no alert. */
  telegramDownMs: number;
  /** The budgets of all chats. */
  totals: readonly Limit[];
  /** The maximum number of dead letters of a shard. */
  deadLettersMax: number;
  models: ModelsInUse;
  /** Whether the operator accepts a Redis without persistence. */
  isVolatileAccepted: boolean;
}

/** The limits in the settings, together with the given times. */
export function ruleLimitsOf(
  settings: Settings,
  { pollAgeMs, providerDownMs, telegramDownMs }: Pick<RuleLimits, 'pollAgeMs' | 'providerDownMs' | 'telegramDownMs'>,
): RuleLimits {
  const { UNANSWERED_ALERT_MS: unansweredMs, DEAD_LETTERS_MAX: deadLettersMax } = settings;
  const isVolatileAccepted = settings.REDIS_ACCEPT.includes('volatile');
  const totals = totalsOf(settings);
  const times = { pollAgeMs, providerDownMs, telegramDownMs };
  return { unansweredMs, deadLettersMax, totals, isVolatileAccepted, models: modelsInUse(settings), ...times };
}

/** How long a refused poll counts as recent: longer than the pause after it (10 s for a conflict, 60 s for a bad bot token). */
const REFUSAL_RECENT_MS = 120_000;
/** How long a failed send counts as recent: longer than the time between two sends while messages wait for delivery. */
const SENDS_RECENT_MS = 120_000;
const PROVIDER_FAILURES_MIN = 2;
const ALERT_CHANNEL_MS = 120_000;
const DEAD_LETTERS_MANY = 100;
/** How long before a model's retirement the operator is notified. */
const RETIREMENT_AHEAD_MS = 30 * 24 * 3600_000;
const AT_ONCE: ReadonlySet<ProviderTrouble> = new Set(['auth', 'billing', 'model']);

/** The result of a check: the conditions found, and the rules that failed. */
export interface CheckResult {
  conditions: readonly Condition[];
  failures: readonly WatchFailure[];
}

/** Checks all rules. A rule that throws becomes a failure; the others still run. Pure. */
export function checkRules(input: RuleInput): CheckResult {
  const failures: WatchFailure[] = [];
  const conditions: Condition[] = [];
  runEach(
    Object.entries(RULES),
    ([cause]) => cause,
    ([, rule]) => conditions.push(...rule(input)),
    failures,
  );
  return { conditions, failures };
}

/** The conditions of `checkRules` and, if rules threw, a condition `watcher` about them. */
export function conditionsOf(input: RuleInput): Condition[] {
  const { conditions, failures } = checkRules(input);
  return failures.length === 0 ? [...conditions] : [...conditions, watcherCondition(failures)];
}

const RULES: Readonly<Partial<Record<Cause, (input: RuleInput) => Condition[]>>> = {
  unanswered,
  paused: resting,
  idle,
  provider: providerDown,
  'model-retires': retiringModels,
  telegram: telegramAway,
  'no-poll': (input) => notReceiving(input, 'poller'),
  'no-delivery': (input) => notReceiving(input, 'webhook'),
  conflict,
  token: refusedToken,
  memory: ({ now: { redis } }) => memoryConditions(redis),
  persistence: ({ now: { redis }, limits }) => fileConditions(redis, limits.isVolatileAccepted),
  budget: ({ now: { spent } }) => spent.flatMap(budgetConditions),
  'dead-letters': manyDeadLetters,
  'alert-channel': alertChannelDown,
  pairing: ({ now }) => now.strangers.map((each) => knockAlert(each, plainName(each.name))),
};

/** The condition that messages are overdue, with the oldest message and the numbers of messages and of chats. */
function unanswered({ now }: RuleInput): Condition[] {
  const overdueParts = now.shards.map(({ overdue }) => overdue).filter(({ oldest }) => oldest !== undefined);
  const [oldest] = overdueParts.flatMap((overdue) => overdue.oldest ?? []).sort((a, b) => a.acceptedMs - b.acceptedMs);
  if (oldest === undefined) return [];
  const messages = sum(overdueParts, (overdue) => overdue.messages);
  const chats = sum(overdueParts, (overdue) => overdue.chats);
  const ageMs = now.nowMs - oldest.acceptedMs;
  return [unansweredAlert({ ...oldest, ageMs, messages, chats, waiting: waitingIn(now) })];
}

/** The condition that messages have waited too long in paused chats: no outage, but an operator must not forget the pauses. */
function resting({ now }: RuleInput): Condition[] {
  const all = now.shards.flatMap((shard) => shard.resting ?? []);
  const messages = sum(all, (each) => each.messages);
  const chats = sum(all, (each) => each.chats);
  return all.length === 0 ? [] : [pausedAlert(messages, chats)];
}

/** Whether a condition needs no operator now, because it is about a pause or has severity `info`. */
export function isHarmless({ cause }: Condition): boolean {
  return cause === 'paused' || CAUSES[cause].severity === 'info';
}

/**
 * The condition that no worker takes the jobs of some shards: two checks in a row found no active job and the same next job.
 * A worker takes a job within milliseconds; a different next job means that jobs ran between the checks.
 */
function idle({ now, before }: RuleInput): Condition[] {
  const isIdle = (shard: ShardSnapshot | undefined): boolean =>
    shard !== undefined && shard.jobsWaiting > 0 && shard.jobsActive === 0;
  const wasIdle = ({ shard, nextJob }: ShardSnapshot, shards: readonly ShardSnapshot[] = []): boolean => {
    const earlier = shards.find((other) => other.shard === shard);
    return isIdle(earlier) && earlier?.nextJob === nextJob;
  };
  // If the incident is open, some watchdog has already found this in two checks in a row.
  const isKnown = now.open.has('idle');
  const stuck = now.shards.filter((shard) => isIdle(shard) && (isKnown || wasIdle(shard, before?.shards)));
  if (stuck.length === 0) return [];
  const jobs = sum(stuck, ({ jobsWaiting }) => jobsWaiting);
  const shards = stuck.map(({ shard }) => shard);
  return [idleAlert(jobs, shards)];
}

function providerDown({ now, limits }: RuleInput): Condition[] {
  const { failing } = now.provider;
  if (failing === undefined) return [];
  const isLong = now.nowMs - failing.sinceMs >= limits.providerDownMs;
  if (failing.failures < PROVIDER_FAILURES_MIN || !(isLong || AT_ONCE.has(failing.why))) return [];
  return [providerAlert(failing, now.nowMs - failing.sinceMs, waitingIn(now))];
}

/** The conditions of models in use that are retired or will be soon. A model may still work after its announced date. */
function retiringModels({ now, limits: { models } }: RuleInput): Condition[] {
  return [...models].flatMap(([model, settings]) => {
    const life = now.models.get(model);
    if (life === undefined || life.stage === 'active') return [];
    const isNear = (life.retiresAtMs ?? Number.POSITIVE_INFINITY) - now.nowMs <= RETIREMENT_AHEAD_MS;
    return isNear || life.stage === 'retired' ? [retirementCondition(model, settings, life)] : [];
  });
}

function telegramAway({ now, limits }: RuleInput): Condition[] {
  const { away } = now.telegram;
  if (away === undefined || now.nowMs - away.sinceMs < limits.telegramDownMs) return [];
  if (now.nowMs - (away.lastMs ?? now.nowMs) > SENDS_RECENT_MS) return [];
  return [telegramAlert({ ...away, lastsMs: now.nowMs - away.sinceMs, waiting: waitingIn(now) })];
}

/**
 * The condition that messages do not arrive or cannot be stored. When this process starts, the last heartbeat may be old:
 * unless the incident is open, the process first watches for `pollAgeMs` before it reports that no messages arrive.
 */
function notReceiving({ now, sinceMs, limits }: RuleInput, as: Receiver): Condition[] {
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

function conflict({ now }: RuleInput): Condition[] {
  const ageMs = now.nowMs - (now.poll?.conflictMs ?? Number.NEGATIVE_INFINITY);
  return now.poll && ageMs < REFUSAL_RECENT_MS ? [conflictAlert(now.poll.receiver, ageMs)] : [];
}

function refusedToken({ now }: RuleInput): Condition[] {
  const refusedMs = now.poll?.unauthorizedMs ?? Number.NEGATIVE_INFINITY;
  const ageMs = now.nowMs - refusedMs;
  const isAccepted = (now.poll?.lastAnswerMs ?? Number.NEGATIVE_INFINITY) > refusedMs;
  return ageMs < REFUSAL_RECENT_MS && !isAccepted ? [tokenAlert(ageMs)] : [];
}

function manyDeadLetters({ now, limits: { deadLettersMax: max } }: RuleInput): Condition[] {
  const letters = sum(now.shards, (shard) => shard.deadLetters);
  const fullest = Math.max(0, ...now.shards.map((shard) => shard.deadLetters));
  if (letters < DEAD_LETTERS_MANY && fullest < max * LETTERS_SHARE) return [];
  const dropped = sum(now.shards, (shard) => shard.lettersDropped);
  return [deadLettersAlert({ letters, fullest, max, dropped })];
}

/** The condition that the alert chat accepts nothing. The webhook gets the alert at once, the chat once it works again. */
function alertChannelDown({ now }: RuleInput): Condition[] {
  const { failing } = now.alerting;
  if (failing === undefined || now.nowMs - failing.sinceMs < ALERT_CHANNEL_MS) return [];
  return [alertChannelAlert(now.nowMs - failing.sinceMs, failing.why)];
}

/** The number of messages without an outcome. */
function waitingIn({ shards }: Snapshot): number {
  return sum(shards, ({ unanswered: messages }) => messages);
}
