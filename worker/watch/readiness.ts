import type { ReadinessPart } from '../../shared/app/health.ts';
import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import type { RefusedWritesError } from '../../shared/state/process/process.ts';
import type { Book } from '../alerts/book.ts';
import { refusingShards, type Trouble } from '../alerts/redis-trouble.ts';
import { PROVIDER_SAID } from '../model/errors/failure.ts';
import { colourOf, troublesOf } from './colour.ts';
import { type Snapshot, sum } from './snapshot.ts';

/** The present findings of a watchdog. */
export interface WatchdogView {
  /** The state at the last check; `undefined` before the first check, and while checks fail. */
  snapshot(): Snapshot | undefined;
  /** The book of incidents as last read or written. */
  book(): Book;
  /** Reporters for trouble outside the book: a shard takes no writes, or the watchdog fails although all shards take writes. */
  troubles: { redis: Trouble; watch: Trouble };
  /** The shards that take no writes; `undefined` if there are none, or before the first round of the watchdog. */
  refusedWrites(): RefusedWritesError | undefined;
}

type Check = Awaited<ReturnType<ReadinessPart['check']>>;

/**
 * The parts of `/readyz`: the dependencies of the gateway and its watchdog, with their states in words, and the colour of the
 * installation. Red is not ready, yellow is degraded. With `staysReady`, red is only degraded: a load balancer in front of a
 * webhook delivers only to ready processes, and without deliveries red would never end.
 */
export function readinessOf(view: WatchdogView, { staysReady }: { staysReady: boolean }): readonly ReadinessPart[] {
  const { snapshot, troubles } = view;
  const part = (name: string, check: () => Check): ReadinessPart => ({ name, check: async () => safely(check) });
  const snapshotPart = (name: string, check: (now: Snapshot) => Check): ReadinessPart =>
    part(name, () => {
      const now = snapshot();
      return now === undefined ? ready('not looked at yet') : check(now);
    });
  return [
    part('redis server', () => redisCheck(snapshot(), troubles.redis.sinceMs(), view.refusedWrites())),
    part('watchdog', () => watchCheck(troubles.watch.sinceMs())),
    snapshotPart('provider', providerCheck),
    snapshotPart('telegram', telegramCheck),
    snapshotPart('alerts', alertsCheck),
    snapshotPart('installation', (now) => installationCheck(now, view.book(), staysReady)),
  ];
}

const ready = (detail: string): Check => ({ ready: true, detail });
const degraded = (detail: string): Check => ({ ready: true, isDegraded: true, detail });

/** Runs the check of one part of the report. An error, such as unreadable data in Redis, makes only that part degraded. */
function safely(check: () => Check): Check {
  try {
    return check();
  } catch (error) {
    return degraded(`cannot be read (${(error as Error).name})`);
  }
}

/** Whether the watchdog of this process works. */
function watchCheck(troubleSinceMs: number | undefined): Check {
  return troubleSinceMs === undefined ? ready('looks') : degraded(`fails since ${utcTime(troubleSinceMs)}`);
}

/** The colour of the installation, with the worst trouble as the reason. Red is not ready, unless `staysReady` is set. */
function installationCheck(
  { nowMs, newest, shards }: Pick<Snapshot, 'nowMs' | 'newest' | 'shards'>,
  book: Book,
  staysReady = false,
): Check {
  const openLetters = sum(shards, (shard) => shard.openLetters);
  const troubles = troublesOf({ nowMs, newest, openLetters, conditions: [], incidents: [...book.values()] });
  const colour = colourOf(troubles);
  const [worst] = troubles;
  if (worst === undefined) return ready(colour);
  const detail = `${colour}: ${worst.text} Runbook: ${worst.cause}`;
  return colour === 'red' && !staysReady ? { ready: false, detail } : degraded(detail);
}

/**
 * The state of Redis. If Redis takes no writes, says since when. If only some shards refuse writes, the process stays ready,
 * because it still serves the other shards.
 */
export function redisCheck(
  now: Snapshot | undefined,
  troubleSinceMs: number | undefined,
  refusedWrites?: RefusedWritesError,
): Check {
  if (troubleSinceMs !== undefined) {
    const where = refusedWrites === undefined ? '' : refusingShards(refusedWrites);
    const detail = `takes no writes${where} since ${utcTime(troubleSinceMs)}`;
    return where === '' ? { ready: false, detail } : degraded(detail);
  }
  if (now === undefined) return ready('not looked at yet');
  const { role, usedBytes, maxBytes, unwritten } = now.redis;
  const room = maxBytes === 0 ? 'without a limit' : `of ${megabytes(maxBytes)} MB`;
  const detail = `${role}, takes writes, ${megabytes(usedBytes)} MB used ${room}`;
  return unwritten === undefined ? ready(detail) : degraded(`${detail}; cannot write its files (${unwritten})`);
}

/** The result of the latest model calls. */
export function providerCheck({ provider: { failing, lastAnswerMs } }: Pick<Snapshot, 'provider'>): Check {
  if (failing !== undefined) {
    const { why, sinceMs, failures, status } = failing;
    const calls = `${counted(failures, 'call')} failed (status ${status === '' ? 'none' : status})`;
    return degraded(`${PROVIDER_SAID[why]} since ${utcTime(sinceMs)}: ${calls}`);
  }
  return ready(lastAnswerMs === undefined ? 'not asked yet' : `last answered ${utcTime(lastAnswerMs)}`);
}

/** The result of the latest polls or webhook checks. */
export function telegramCheck({ poll, nowMs }: Pick<Snapshot, 'poll' | 'nowMs'>): Check {
  if (poll === undefined) return ready('nobody has received yet');
  const lastAnswerMs = poll.lastAnswerMs ?? 0;
  const lastAnswer = lastAnswerMs === 0 ? 'never answered' : `last answered ${utcTime(lastAnswerMs)}`;
  if ((poll.unauthorizedMs ?? 0) > lastAnswerMs)
    return {
      ready: false,
      detail: `does not accept the bot token (${utcTime(poll.unauthorizedMs ?? 0)}); ${lastAnswer}`,
    };
  const isConflict = nowMs - (poll.conflictMs ?? 0) < CONFLICT_RECENT_MS;
  if (isConflict) return degraded(`another process receives too; ${lastAnswer}`);
  const isFailing = (poll.otherMs ?? 0) > lastAnswerMs;
  return isFailing ? degraded(`${lastAnswer}; fails since then: ${poll.otherKind ?? 'unknown'}`) : ready(lastAnswer);
}

/** Whether alerts reach the operator. */
export function alertsCheck({ alerting: { failing, lastSentMs } }: Pick<Snapshot, 'alerting'>): Check {
  if (failing !== undefined) return degraded(`cannot be sent since ${utcTime(failing.sinceMs)} (${failing.why})`);
  return ready(lastSentMs === undefined ? 'none was sent yet' : `last sent ${utcTime(lastSentMs)}`);
}

const CONFLICT_RECENT_MS = 120_000;

function megabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
