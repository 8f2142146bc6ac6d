/** Searches a chat in a fresh process, again and again, and prints what that took: `search-chat.ts <Redis URL> <folder> <session>`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { keysOf, type SessionId } from '../../../shared/redis/keys.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { createChatMemory } from '../../../worker/features/recall/chat-memory.ts';
import { percentile } from './bench.ts';

const LATER = ['the image cache', 'ticket 4711', 'src/billing-7.ts', 'which lock did the worker wait for?', '搜尋索引'];
const NS_PER_MS = 1e6;

const [redisUrl = '', folder = '', session = ''] = process.argv.slice(2);
const redis = connectRedis(redisUrl, 'patient');
const memory = createChatMemory({ redis, keys: keysOf(0), blobs: createFileBlobs(folder) });

async function search(question: string) {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  const { size, quotes } = await memory.search(session as SessionId, question);
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  delays.disable();
  return { ms, cpuMs: (user + system) / 1_000, pauseMs: delays.max / NS_PER_MS, size, quotes: quotes.length };
}

await redis.ping();
const first = await search('What did we say about the state of the search index in turn 2711?');
if (first.quotes === 0) throw new Error('nothing was found');
const later: Awaited<ReturnType<typeof search>>[] = [];
for (const question of LATER) later.push(await search(question));
redis.disconnect();
const { ms: firstMs, cpuMs: firstCpuMs, size: messages } = first;
const [laterMs, laterCpuMs] = (['ms', 'cpuMs'] as const).map((what) =>
  percentile(
    later.map((each) => each[what]),
    0.5,
  ),
);
const pauseMs = Math.max(...[first, ...later].map((each) => each.pauseMs));
process.stdout.write(JSON.stringify({ firstMs, pauseMs, firstCpuMs, laterMs, laterCpuMs, messages }));
