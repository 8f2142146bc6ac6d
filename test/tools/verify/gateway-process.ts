import { startProducer } from '../../../producer/producer.ts';
import { runRoot } from '../../../shared/app/process.ts';
import { HEARTBEAT_EVERY_MS } from '../../../shared/state/process/receiver.ts';
import { setUpWorker } from '../../../worker/adapters.ts';
import { LIMITS } from '../../../worker/limits.ts';
import { FASTER } from './shorter.ts';

/** The gateway's own root. What it waits for is as much shorter as the rules that watch it. */
const limits = {
  // A lock that lasts less than a second would be lost on a busy machine.
  lockMs: Math.max(1_500, LIMITS.lockMs / FASTER),
  stalledCheckMs: Math.max(500, LIMITS.stalledCheckMs / FASTER),
  drainMs: 1_000,
  reconcileEveryMs: Math.max(500, LIMITS.reconcileEveryMs / FASTER),
  alertEveryMs: 100,
  alertSettleMs: LIMITS.alertSettleMs / FASTER,
  alertTakeOverMs: LIMITS.alertTakeOverMs / FASTER,
  alertRetryMs: LIMITS.alertRetryMs / FASTER,
  watchEveryMs: LIMITS.watchEveryMs / FASTER,
  pollAgeMs: LIMITS.pollAgeMs / FASTER,
  providerDownMs: LIMITS.providerDownMs / FASTER,
  redisTroubleMs: LIMITS.redisTroubleMs / FASTER,
};
const receiving = { heartbeatEveryMs: HEARTBEAT_EVERY_MS / FASTER, leaseLastsMs: 2_000, leaseRetryMs: 100 };

await runRoot('gateway', 'spillway', async (root) => [await setUpWorker(root, limits), startProducer(root, receiving)]);
