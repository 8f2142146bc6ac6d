/** The same bot with BullMQ between Telegram and the answer: what was received survives, and is tried again. */
import { Queue, Worker } from 'bullmq';
import { message } from 'telegraf/filters';
import { apologise, log, openBot, run } from './plain.ts';

interface Asked {
  chatId: number;
  text: string;
}

/** As many chats at once as the gateway has them. */
const CONCURRENCY = 16;
const ATTEMPTS = 5;

const { bot, redis, answer } = openBot(process.env);
const queue = new Queue<Asked>('turns', { connection: redis });
const connection = redis.duplicate();
const worker = new Worker<Asked>('turns', ({ data }) => answer(data.chatId, data.text), {
  connection,
  concurrency: CONCURRENCY,
});
worker.on('error', () => {});
worker.on('failed', (job, error) => {
  log.error({ err: error }, 'not answered');
  if (job !== undefined && job.attemptsMade >= ATTEMPTS) void apologise(bot.telegram, job.data.chatId);
});
bot.on(message('text'), async ({ chat, update, message: { text } }) => {
  await queue.add(
    'turn',
    { chatId: chat.id, text },
    {
      jobId: `update-${update.update_id}`,
      attempts: ATTEMPTS,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: 1_000,
      removeOnFail: 1_000,
    },
  );
});
run({ bot, redis }, async () => {
  await worker.close();
  await queue.close();
});
