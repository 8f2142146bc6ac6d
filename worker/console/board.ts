import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { Queue } from 'bullmq';
import { Hono } from 'hono';
import { type Keys, TURNS_QUEUE } from '../../shared/redis/keys.ts';
import { type ReportSource, shardsOf } from '../report/report.ts';
import { BOARD, HOME } from './pages/layout.ts';

/**
 * Bull Board over the queues of all shards. It only shows: a job that it removed or retried would be against the order
 * of its lane. A job names a message and its chat, and holds no words.
 */
export function createBoard(source: ReportSource): Hono {
  const adapter = new HonoAdapter(serveStatic);
  adapter.setBasePath(BOARD);
  const queues = shardsOf(source).map((keys, shard) => boardQueue(source, keys, shard));
  createBullBoard({
    queues,
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Spillway', hideDocsLink: true, miscLinks: [{ text: 'Console', url: HOME }] } },
  });
  return new Hono().route(BOARD, adapter.registerPlugin());
}

function boardQueue({ redis, shards }: ReportSource, keys: Keys, shard: number) {
  // The owner of the queue keeps its own settings: looking must not write.
  const queue = new Queue(TURNS_QUEUE, { connection: redis, prefix: keys.queuePrefix, skipMetasUpdate: true });
  queue.on('error', () => {});
  const name = shards === 1 ? 'turns' : `turns of shard ${shard}`;
  return new BullMQAdapter(queue, { readOnlyMode: true, allowRetries: false, displayName: name });
}
