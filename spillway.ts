import { startProducer } from './producer/producer.ts';
import { runRoot } from './shared/app/process.ts';
import { runSupervised } from './shared/app/supervisor.ts';
import { setUpWorker } from './worker/adapters.ts';
import { settingProblems } from './worker/setting-files.ts';

await runSupervised('gateway', () =>
  runRoot('gateway', 'spillway', async (root) => [await setUpWorker(root), startProducer(root)], settingProblems),
);
