import { hostname } from 'node:os';
import type { Root } from '../../shared/app/process.ts';
import type { Logger } from '../../shared/base/log.ts';
import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';
import { RefusedWritesError } from '../../shared/state/process/process.ts';
import type { Limits } from '../limits.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { type AlertChannel, type Channels, followedChat, type Sent, withLinks } from './channel.ts';
import { type AlertMessage, plainMessage, type Surroundings, surroundingsOf, troubleMessage } from './message.ts';
import type { Webhook } from './webhook.ts';

export type Trouble = ReturnType<typeof watchFor>;

/** What trouble of one process is reported with. */
interface Reporting {
  channels: readonly Pick<AlertChannel, 'send'>[];
  webhook?: Webhook | undefined;
  log: Logger;
  /** Trouble that lasts this long is notified. */
  afterMs: number;
  now?: () => number;
  /** Where an operator reads on. */
  around?: Surroundings;
}

/** The trouble of this process that it reports to the channels itself: of Redis, and of its watchdog. */
export function watchTroubles(
  { settings, log, limits }: Pick<Root, 'settings' | 'log'> & { limits: Limits },
  { chatId, telegram, webhook }: Channels,
): { redis: Trouble; watch: Trouble } {
  const channels = chatId === undefined ? [] : [followedChat(telegram, chatId)];
  const reporting = { channels, webhook, log, around: surroundingsOf(settings), afterMs: limits.redisTroubleMs };
  return { redis: watchRedis(reporting), watch: watchWatchdog(reporting) };
}

/** Watches the writes of one process. */
export function watchRedis(reporting: Reporting) {
  return watchFor(reporting, { name: 'redis-writes', textOf: redisTroubleText, ...ALERT_WORDS.redisWrites });
}

/** Watches the watchdog of one process, whose own alerts need a book that it can write. */
function watchWatchdog(reporting: Reporting) {
  return watchFor(reporting, { name: 'watcher', textOf: watchdogTroubleText, ...ALERT_WORDS.watchdog });
}

interface Words {
  /** Also the name of its section of the runbook. */
  name: string;
  title: string;
  textOf(error: unknown, since: string): string;
  /** How its end reads. */
  over: string;
}

/**
 * Notifies the operator directly, without Redis and its book of incidents: once when the trouble has lasted `afterMs`, and
 * once when it is over.
 *
 * Contract: `worked` and `failed` return at once and never throw. An alert that a channel did not take is sent again at the
 * next call. Each process speaks for itself, since without Redis the processes cannot agree.
 */
function watchFor(reporting: Reporting, { name, title, textOf, over }: Words) {
  const { channels, webhook, log, afterMs, now = Date.now, around = {} } = reporting;
  let sinceMs: number | undefined;
  /** The newest error, but an error that names a cause stays before one that does not. */
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
    /** Since when nothing works, in ms since the epoch; `undefined` while all is well. */
    sinceMs: () => sinceMs,
    /** The trouble that the operator was notified of and that goes on. */
    current: () => {
      if (!isNotified || sinceMs === undefined) return undefined;
      const text = textSince(sinceMs);
      return { name, text, sinceMs, message: messageOf(text) };
    },
    worked(): void {
      if (isNotified && sinceMs !== undefined) {
        const lasted = counted(Math.round((now() - sinceMs) / 1_000), 'second');
        const text = `${ALERT_WORDS.resolved}: ${over}, ${asSeenHere()}. It lasted ${lasted}.`;
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

/** Sends each message by every channel, in order; a message that one channel does not take holds up no other channel. */
function createOutbox(channels: readonly ((message: AlertMessage) => Promise<Sent>)[]) {
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

/** On which shards nothing can be written, in words; empty where it is all of them. Pure. */
export function refusingShards({ refusing, shards }: RefusedWritesError): string {
  return refusing.length === shards ? '' : ` on ${refusing.length} of ${shards} shards (${refusing.join(', ')})`;
}

function redisTroubleText(error: unknown, since: string): string {
  const where = error instanceof RefusedWritesError ? refusingShards(error) : '';
  const whose = where === '' ? 'No message' : 'No message of the chats there';
  return `Redis takes no writes${where}: it ${refusalOf(error) ?? 'does not answer'}, ${since}, ${asSeenHere()}. ${whose} is accepted or answered until it does; Telegram keeps them for 24 hours. Check the Redis server, or where REDIS_URL leads.`;
}

function watchdogTroubleText(error: unknown, since: string): string {
  const kind = error instanceof Error ? error.name : 'unknown';
  return `The watchdog fails (${kind}), ${since}, ${asSeenHere()}. Redis takes writes and messages are answered, but this process notices nothing and alerts nobody. The log has the error; see the section "watcher" of the runbook.`;
}

function asSeenHere(): string {
  return `as process ${process.pid} on ${hostname()} sees it`;
}
