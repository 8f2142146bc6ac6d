import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createWorld, startGateway } from '../fixture/gateway.ts';

/** The way of a plain message: the files and functions of the product that most of them run, and an idle gateway does not. */
export interface Way {
  files: string[];
  /** Each as `file name`. */
  functions: string[];
}

const CHAT = 1001;
const MESSAGES = 10;
const IDLE_MS = 3_000;
const root = fileURLToPath(new URL('../../', import.meta.url));
const PRODUCT = /^(?:producer|worker|shared)\//;

/**
 * Walks the way of a plain private message, from the update to the end of its lane, by V8's count of calls: what more
 * than half of ten messages ran, less what an idle gateway runs in three seconds. No gateway may have run before.
 */
export async function walkWay(): Promise<Way> {
  const world = await createWorld();
  const gateway = await startGateway(world);
  const session = new Session();
  session.connect();
  try {
    // What runs once in a process belongs to no message.
    await say(world, 'Hello');
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    const idle = await called(session);
    const ran: string[] = [];
    for (let nth = 0; nth < MESSAGES; nth++)
      ran.push(...(await say(world, `Hello ${nth}`).then(() => called(session))));
    const functions = [...Map.groupBy(ran, (name) => name)]
      .flatMap(([name, { length }]) => (length > MESSAGES / 2 && !idle.has(name) ? name : []))
      .sort();
    return { functions, files: [...new Set(functions.map((name) => name.split(' ')[0] ?? ''))] };
  } finally {
    session.disconnect();
    await gateway.stop();
    await world.close();
  }
}

async function say(world: Awaited<ReturnType<typeof createWorld>>, text: string): Promise<void> {
  const before = await world.peek.xlen(world.keys.outcomes);
  world.telegram.say(CHAT, text);
  while ((await world.peek.xlen(world.keys.outcomes)) === before) await new Promise((next) => setTimeout(next, 5));
}

/** Functions that ran since the last look, with where they begin. Reading the counts sets them back to zero. */
async function called(session: Session): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const found = new Set<string>();
  for (const { url, functions } of result) {
    const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : '';
    if (!PRODUCT.test(file)) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      // The first range of a file is its top level.
      if (range && range.count > 0 && !(functionName === '' && range.startOffset === 0))
        found.add(`${file} ${functionName || 'anonymous'}@${range.startOffset}`);
    }
  }
  return found;
}
