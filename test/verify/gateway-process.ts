import { startProducer } from '../../producer/producer.ts';
import { runRoot } from '../../shared/app/process.ts';
import { HEARTBEAT_EVERY_MS } from '../../shared/state/process/receiver.ts';
import { setUpWorker } from '../../worker/adapters.ts';
import { ALERT_TAKE_OVER_MS, RETRY_MS } from '../../worker/alerts/alerter.ts';
import { SETTLE_MS } from '../../worker/alerts/outbox.ts';
import { REDIS_TROUBLE_MS } from '../../worker/alerts/redis-trouble.ts';
import { RECONCILE_EVERY_MS } from '../../worker/lane/dispatcher.ts';
import { QUEUE_LIMITS } from '../../worker/lane/queue.ts';
import { POLL_AGE_MS, PROVIDER_DOWN_MS } from '../../worker/watch/rules.ts';
import { WATCH_EVERY_MS } from '../../worker/watch/watchdog.ts';
import { FASTER } from './shorter.ts';

/** The gateway's own root. What it waits for is as much shorter as the rules that watch it. */
const limits = {
  // A lock that lasts less than a second would be lost on a busy machine.
  lockMs: Math.max(1_500, QUEUE_LIMITS.lockMs / FASTER),
  stalledCheckMs: Math.max(500, QUEUE_LIMITS.stalledCheckMs / FASTER),
  drainMs: 1_000,
  reconcileEveryMs: Math.max(500, RECONCILE_EVERY_MS / FASTER),
  alertEveryMs: 100,
  alertSettleMs: SETTLE_MS / FASTER,
  alertTakeOverMs: ALERT_TAKE_OVER_MS / FASTER,
  alertRetryMs: RETRY_MS / FASTER,
  watchEveryMs: WATCH_EVERY_MS / FASTER,
  pollAgeMs: POLL_AGE_MS / FASTER,
  providerDownMs: PROVIDER_DOWN_MS / FASTER,
  redisTroubleMs: REDIS_TROUBLE_MS / FASTER,
};
const receiving = { heartbeatEveryMs: HEARTBEAT_EVERY_MS / FASTER, leaseLastsMs: 2_000, leaseRetryMs: 100 };

await runRoot('gateway', 'spillway', async (root) => [await setUpWorker(root, limits), startProducer(root, receiving)]);
