import type { ReadinessPart, Route } from '../shared/app/health.ts';
import type { Root } from '../shared/app/process.ts';
import type { Service } from '../shared/base/lifecycle.ts';
import type { Settings } from '../shared/base/settings.ts';
import { connectRedis } from '../shared/redis/connection.ts';
import { keysOf } from '../shared/redis/keys.ts';
import { allowedNow } from '../shared/state/chat/allowed-people.ts';
import { createInbox } from '../shared/state/message/inbox.ts';
import { hostAndPid } from '../shared/state/process/process.ts';
import { createHeartbeat, HEARTBEAT_EVERY_MS } from '../shared/state/process/receiver.ts';
import { deskMenus, MENUS, type Menu } from '../shared/telegram/commands.ts';
import { createAccept } from './accept/accept.ts';
import { deskOf } from './accept/desk.ts';
import { createSummoner } from './accept/guest-call.ts';
import { createKnock } from './accept/knock.ts';
import type { ProducerEnv } from './env.ts';
import { introduceBot } from './receive/bot-profile.ts';
import { openLease } from './receive/lease.ts';
import { type Poller, startPoller } from './receive/poller.ts';
import { createWebhook } from './receive/webhook.ts';
import { startWebhookKeeper, type WebhookAddress, type WebhookKeeper } from './receive/webhook-manager.ts';

/** Times that tests shorten. */
interface ProducerLimits {
  leaseLastsMs?: number;
  leaseRetryMs?: number;
  heartbeatEveryMs?: number;
  lookEveryMs?: number;
}

/** A process with the lease is unready once its last successful poll or webhook check is this old. A poll may take 50 s. */
const ANSWER_AGE_MS_MAX = 120_000;
/** For this long after its start, a producer that lacks an answer from Redis or from Telegram counts as starting. */
const STARTING_MS = 30_000;

/**
 * Starts the producer, which receives updates from Telegram and stores accepted messages on the stream. The producer polls
 * while it has the lease. With a webhook configured, every producer serves deliveries instead.
 */
export function startProducer(
  root: Root,
  limits: ProducerLimits = {},
): Service & { readiness: ReadinessPart[]; routes: Route[] } {
  const { settings, telegram, log } = root;
  const redis = connectRedis(root.redisAddress, 'impatient');
  const webhook = webhookOf(settings);
  const introduction = introduceBot(telegram, [...MENUS, ...menusOf(settings)]);
  const lease = openLease({ ...root, redis }, limits);
  const heartbeatEveryMs = limits.heartbeatEveryMs ?? HEARTBEAT_EVERY_MS;
  const env: ProducerEnv = {
    ...root,
    redis,
    inbox: createInbox(redis, settings.SHARDS),
    lease,
    heartbeat: createHeartbeat(redis, keysOf(0), log, heartbeatEveryMs, webhook ? 'webhook' : 'poller'),
    allowed: allowedNow(redis, settings.TELEGRAM_ALLOWED_IDS),
    knock: createKnock(redis, settings),
    botName: introduction.botName,
  };
  const summoner = createSummoner(env);
  const accept = createAccept(env, summoner);
  const startedMs = performance.now();
  const receiver = webhook ? startWebhookKeeper(env, webhook, limits.lookEveryMs) : startPoller(env, accept);
  const check = async () => receivingOf(receiver, lease.holder(), root.processName, startedMs);
  return {
    name: 'producer',
    readiness: [
      { name: 'redis', check: async () => ({ ready: redis.status === 'ready', detail: redis.status }) },
      { name: webhook ? 'webhook' : 'poller', check },
    ],
    routes: webhook ? [createWebhook(env, accept, webhook)] : [],
    async stop() {
      await receiver.stop();
      await Promise.all([introduction.stop(), summoner.stop()]);
      redis.disconnect();
    },
  };
}

function webhookOf(settings: Settings): WebhookAddress | undefined {
  const { TELEGRAM_WEBHOOK_URL: url, TELEGRAM_WEBHOOK_SECRET: secret } = settings;
  return url === undefined || secret === undefined ? undefined : { url, secret };
}

function menusOf(settings: Settings): readonly Menu[] {
  const { TELEGRAM_ALLOWED_IDS: allowed } = settings;
  const desk = deskOf(settings);
  if (desk === undefined || desk.operators.size === 0) return [];
  return deskMenus(desk.chatId, allowed === 'everyone' || allowed.has(desk.chatId));
}

type Reading = Awaited<ReturnType<ReadinessPart['check']>>;

/**
 * The readiness of the receiver. The process with the lease is ready if Telegram has answered recently, and any other process
 * if it knows who has the lease. Trouble with deliveries does not make a producer unready, because a load balancer that routes
 * only to ready instances would then keep all further deliveries away. The detail of the process with the lease reports the
 * trouble.
 */
function receivingOf(
  receiver: Poller | WebhookKeeper,
  holder: string | undefined,
  ownName: string,
  startedMs: number,
): Reading {
  const isWebhook = 'trouble' in receiver;
  if (holder === undefined)
    return notYet(`Redis did not say who ${isWebhook ? 'looks after the webhook' : 'polls'}`, startedMs);
  if (holder === ownName) {
    const answered = answeredOf(receiver.lastAnswerMs(), startedMs);
    const trouble = isWebhook ? receiver.trouble() : undefined;
    return trouble === undefined ? answered : { ...answered, detail: `trouble with the webhook: ${trouble}` };
  }
  if (isWebhook) return { ready: true, detail: 'takes deliveries; another process looks after the webhook' };
  const { host, pid } = hostAndPid(holder);
  return {
    ready: true,
    detail: `another process polls (process ${pid} on ${host}); this one takes over when it ends`,
  };
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
