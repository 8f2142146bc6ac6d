import { runRoot } from '../shared/app/process.ts';
import { startProducer } from './producer.ts';

await runRoot('producer', 'spillway-producer', async (root) => [startProducer(root)]);
