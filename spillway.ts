import { startProducer } from './producer/producer.ts';
import { runRoot } from './shared/app/process.ts';
import { setUpWorker } from './worker/adapters.ts';

await runRoot('gateway', 'spillway', async (root) => [await setUpWorker(root), startProducer(root)]);
