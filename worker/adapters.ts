import type { Root } from '../shared/app/process.ts';
import { stopAll } from '../shared/base/lifecycle.ts';
import { openEndpoint } from './endpoint.ts';
import { FEATURES } from './features.ts';
import { LIMITS, type Limits } from './limits.ts';
import { priceProblem, readSettingFiles } from './setting-files.ts';
import { NO_TOOLS } from './tools/toolbox.ts';
import { withExclusions } from './tools/toolboxes.ts';
import { startWorker } from './worker.ts';

/** Builds and starts the worker. Rejects with every problem of the files that settings name, a missing price included. */
export async function setUpWorker(root: Root, shorter: Partial<Limits> = {}) {
  const { settings } = root;
  const limits = { ...LIMITS, ...shorter };
  const files = await readSettingFiles(settings, settings.MODELS);
  const price = priceProblem(settings, files);
  const problems = [...files.problems, ...(price === undefined ? [] : [price])];
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const toolboxes = await Promise.all(FEATURES.map((each) => each.outerTools?.(root, files, limits)));
  const [tools = NO_TOOLS] = toolboxes.filter((each) => each !== undefined);
  // Connect after every check, since nothing would close the connection of a start that fails.
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
