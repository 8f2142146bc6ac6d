import type { ReadinessPart } from '../../shared/app/health.ts';
import { counted } from '../../shared/base/text.ts';
import { utcTime } from '../../shared/base/wall-time.ts';
import type { RefusedWritesError } from '../../shared/state/process/process.ts';
import type { Book } from '../alerts/book.ts';
import { refusingShards, type Trouble } from '../alerts/redis-trouble.ts';
import { PROVIDER_SAID } from '../model/errors/failure.ts';
import { colourOf, troublesOf } from './colour.ts';
import { type Snapshot, sum } from './snapshot.ts';

/** What a watchdog knows now. */
export interface Watching {
  /** What the last check saw; `undefined` before the first, and while it fails. */
  snapshot(): Snapshot | undefined;
  /** The incidents, as they were last read or written. */
  book(): Book;
  /**
   * Trouble that is reported without the book: a shard, or all, take no writes; or the watchdog fails although Redis takes
   * them.
   */
  troubles: { redis: Trouble; watch: Trouble };
  /** Which shards they are; `undefined` also where that is not known. */
  refusedWrites(): RefusedWritesError | undefined;
}

type Check = Awaited<ReturnType<ReadinessPart['check']>>;

/**
 * The state of each thing that the gateway needs, in plain words, and since when; and that of the whole installation, as
 * the command line's `status` has it. Red is not ready, yellow is degraded. `staysReady`: something in between delivers
 * only to processes that are ready, so red is degraded too, or what a delivery would heal lasted for ever.
 */
export function readinessOf(watching: Watching, { staysReady }: { staysReady: boolean }): readonly ReadinessPart[] {
  const { snapshot, troubles } = watching;
  const part = (name: string, check: () => Check): ReadinessPart => ({ name, check: async () => checkedAlone(check) });
  const ofSnapshot = (name: string, check: (now: Snapshot) => Check): ReadinessPart =>
    part(name, () => {
      const now = snapshot();
      return now === undefined ? ready('not looked at yet') : check(now);
    });
  return [
    part('redis server', () => redisCheck(snapshot(), troubles.redis.sinceMs(), watching.refusedWrites())),
    part('watchdog', () => watchCheck(troubles.watch.sinceMs())),
    ofSnapshot('provider', providerCheck),
    ofSnapshot('telegram', telegramCheck),
    ofSnapshot('alerts', alertsCheck),
    ofSnapshot('installation', (now) => installationCheck(now, watching.book(), staysReady)),
  ];
}

const ready = (detail: string): Check => ({ ready: true, detail });
const degraded = (detail: string): Check => ({ ready: true, isDegraded: true, detail });

/** What stands in Redis of a part may be unreadable. */
function checkedAlone(check: () => Check): Check {
  try {
    return check();
  } catch (error) {
    return degraded(`cannot be read (${(error as Error).name})`);
  }
}

/** Whether this process notices anything. */
function watchCheck(troubleSinceMs: number | undefined): Check {
  return troubleSinceMs === undefined ? ready('looks') : degraded(`fails since ${utcTime(troubleSinceMs)}`);
}

/** The colour of the installation, and why. */
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
 * What Redis reports about itself, or since when it takes no writes. Some shards that take none make a process no less
 * ready: it receives and answers for the others.
 */
export function redisCheck(
  now: Snapshot | undefined,
  troubleSinceMs: number | undefined,
  refused?: RefusedWritesError,
): Check {
  if (troubleSinceMs !== undefined) {
    const where = refused === undefined ? '' : refusingShards(refused);
    const detail = `takes no writes${where} since ${utcTime(troubleSinceMs)}`;
    return where === '' ? { ready: false, detail } : degraded(detail);
  }
  if (now === undefined) return ready('not looked at yet');
  const { role, usedBytes, maxBytes, unwritten } = now.redis;
  const room = maxBytes === 0 ? 'without a limit' : `of ${megabytes(maxBytes)} MB`;
  const detail = `${role}, takes writes, ${megabytes(usedBytes)} MB used ${room}`;
  return unwritten === undefined ? ready(detail) : degraded(`${detail}; cannot write its files (${unwritten})`);
}

/** How the last real model calls went. */
export function providerCheck({ provider: { failing, lastAnswerMs } }: Pick<Snapshot, 'provider'>): Check {
  if (failing !== undefined) {
    const { why, sinceMs, failures, status } = failing;
    const calls = `${counted(failures, 'call')} failed (status ${status === '' ? 'none' : status})`;
    return degraded(`${PROVIDER_SAID[why]} since ${utcTime(sinceMs)}: ${calls}`);
  }
  return ready(lastAnswerMs === undefined ? 'not asked yet' : `last answered ${utcTime(lastAnswerMs)}`);
}

/** How the last polls or webhook checks went. */
export function telegramCheck({ poll, nowMs }: Pick<Snapshot, 'poll' | 'nowMs'>): Check {
  if (poll === undefined) return ready('nobody has received yet');
  const answeredMs = poll.lastAnswerMs ?? 0;
  const answered = answeredMs === 0 ? 'never answered' : `last answered ${utcTime(answeredMs)}`;
  if ((poll.unauthorizedMs ?? 0) > answeredMs)
    return {
      ready: false,
      detail: `does not accept the bot token (${utcTime(poll.unauthorizedMs ?? 0)}); ${answered}`,
    };
  const isConflict = nowMs - (poll.conflictMs ?? 0) < CONFLICT_RECENT_MS;
  if (isConflict) return degraded(`another process receives too; ${answered}`);
  const isFailing = (poll.otherMs ?? 0) > answeredMs;
  return isFailing ? degraded(`${answered}; fails since then: ${poll.otherKind ?? 'unknown'}`) : ready(answered);
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
