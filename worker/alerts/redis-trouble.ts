import { hostname } from 'node:os';
import type { Logger } from '../../shared/base/log.ts';
import type { AlertChannel } from './channel.ts';

/**
 * Notifies the operator, without Redis, that Redis takes no writes.
 *
 * Contract: both methods return at once and never throw. A notice is sent once, and retried at the next call when no
 * channel took it. Each process speaks for itself, since without Redis the processes cannot agree.
 */
export interface RedisTrouble {
  /** A write went through. */
  worked(): void;
  failed(error: unknown): void;
  /** Since when no write succeeds, in ms since the epoch; `undefined` while all is well. */
  sinceMs(): number | undefined;
}

export interface RedisTroublePorts {
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

/** Watches the writes of one process. */
export function watchRedis({ channels, log, afterMs, now = Date.now }: RedisTroublePorts): RedisTrouble {
  let sinceMs: number | undefined;
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
    sinceMs: () => sinceMs,
    worked() {
      if (isNotified && sinceMs !== undefined) notify(resolvedText(now() - sinceMs));
      sinceMs = undefined;
      isNotified = false;
      void send();
    },
    failed(error) {
      sinceMs ??= now();
      if (!isNotified && now() - sinceMs >= afterMs) {
        isNotified = true;
        notify(troubleText(error, sinceMs));
      }
      void send();
    },
  };
}

async function firstTaking(channels: readonly AlertChannel[], text: string): Promise<boolean> {
  for (const channel of channels) if ((await channel.send(text)).ok) return true;
  return false;
}

function troubleText(error: unknown, sinceMs: number): string {
  const message = error instanceof Error ? error.message : '';
  const said = WORDS.find(([pattern]) => pattern.test(message))?.[1] ?? 'does not answer';
  const since = new Date(sinceMs).toISOString().slice(0, 19).replace('T', ' ');
  return `Redis takes no writes: it ${said}, since ${since} UTC, as process ${process.pid} on ${hostname()} sees it. No message is accepted or answered until it does; Telegram keeps them for 24 hours. Check the Redis server, or where REDIS_URL leads.`;
}

function resolvedText(lastedMs: number): string {
  return `Resolved: Redis takes writes again, as process ${process.pid} on ${hostname()} sees it. It lasted ${Math.round(lastedMs / 1000)} seconds.`;
}
