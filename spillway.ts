import { startProducer } from './producer/producer.ts';
import { runRoot } from './shared/root.ts';
import { setUpWorker } from './worker/setup.ts';

await runRoot('gateway', 'spillway', async (root) => [await setUpWorker(root), startProducer(root)]);
