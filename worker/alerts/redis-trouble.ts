import { hostname } from 'node:os';
import type { Root } from '../../shared/app/process.ts';
import type { Logger } from '../../shared/base/log.ts';
import { durationInWords } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';
import { RefusedWritesError } from '../../shared/state/process/process.ts';
import type { Limits } from '../limits.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { type AlertChannel, type Channels, channelFollowingMoves, type SendResult, withLinks } from './channel.ts';
import { type AlertMessage, plainMessage, type Surroundings, surroundingsOf, troubleMessage } from './message.ts';
import type { Webhook } from './webhook.ts';

export type Trouble = ReturnType<typeof watchFor>;

/** The channels and settings with which a process reports its own trouble to the operator. */
interface Reporting {
  channels: readonly Pick<AlertChannel, 'send'>[];
  webhook?: Webhook | undefined;
  log: Logger;
  /** How long trouble must last before the operator is notified. */
  afterMs: number;
  now?: () => number;
  /** The link targets and the installation's name for the message; default: none. */
  around?: Surroundings;
}

/** Creates two reporters: for trouble with Redis, and for a failing watchdog. Both work without the book of incidents. */
export function watchTroubles(
  { settings, log, limits }: Pick<Root, 'settings' | 'log'> & { limits: Limits },
  { chatId, telegram, webhook }: Channels,
): { redis: Trouble; watch: Trouble } {
  const channels = chatId === undefined ? [] : [channelFollowingMoves(telegram, chatId)];
  const reporting = { channels, webhook, log, around: surroundingsOf(settings), afterMs: limits.redisTroubleMs };
  const watchdogWords = { name: 'watcher', textOf: watchdogTroubleText, ...ALERT_WORDS.watchdog };
  return { redis: watchRedis(reporting), watch: watchFor(reporting, watchdogWords) };
}

/** Creates the reporter for a Redis that does not answer or takes no writes. */
export function watchRedis(reporting: Reporting) {
  return watchFor(reporting, { name: 'redis-writes', textOf: redisTroubleText, ...ALERT_WORDS.redisWrites });
}

interface Words {
  /** The name of the trouble, and of the runbook's section about it. */
  name: string;
  title: string;
  textOf(error: unknown, since: string): string;
  /** Text that reports the end of the trouble. */
  over: string;
}

/**
 * Creates a reporter that needs neither Redis nor the book of incidents. The reporter notifies the operator when trouble has
 * lasted `afterMs` and, after such a notice, again when the trouble ends. Each process reports for itself, because the
 * processes cannot agree without Redis.
 *
 * Contract: `worked` and `failed` return at once and never throw. Every call also retries the sends that failed.
 */
function watchFor(reporting: Reporting, { name, title, textOf, over }: Words) {
  const { channels, webhook, log, afterMs, now = Date.now, around = {} } = reporting;
  let sinceMs: number | undefined;
  /** The newest error whose cause `refusalOf` knows; until there is one, the newest error. */
  let reason: unknown;
  let isNotified = false;
  const send = createOutbox([
    ...channels.map((channel) => (message: AlertMessage) => channel.send(message.text, { look: message })),
    ...(webhook === undefined ? [] : [(message: AlertMessage) => webhook.send(withLinks(message.text, message))]),
  ]);
  const messageOf = (text: string) => troubleMessage({ title, text, section: name }, around);
  const textSince = (ms: number) => textOf(reason, `since ${utcTime(ms)}`);
  const alert = (message: AlertMessage, text: string): void => {
    log.error({ alert: text }, 'alert');
    send(message);
  };
  return {
    /** When the present trouble began, in ms since the epoch; `undefined` while there is none. */
    sinceMs: () => sinceMs,
    /** The present trouble; `undefined` if there is none, or if the operator has not been notified yet. */
    current: () => {
      if (!isNotified || sinceMs === undefined) return undefined;
      const text = textSince(sinceMs);
      return { name, text, sinceMs, message: messageOf(text) };
    },
    worked(): void {
      if (isNotified && sinceMs !== undefined) {
        const duration = durationInWords(now() - sinceMs);
        const text = `${ALERT_WORDS.resolved}: ${over}, ${seenByProcess()}. It lasted ${duration}.`;
        alert(plainMessage(text), text);
      }
      sinceMs = reason = undefined;
      isNotified = false;
      send();
    },
    failed(error: unknown): void {
      sinceMs ??= now();
      if (refusalOf(reason) === undefined || refusalOf(error) !== undefined) reason = error;
      if (!isNotified && now() - sinceMs >= afterMs) {
        isNotified = true;
        const text = textSince(sinceMs);
        alert(messageOf(text), text);
      }
      send();
    },
  };
}

/** Creates a function that queues a message, if any, for every channel, and sends each queue until a send fails. */
function createOutbox(channels: readonly ((message: AlertMessage) => Promise<SendResult>)[]) {
  const routes = channels.map((channel) => ({ channel, unsent: [] as AlertMessage[], isSending: false }));
  const sendAll = async (route: (typeof routes)[number]): Promise<void> => {
    if (route.isSending) return;
    route.isSending = true;
    for (let next = route.unsent[0]; next !== undefined; next = route.unsent[0]) {
      if (!(await route.channel(next)).ok) break;
      route.unsent.shift();
    }
    route.isSending = false;
  };
  return (message?: AlertMessage): void => {
    for (const route of routes) {
      if (message !== undefined) route.unsent.push(message);
      void sendAll(route);
    }
  };
}

/** The shards that refuse writes, in words; empty if every shard refuses. Pure. */
export function refusingShards({ refusing, shards }: RefusedWritesError): string {
  return refusing.length === shards ? '' : ` on ${refusing.length} of ${shards} shards (${refusing.join(', ')})`;
}

function redisTroubleText(error: unknown, since: string): string {
  const where = error instanceof RefusedWritesError ? refusingShards(error) : '';
  const subject = where === '' ? 'No message' : 'No message of the chats there';
  return `Redis takes no writes${where}: it ${refusalOf(error) ?? 'does not answer'}, ${since}, ${seenByProcess()}. ${subject} is accepted or answered until that changes; Telegram keeps new ones for 24 hours. Check the Redis server and REDIS_URL.`;
}

function watchdogTroubleText(error: unknown, since: string): string {
  const kind = error instanceof Error ? error.name : 'unknown';
  return `The watchdog fails (${kind}), ${since}, ${seenByProcess()}. Redis takes writes and messages are answered, but this process no longer notices trouble or sends alerts. The log has the error; see "watcher" in the runbook.`;
}

function seenByProcess(): string {
  return `as process ${process.pid} on ${hostname()} sees it`;
}
