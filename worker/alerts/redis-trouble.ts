import { hostname } from 'node:os';
import type { Logger } from '../../shared/base/log.ts';
import { inSeconds } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/utc-time.ts';
import type { AlertChannel } from './channel.ts';

export type Trouble = ReturnType<typeof watchFor>;

export interface TroublePorts {
  channels: readonly AlertChannel[];
  log: Logger;
  /** Trouble that lasts this long is notified: a failover is over by then. */
  afterMs: number;
  now?: () => number;
}

export const REDIS_TROUBLE_MS = 15_000;

/** Redis' errors about writes, and what an operator calls each. */
const WORDS: readonly (readonly [error: RegExp, said: string])[] = [
  [/READONLY/, 'is a read-only replica'],
  [/\bOOM\b/, 'is full (maxmemory)'],
  [/MISCONF/, 'cannot write its files'],
  [/LOADING/, 'is still loading its data'],
  [/NOREPLICAS/, 'has too few replicas to accept writes'],
  [/NOAUTH|WRONGPASS|NOPERM/, 'does not accept our user or password'],
];

/** What an error of Redis says is wrong with it; `undefined` for one that names no cause, such as a timeout. */
function saidBy(error: unknown): string | undefined {
  return error instanceof Error ? WORDS.find(([pattern]) => pattern.test(error.message))?.[1] : undefined;
}

/** What stands in Redis, or what we make of it, is at fault. */
const OURS: ReadonlySet<string> = new Set(['ReplyError', 'SyntaxError', 'TypeError', 'RangeError']);
const REDIS_WELL = /\b(?:WRONGTYPE|ERR|NOGROUP|BUSYKEY)\b/;

/** Whether an error is about data, or a fault of ours, while Redis itself is well. */
export function isAboutData(error: unknown): boolean {
  if (!(error instanceof Error) || !OURS.has(error.name)) return false;
  return saidBy(error) === undefined && (error.name !== 'ReplyError' || REDIS_WELL.test(error.message));
}

/** Watches the writes of one process. */
export function watchRedis(ports: TroublePorts) {
  return watchFor(ports, { begun: redisTroubleText, over: 'Resolved: Redis takes writes again' });
}

/** Watches the watchdog of one process, which cannot tell of itself: its own notices need a book that it can write. */
export function watchWatchdog(ports: TroublePorts) {
  return watchFor(ports, { begun: watchdogTroubleText, over: 'Resolved: the watchdog looks again' });
}

/**
 * Notifies the operator, without Redis and its book of incidents, of what would keep these from being of use.
 *
 * Contract: `worked` and `failed` return at once and never throw. A notice is sent once, and retried at the next call when
 * no channel took it. Each process speaks for itself, since without Redis the processes cannot agree.
 */
function watchFor(
  { channels, log, afterMs, now = Date.now }: TroublePorts,
  words: { begun(error: unknown, since: string): string; over: string },
) {
  let sinceMs: number | undefined;
  /** The newest error, but none that names a cause gives way to one that does not. */
  let telling: unknown;
  let isNotified = false;
  let isSending = false;
  const unsent: string[] = [];
  const notify = (text: string): void => {
    log.error({ alert: text }, 'alert');
    unsent.push(text);
  };
  const send = async (): Promise<void> => {
    const [text] = unsent;
    if (isSending || text === undefined) return;
    isSending = true;
    const isSent = channels.length === 0 || (await firstTaking(channels, text));
    if (isSent) unsent.shift();
    isSending = false;
    if (isSent) await send();
  };
  return {
    /** Since when nothing works, in ms since the epoch; `undefined` while all is well. */
    sinceMs: () => sinceMs,
    worked(): void {
      if (isNotified && sinceMs !== undefined)
        notify(`${words.over}, ${asSeenHere()}. It lasted ${inSeconds(now() - sinceMs)}.`);
      sinceMs = telling = undefined;
      isNotified = false;
      void send();
    },
    failed(error: unknown): void {
      sinceMs ??= now();
      if (saidBy(telling) === undefined || saidBy(error) !== undefined) telling = error;
      if (!isNotified && now() - sinceMs >= afterMs) {
        isNotified = true;
        notify(words.begun(telling, `since ${utcTime(sinceMs)}`));
      }
      void send();
    },
  };
}

async function firstTaking(channels: readonly AlertChannel[], text: string): Promise<boolean> {
  for (const channel of channels) if ((await channel.send(text)).ok) return true;
  return false;
}

function redisTroubleText(error: unknown, since: string): string {
  return `Redis takes no writes: it ${saidBy(error) ?? 'does not answer'}, ${since}, ${asSeenHere()}. No message is accepted or answered until it does; Telegram keeps them for 24 hours. Check the Redis server, or where REDIS_URL leads.`;
}

function watchdogTroubleText(error: unknown, since: string): string {
  const kind = error instanceof Error ? error.name : 'unknown';
  return `The watchdog fails (${kind}), ${since}, ${asSeenHere()}. Redis takes writes and messages are answered, but this process notices nothing and tells nobody. The log has the error; see the section "watcher" of the runbook.`;
}

function asSeenHere(): string {
  return `as process ${process.pid} on ${hostname()} sees it`;
}
