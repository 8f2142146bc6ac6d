import { runRoot } from '../shared/root.ts';
import { startProducer } from './producer.ts';

await runRoot('producer', 'spillway-producer', async (root) => [startProducer(root)]);
