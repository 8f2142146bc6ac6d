import { join } from 'node:path';
import type { Alert } from '../shared/alert.ts';
import { keysOf } from '../shared/keys.ts';
import { pause, type Service } from '../shared/lifecycle.ts';
import type { Logger } from '../shared/log.ts';
import type { RedisClient } from '../shared/redis.ts';
import { bindScript, type RunScript } from '../shared/script.ts';
import { createDeadMan, type DeadMan } from './dead-man.ts';
import {
  type Condition,
  conditionsOf,
  isPolled,
  type RuleLimits,
  resolvedBy,
  type Snapshot,
  type Watch,
} from './watch-rules.ts';
import { readSnapshot } from './watch-snapshot.ts';

export interface WatchdogParts {
  /** A fail-fast connection of its own; it is closed at the stop. */
  redis: RedisClient;
  shards: number;
  log: Logger;
  everyMs: number;
  limits: RuleLimits;
  /** Told after every check that found nothing, when somebody listens. */
  deadMan?: { url: string; everyMs: number };
}

export const WATCH_EVERY_MS = 15_000;

const REPEAT_MS = 3600_000;
/** How long an incident lasts that comes back within that time, until it is told of all the same. */
const RECURRING_MS = 300_000;

type Tell = 'told' | 'resolved' | 'quiet';

/**
 * Looks regularly for what is missing (answers, running jobs, polls, alerts that are sent, room in Redis) and tells the
 * operator when it begins and when it is over. The state is kept in Redis: several may run side by side, one of them
 * tells, and any of them closes what another opened. A check that fails is logged and made again.
 *
 * The dead-man's switch is told that all is well only when nothing at all is open and Telegram was polled a short while
 * ago. One message of one user that waits for too long keeps it silent too: where a bot has one user, that is an outage.
 */
export function startWatchdog(parts: WatchdogParts): Service {
  const stopping = new AbortController();
  const deadMan = parts.deadMan && createDeadMan({ ...parts.deadMan, log: parts.log });
  const running = watchRegularly(parts, deadMan, stopping.signal);
  return {
    name: 'watchdog',
    async stop() {
      stopping.abort();
      parts.redis.disconnect();
      await deadMan?.stop();
      await running;
    },
  };
}

/** The first check waits, so that what a start leaves to be done can be done first. */
async function watchRegularly(parts: WatchdogParts, deadMan: DeadMan | undefined, signal: AbortSignal): Promise<void> {
  const run = bindScript<Tell>(parts.redis, join(import.meta.dirname, 'scripts', 'watch.lua'));
  let before: Snapshot | undefined;
  let sinceMs: number | undefined;
  for (;;) {
    await pause(parts.everyMs, signal);
    if (signal.aborted) return;
    try {
      const now = await readSnapshot(parts.redis, parts.shards);
      sinceMs ??= now.nowMs;
      const watch = { now, before, sinceMs, limits: parts.limits };
      const isWell = await tellOf(watch, run, parts.log);
      if (isWell) deadMan?.ping();
      before = now;
    } catch (error) {
      before = undefined;
      if (!signal.aborted) parts.log.warn({ err: error }, 'the watchdog could not check; it tries again');
    }
  }
}

/** Opens and closes incidents. Answers whether all is well. */
async function tellOf(watch: Watch, run: RunScript<Tell>, log: Logger): Promise<boolean> {
  const { now } = watch;
  const conditions = conditionsOf(watch);
  for (const condition of conditions) {
    const told = await write(run, 'open', condition, now);
    if (told === 'told' && condition.by === 'log') log.error({ incident: condition.incident }, condition.text);
  }
  for (const over of resolvedBy(conditions, now)) {
    const told = await write(run, 'close', over, now);
    if (told === 'resolved' && over.by === 'log') log.error({ incident: over.incident }, over.text);
  }
  return conditions.length === 0 && isPolled(watch);
}

function write(run: RunScript<Tell>, what: 'open' | 'close', { incident, text, by }: Condition, now: Snapshot) {
  const keys = keysOf(0);
  // When it is told of is decided here, so the alerter must not take it for one that it has sent already.
  const alert: Alert = { incident: `${incident}-${what}-${now.nowMs}`, text };
  const queued = by === 'telegram' ? JSON.stringify(alert) : '';
  const openedMs = now.open.get(incident) ?? 0;
  return run([keys.watch, keys.alerts], [what, incident, now.nowMs, queued, REPEAT_MS, RECURRING_MS, openedMs]);
}
