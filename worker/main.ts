import { runRoot } from '../shared/app/process.ts';
import { setUpWorker } from './adapters.ts';
import { settingProblems } from './setting-files.ts';

await runRoot('worker', 'spillway-worker', async (root) => [await setUpWorker(root)], settingProblems);
