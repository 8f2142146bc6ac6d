import type { Root } from '../shared/app/process.ts';
import { stopAll } from '../shared/base/lifecycle.ts';
import { openEndpoint } from './endpoint.ts';
import { FEATURES } from './features.ts';
import { LIMITS, type Limits } from './limits.ts';
import { priceProblem, readSettingFiles } from './setting-files.ts';
import { NO_TOOLS } from './tools/toolbox.ts';
import { withExclusions } from './tools/toolboxes.ts';
import { startWorker } from './worker.ts';

/** Builds the worker's adapters from the settings and starts it. Rejects when a file that they name cannot be read. */
export async function setUpWorker(root: Root, shorter: Partial<Limits> = {}) {
  const { settings } = root;
  const limits = { ...LIMITS, ...shorter };
  const files = await readSettingFiles(settings, settings.MODELS);
  const price = priceProblem(settings, files);
  const all = [...files.problems, ...(price === undefined ? [] : [price])];
  if (all.length > 0) throw new Error(all.join('\n'));
  const outer = await Promise.all(FEATURES.map((each) => each.outerTools?.(root, files, limits)));
  const [tools = NO_TOOLS] = outer.filter((each) => each !== undefined);
  // Connected only when every file could be read: nobody would close the connection of a start that failed.
  const endpoint = openEndpoint(root, files.prices, limits);
  const worker = await startWorker(root, { model: endpoint.model, files, tools: withExclusions(tools), limits });
  const pages = (await Promise.all(FEATURES.map((each) => each.serve?.(root)))).filter((each) => each !== undefined);
  return {
    ...worker,
    routes: pages.flatMap(({ routes }) => routes),
    async stop() {
      await stopAll(pages, root.log);
      await worker.stop();
      await endpoint.stop();
    },
  };
}
