import { pause, type Service } from '../../shared/base/lifecycle.ts';
import type { Logger } from '../../shared/base/log.ts';
import { runLoop } from '../../shared/base/loop.ts';
import { METRIC, type Observability, traceIdOf } from '../../shared/base/telemetry.ts';
import type { Alert } from '../../shared/flow/alert.ts';
import { BLOCK_MS, type RedisClient } from '../../shared/redis/connection.ts';
import { untilNews } from '../../shared/redis/failover.ts';
import type { ChatKey, EntryId, Keys } from '../../shared/redis/keys.ts';
import type { Admission, Head } from '../../shared/state/lane/lanes.ts';
import { undecodableAlert } from '../alerts/causes/unanswered.ts';
import type { Lane } from './lane.ts';
import type { TurnQueue } from './queue.ts';

/** The lanes and the queue of a shard, and the function that discards entries that no turn can settle. */
interface LaneFlow {
  lane: Lane;
  queue: TurnQueue;
  discard: Discard;
  log: Logger;
}

/** The maximum number of entries that one call admits. A batch is 4 to 8 times as fast as the same entries one by one. */
const BATCH = 100;
const RETRY_MS = 500;

/**
 * Appends new entries of the stream to their lanes, and adds a job for the head of each of these lanes. If the process dies
 * between the two steps, the reconciler adds the job. Several dispatchers may run at the same time. `blocking` is a separate
 * connection for the blocking reads.
 */
export function startDispatcher(
  flow: LaneFlow & Observability,
  { inbound }: Pick<Keys, 'inbound'>,
  blocking: RedisClient,
): Service {
  let mustHeal = false;
  const loop = runLoop({
    name: 'dispatcher',
    async round() {
      if (mustHeal) await heal(flow);
      mustHeal = true;
      const { read, newest } = await dispatch(flow);
      // This blocking read only wakes the loop. `admit` itself reads the entries, and updates the lanes in the same step.
      if (read < BATCH) await untilNews(blocking, inbound, newest, BLOCK_MS);
      mustHeal = false;
      return 0;
    },
    retryMs: RETRY_MS,
    onError: (error) => flow.log.warn({ err: error }, 'dispatching failed; it is tried again'),
  });
  return {
    name: loop.name,
    async stop() {
      const stopping = loop.stop();
      const isBetweenTries = blocking.status === 'reconnecting';
      blocking.disconnect();
      // If ioredis is waiting to reconnect, a pending read never settles after `disconnect`. Then do not wait for the loop.
      if (!isBetweenTries) await stopping;
    },
  };
}

async function dispatch(flow: LaneFlow & Observability): Promise<Pick<Admission, 'read' | 'newest'>> {
  const { lane, queue, discard, reach, telemetry, log } = flow;
  const { newest, read, heads, broken, cancelled, refused } = await lane.admit(BATCH);
  if (read > 0) reach('admitted');
  await queue.add(heads);
  if (read > 0) reach('job added');
  await queue.promote(cancelled);
  await discard(broken);
  for (const { entry, chat, traceparent } of refused) {
    telemetry.count(METRIC.outcomes, { outcome: 'refused' });
    log.info({ entry, chat, outcome: 'refused', reason: 'lane_full', traceId: traceIdOf(traceparent) }, 'settled');
  }
  return { read, newest };
}

/** Recreates the consumer group if Redis has lost it, and makes one pass of the reconciler. Logs errors; never rejects. */
async function heal(flow: LaneFlow): Promise<void> {
  try {
    await flow.lane.prepare();
    await reconcile(flow);
  } catch (error) {
    flow.log.debug({ err: error }, 'not healed yet');
  }
}

/** Added to the remaining time of another reservation (`takePass`), because its owner may renew it at the same moment. */
const ASK_AGAIN_MS = 20;
/** The reconciler adds a job only if a head has had none for at least this time. Usually, other code adds the job sooner. */
const GRACE_MS = 250;
/** The maximum number of entries that one line of the log lists. */
const NAMED_MAX = 20;

/**
 * Repairs the lanes and the queue after crashes: puts pending entries back into the lanes that lack them, adds missing jobs,
 * ends delays that a wrong clock prolongs, discards entries that name no chat, and checks the ledger. Passes are idempotent and
 * may overlap. Each process makes one pass at its start; then all processes together make one every `everyMs`.
 */
export function startReconciler(flow: LaneFlow, everyMs: number): Service {
  let isFirst = true;
  return runLoop({
    name: 'reconciler',
    async round() {
      const otherPassMs = await flow.lane.takePass(everyMs);
      if (!isFirst && otherPassMs > 0) return otherPassMs + ASK_AGAIN_MS;
      await reconcile(flow);
      isFirst = false;
      return everyMs;
    },
    retryMs: everyMs,
    onError: (error) => flow.log.warn({ err: error }, 'reconciling failed; it is tried again'),
  });
}

/** Makes one pass of the reconciler. */
export async function reconcile(flow: LaneFlow, graceMs = GRACE_MS): Promise<void> {
  const { lane, queue, discard, log } = flow;
  const { heads, broken, restored, foreign } = await lane.readmit();
  if (restored > 0) log.warn({ restored }, 'pending entries were in no lane and were put back');
  const missing = await findAbandoned(heads, queue, graceMs);
  if (missing.broken > 0) log.error({ broken: missing.broken }, 'jobs stood in no list of the queue');
  await queue.add(missing.heads);
  await queue.endDelays(lane.nowMs());
  await discard(broken);
  if (foreign.length > 0)
    log.warn(
      { entries: foreign.slice(0, NAMED_MAX), of: foreign.length },
      'messages of lanes that this version does not know are left to a later one',
    );
  await proveLedger(flow);
}

/** Finds heads without a job. Looks again after a random pause, so that several processes do not all add the same jobs. */
async function findAbandoned(heads: readonly Head[], queue: TurnQueue, graceMs: number) {
  const missing = await queue.missing(heads);
  if (missing.heads.length === 0) return missing;
  await pause(graceMs * (1 + Math.random()));
  const second = await queue.missing(missing.heads);
  return { heads: second.heads, broken: missing.broken + second.broken };
}

/** Checks that the ledger adds up. Runs last, so that an unreadable ledger does not prevent any repair. */
async function proveLedger({ lane, log }: LaneFlow): Promise<void> {
  const { alert, lostData, isCounted, ...numbers } = await lane.ledger.check(lane.nowMs());
  if (!isCounted) log.info(numbers, 'the ledger begins to count');
  if (lostData) log.error(numbers, lostData.text);
  if (alert) log[numbers.unaccounted === 0 ? 'info' : 'error'](numbers, alert.text);
}

/** A message that no turn can settle, with the reason for the ledger and the log, and the alert to queue. */
interface Unanswerable {
  chat: ChatKey;
  reason: string;
  traceId: string;
  alert: Alert;
}

/** Settles entries as failed without a turn: entries that name no chat, or, with `why`, one message that no turn can settle. */
export type Discard = (entries: readonly EntryId[], why?: Unanswerable) => Promise<void>;

/** Creates a function that turns unsettled entries into dead letters, each with an alert. The chats get no notice. */
export function discardBroken(lane: Lane, { telemetry, log }: Observability): Discard {
  return async (entries, why) => {
    for (const entry of entries) {
      const record = {
        entry,
        ...(why && { chat: why.chat }),
        outcome: 'failed',
        reason: why?.reason ?? 'undecodable',
        traceId: why?.traceId ?? '',
        settledAtMs: lane.nowMs(),
        attempts: 0,
        recoveries: 0,
      } as const;
      const alert = JSON.stringify(why?.alert ?? undecodableAlert(entry));
      if (!(await lane.discard(entry, record, alert))) continue;
      telemetry.count(METRIC.outcomes, { outcome: record.outcome });
      log.error({ entry, reason: record.reason }, 'an entry was put aside');
    }
  };
}
