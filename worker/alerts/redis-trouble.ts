import { hostname } from 'node:os';
import type { Logger } from '../../shared/base/log.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import { refusalOf } from '../../shared/redis/server-state.ts';
import { RefusedWritesError } from '../../shared/state/process/process.ts';
import { ALERT_WORDS } from './causes/words.ts';
import { type AlertChannel, type Sent, withLinks } from './channel.ts';
import { endPage, type Page, type Surroundings, troublePage } from './notice-text.ts';
import type { Webhook } from './webhook.ts';

export type Trouble = ReturnType<typeof watchFor>;

export interface TroublePorts {
  channels: readonly Pick<AlertChannel, 'send'>[];
  webhook?: Webhook | undefined;
  log: Logger;
  /** Trouble that lasts this long is notified: a failover is over by then. */
  afterMs: number;
  now?: () => number;
  /** Where an operator reads on. */
  around?: Surroundings;
}

export const REDIS_TROUBLE_MS = 15_000;

/** What stands in Redis, or what we make of it, is at fault. */
const OURS: ReadonlySet<string> = new Set(['ReplyError', 'SyntaxError', 'TypeError', 'RangeError']);
const REDIS_WELL = /\b(?:WRONGTYPE|ERR|NOGROUP|BUSYKEY)\b/;

/** Whether an error is about data, or a fault of ours, while Redis itself is well. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error) || !OURS.has(error.name)) return false;
  return refusalOf(error) === undefined && (error.name !== 'ReplyError' || REDIS_WELL.test(error.message));
}

/** Watches the writes of one process. */
export function watchRedis(ports: TroublePorts) {
  return watchFor(ports, { name: 'redis-writes', begun: redisTroubleText, said: 'redisWrites' });
}

/** Watches the watchdog of one process, which cannot tell of itself: its own notices need a book that it can write. */
export function watchWatchdog(ports: TroublePorts) {
  return watchFor(ports, { name: 'watcher', begun: watchdogTroubleText, said: 'watchdog' });
}

/**
 * Notifies the operator, without Redis and its book of incidents, of what would keep these from being of use.
 *
 * Contract: `worked` and `failed` return at once and never throw. A notice is sent once, and retried at the next call when
 * no channel took it. Each process speaks for itself, since without Redis the processes cannot agree.
 */
function watchFor(ports: TroublePorts, words: Words) {
  const { afterMs, now = Date.now } = ports;
  const teller = createTeller(ports, words);
  let sinceMs: number | undefined;
  /** The newest error, but none that names a cause gives way to one that does not. */
  let telling: unknown;
  let isNotified = false;
  return {
    /** Since when nothing works, in ms since the epoch; `undefined` while all is well. */
    sinceMs: () => sinceMs,
    /** The trouble that the operator was notified of and that goes on. */
    current: () => {
      if (!isNotified || sinceMs === undefined) return undefined;
      const text = words.begun(telling, `since ${utcTime(sinceMs)}`);
      return { name: words.name, text, sinceMs, page: teller.pageOf({ text, isOver: false }) };
    },
    worked(): void {
      if (isNotified && sinceMs !== undefined) {
        teller.say({ text: overText(words, now() - sinceMs), isOver: true });
      }
      sinceMs = telling = undefined;
      isNotified = false;
      void teller.send();
    },
    failed(error: unknown): void {
      sinceMs ??= now();
      if (refusalOf(telling) === undefined || refusalOf(error) !== undefined) telling = error;
      if (!isNotified && now() - sinceMs >= afterMs) {
        isNotified = true;
        teller.say({ text: words.begun(telling, `since ${utcTime(sinceMs)}`), isOver: false });
      }
      void teller.send();
    },
  };
}

/** What is said of trouble; its name is that of its section of the runbook, too. */
interface Words {
  name: string;
  begun(error: unknown, since: string): string;
  /** Its title and its end in `ALERT_WORDS`. */
  said: 'redisWrites' | 'watchdog';
}

/** A notice about trouble: that it has begun, or is over. */
interface Saying {
  text: string;
  isOver: boolean;
}

/** A channel with the notices that it has not taken yet, oldest first. */
interface Route {
  send(page: Page): Promise<Sent>;
  unsent: Saying[];
  isSending: boolean;
}

/** Sends each notice by every channel, in order; what one channel does not take holds up no other one. */
function createTeller({ channels, webhook, log, around = {} }: TroublePorts, { name, said }: Words) {
  const { title } = ALERT_WORDS[said];
  const pageOf = ({ text, isOver }: Saying) =>
    isOver ? endPage(text) : troublePage({ title, text, section: name }, around);
  const sends = [
    ...channels.map((channel) => (page: Page) => channel.send(page.text, { look: page })),
    ...(webhook === undefined ? [] : [(page: Page) => webhook.send(withLinks(page.text, page))]),
  ];
  const routes: Route[] = sends.map((send) => ({ send, unsent: [], isSending: false }));
  return {
    pageOf,
    say(saying: Saying): void {
      log.error({ alert: saying.text }, 'alert');
      for (const { unsent } of routes) unsent.push(saying);
    },
    send: () => Promise.all(routes.map(sendAll)),
  };

  async function sendAll(route: Route): Promise<void> {
    if (route.isSending) return;
    route.isSending = true;
    for (let next = route.unsent[0]; next !== undefined; next = route.unsent[0]) {
      if (!(await route.send(pageOf(next))).ok) break;
      route.unsent.shift();
    }
    route.isSending = false;
  }
}

function overText({ said }: Words, lastedMs: number): string {
  const { resolved, [said]: end } = ALERT_WORDS;
  return `${resolved}: ${ALERT_WORDS.seenBy(end.over, process.pid, hostname(), Math.round(lastedMs / 1_000))}`;
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
  return `The watchdog fails (${kind}), ${since}, ${asSeenHere()}. Redis takes writes and messages are answered, but this process notices nothing and tells nobody. The log has the error; see the section "watcher" of the runbook.`;
}

function asSeenHere(): string {
  return `as process ${process.pid} on ${hostname()} sees it`;
}
