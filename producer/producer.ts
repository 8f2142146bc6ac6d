import type { ReadinessPart, Route } from '../shared/app/health.ts';
import { type Config, operatorsOf } from '../shared/base/config.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { Observability } from '../shared/base/observability.ts';
import type { RedisAddress } from '../shared/base/redis-address.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { allowedNow } from '../shared/state/chat/allowed.ts';
import { createInbox } from '../shared/state/message/inbox.ts';
import { hostAndPid } from '../shared/state/process/process.ts';
import {
  createHeartbeat,
  HEARTBEAT_EVERY_MS,
  type Heartbeat,
  type Receiver,
} from '../shared/state/process/receiver.ts';
import type { Telegram } from '../shared/telegram/client.ts';
import { deskMenus, MENUS, type Menu } from '../shared/telegram/commands.ts';
import { type AcceptUpdate, createAccept } from './accept/accept.ts';
import type { Desk } from './accept/gate.ts';
import { createSummoner } from './accept/summons.ts';
import { introduceBot } from './receive/bot-profile.ts';
import { LEASE_LASTS_MS, LEASE_RETRY_MS, type Lease, openLease } from './receive/lease.ts';
import { type Poller, startPoller } from './receive/poller.ts';
import { createWebhook } from './receive/webhook.ts';
import { LOOK_EVERY_MS, startWebhookKeeper, type WebhookKeeper } from './receive/webhook-manager.ts';

export interface ProducerPorts extends Observability {
  config: Config;
  /** Our name among all processes. */
  processName: string;
  redisAddress: RedisAddress;
  telegram: Telegram;
}

/** Tests set shorter limits than the defaults. */
export interface ProducerLimits {
  leaseLastsMs?: number;
  leaseRetryMs?: number;
  heartbeatEveryMs?: number;
  lookEveryMs?: number;
}

/**
 * A poll returns within 50 seconds even in silence, and webhook checks are more frequent; an older answer means
 * trouble.
 */
const ANSWER_AGE_MS_MAX = 120_000;
/** Until then a start has had no time for a first answer. */
const STARTING_MS = 30_000;

/**
 * The producer of a process: receives from Telegram and puts accepted messages on the stream. It polls, unless another
 * process does. With a webhook configured, it takes deliveries instead, alongside any other producers.
 */
export function startProducer(
  ports: ProducerPorts,
  limits: ProducerLimits = {},
): Service & { readiness: ReadinessPart[]; routes: Route[] } {
  const { config, telegram, log } = ports;
  const redis = connectRedis(ports.redisAddress, 'impatient');
  const keys = keysOf(0);
  const lease = openLease({
    redis,
    botId: telegram.botId,
    processName: ports.processName,
    log,
    lastsMs: limits.leaseLastsMs ?? LEASE_LASTS_MS,
    retryMs: limits.leaseRetryMs ?? LEASE_RETRY_MS,
  });
  const heartbeatOf = (receiver: Receiver) =>
    createHeartbeat(redis, keys, log, limits.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS, receiver);
  const desk = deskOf(config);
  const ownName = introduceBot(telegram, [...MENUS, ...menusOf(config, desk)]);
  const summoner = createSummoner({ telegram, redis, shards: config.SHARDS, log, reach: ports.reach });
  const accept = createAccept({
    botId: telegram.botId,
    inbox: createInbox(redis, config.SHARDS),
    places: {
      allowed: allowedNow(redis, config.TELEGRAM_ALLOWED_IDS),
      answersAll: config.TELEGRAM_ANSWER_ALL_IDS,
      desk,
    },
    limits: {
      textMaxChars: config.INBOUND_TEXT_MAX_CHARS,
      groupContextMessages: config.GROUP_CONTEXT_MESSAGES,
    },
    ownName,
    atOnce: {
      answerPress: (pressId, words) => telegram.answerPress(pressId, words),
      summons: { guests: config.TELEGRAM_GUESTS, begin: summoner.begin },
    },
    observability: ports,
  });
  const lookEveryMs = limits.lookEveryMs ?? LOOK_EVERY_MS;
  const receiving = startReceiving(ports, { accept, lease, heartbeatOf, lookEveryMs });
  return {
    name: 'producer',
    readiness: [
      { name: 'redis', check: async () => ({ ready: redis.status === 'ready', detail: redis.status }) },
      receiving.readiness,
    ],
    routes: receiving.routes,
    async stop() {
      await receiving.service.stop();
      await Promise.all([ownName.stop(), summoner.stop()]);
      redis.disconnect();
    },
  };
}

/** Where operators work; nowhere without a chat of alerts. */
function deskOf(config: Config): Desk | undefined {
  const { TELEGRAM_ALERT_CHAT_ID: chatId } = config;
  return chatId === undefined ? undefined : { chatId, operators: operatorsOf(config) };
}

function menusOf({ TELEGRAM_ALLOWED_IDS: allowed }: Config, desk: Desk | undefined): readonly Menu[] {
  if (desk === undefined || desk.operators.size === 0) return [];
  return deskMenus(desk.chatId, allowed === 'everyone' || allowed.has(desk.chatId));
}

interface ReceivingPorts {
  accept: AcceptUpdate;
  lease: Lease;
  heartbeatOf(receiver: Receiver): Heartbeat;
  lookEveryMs: number;
}

interface Receiving {
  service: Service;
  readiness: ReadinessPart;
  routes: Route[];
}

/** Either way a lease decides which process sets the mode at Telegram, so a mode change cannot start a conflict. */
function startReceiving(ports: ProducerPorts, receiving: ReceivingPorts): Receiving {
  const { accept, lease, heartbeatOf } = receiving;
  const { config, telegram, telemetry, log, reach } = ports;
  const startedMs = performance.now();
  const { TELEGRAM_WEBHOOK_URL: url, TELEGRAM_WEBHOOK_SECRET: secret } = config;
  if (url === undefined || secret === undefined) {
    const poller = startPoller({
      accept,
      shards: config.SHARDS,
      lease,
      heartbeat: heartbeatOf('poller'),
      telegram,
      log,
      reach,
    });
    return {
      service: poller,
      readiness: { name: 'poller', check: async () => pollingOf(poller, lease.holder(), ports.processName, startedMs) },
      routes: [],
    };
  }
  const keeper = startWebhookKeeper({ ...receiving, telegram, log, heartbeat: heartbeatOf('webhook'), url, secret });
  return {
    service: keeper,
    readiness: { name: 'webhook', check: async () => deliveryOf(keeper, lease.holder(), ports.processName, startedMs) },
    routes: [createWebhook({ accept, path: new URL(url).pathname, secret, telemetry, log })],
  };
}

type Reading = Awaited<ReturnType<ReadinessPart['check']>>;

/** A producer is ready when it polls, or when it would take over from another that does. */
function pollingOf(poller: Poller, holder: string | undefined, ownName: string, startedMs: number): Reading {
  if (holder === undefined) return notYet('Redis did not say who polls', startedMs);
  if (holder === ownName) return answeredOf(poller.lastAnswerMs(), startedMs);
  const { host, pid } = hostAndPid(holder);
  return {
    ready: true,
    detail: `another process polls (process ${pid} on ${host}); this one takes over when it ends`,
  };
}

/**
 * A producer is ready when it takes deliveries. Missing deliveries are reported but do not make it unready: a load
 * balancer that routes only to ready instances would then keep deliveries away for good.
 */
function deliveryOf(keeper: WebhookKeeper, holder: string | undefined, ownName: string, startedMs: number): Reading {
  if (holder === undefined) return notYet('Redis did not say who looks after the webhook', startedMs);
  if (holder !== ownName) return { ready: true, detail: 'takes deliveries; another process looks after the webhook' };
  const answered = answeredOf(keeper.lastAnswerMs(), startedMs);
  const trouble = keeper.trouble();
  return trouble === undefined ? answered : { ...answered, detail: `trouble with the webhook: ${trouble}` };
}

function answeredOf(lastAnswerMs: number | undefined, startedMs: number): Reading {
  if (lastAnswerMs === undefined) return notYet('no answer yet', startedMs);
  const ageMs = Math.round(performance.now() - lastAnswerMs);
  return { ready: ageMs < ANSWER_AGE_MS_MAX, detail: `${ageMs} ms ago` };
}

function notYet(detail: string, startedMs: number): Reading {
  const isStarting = performance.now() - startedMs < STARTING_MS;
  return { ready: false, ...(isStarting && { isStarting }), detail };
}
