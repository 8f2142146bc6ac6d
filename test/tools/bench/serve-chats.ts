/** Serves turns in so many chats, in a fresh process, and prints what each took: `serve-chats.ts <Redis URL> <chats>`. */
import { chatKey } from '../../../shared/redis/keys.ts';
import { cpuMsDuring, messageOf, startBench, until } from './bench.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const TURNS = 10_000;
const WARM_UP = 1_000;
const AT_ONCE = 10;
const FIRST_CHAT = 1_000;
const BYTES_PER_MB = 1e6;

const [redisUrl = '', chats = ''] = process.argv.slice(2);
let sent = 0;
const telegram = instantTelegram(() => {
  sent += 1;
});
const bench = await startBench(redisUrl, { model: instantModel(WINDOW_TOKENS), telegram });

/** A chat that had a turn before begins anew: all sessions are equally long, and only the number of chats differs. */
async function serve(first: number, turns: number): Promise<void> {
  for (let turn = first; turn < first + turns; turn += AT_ONCE) {
    const at = Array.from({ length: AT_ONCE }, (_, n) => FIRST_CHAT + ((turn + n) % Number(chats)));
    await bench.redis.del(...at.map((chatId) => bench.keys.chat(chatKey(chatId))));
    await Promise.all(at.map((chatId, n) => bench.inbox.accept(1, messageOf(turn + n + 1, chatId, 'hello'), '')));
    await until(() => sent === turn + AT_ONCE);
  }
}

await serve(0, WARM_UP);
const cpuMs = await cpuMsDuring(() => serve(WARM_UP, TURNS));
global.gc?.();
const megabytes = process.memoryUsage().rss / BYTES_PER_MB;
await bench.stop();
process.stdout.write(JSON.stringify({ cpuMs: cpuMs / TURNS, megabytes }));
