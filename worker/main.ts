import { runRoot } from '../shared/root.ts';
import { setUpWorker } from './setup.ts';

await runRoot('worker', 'spillway-worker', async (root) => [await setUpWorker(root)]);
