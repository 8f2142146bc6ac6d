import { randomUUID } from 'node:crypto';
import { chatKey } from '../../../shared/redis/keys.ts';
import type { LogRecord } from '../../../worker/session/record.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { incidentLines } from '../demo/incident.ts';
import { type Bench, cpuMsDuring, messageOf, percentile, startBench } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const CHATS = 8;
const FIRST_CHAT = 1_000;
const LONG_RECORDS = 2_000;
const SHORT_RECORDS = 20;
/** The first turns compile code, and read each chat's window whole. */
const WARM_UP = 80;
const TURNS = 160;
const QUESTION = 'What did we say about the search index, and who wanted to look at it again? '.repeat(3);

/** What one turn takes. */
interface Cost {
  cpuMs: number;
  tookMs: number;
}

/** Whether a turn gets dearer with the length of its conversation, and with what was said before its window. */
export const flat: Measure = {
  name: 'flat',
  figures: {
    cpu: { name: `CPU of a turn, ${LONG_RECORDS} records over ${SHORT_RECORDS}`, aim: { atMost: 1.5 } },
    time: { name: 'the same, time of a turn', aim: { atMost: 1.5 } },
    behind: { name: 'CPU of a turn, a session of 35 MB over an empty chat', aim: { atMost: 1.5 } },
  },
  async take({ redisUrl }) {
    const short = await turnIn(redisUrl, CHATS, (bench) => eachChat(bench, SHORT_RECORDS));
    const long = await turnIn(redisUrl, CHATS, (bench) => eachChat(bench, LONG_RECORDS));
    const empty = await turnIn(redisUrl, 1, (bench) => incidentIn(bench, FIRST_CHAT + 1));
    const large = await turnIn(redisUrl, 1, (bench) => incidentIn(bench, FIRST_CHAT));
    return {
      cpu: long.cpuMs / short.cpuMs,
      time: long.tookMs / short.tookMs,
      behind: large.cpuMs / empty.cpuMs,
      longMs: long.cpuMs,
      shortMs: short.cpuMs,
      largeMs: large.cpuMs,
      emptyMs: empty.cpuMs,
    };
  },
};

/** What a turn takes in chats that are as `prepare` leaves them, one turn after the other. */
async function turnIn(redisUrl: string, chats: number, prepare: (bench: Bench) => Promise<void>): Promise<Cost> {
  let answered = Promise.withResolvers<void>();
  const telegram = instantTelegram(() => answered.resolve());
  const bench = await startBench(redisUrl, { model: instantModel(WINDOW_TOKENS), telegram });
  await prepare(bench);
  const took: number[] = [];
  const serve = async (first: number, turns: number): Promise<void> => {
    for (let turn = first; turn < first + turns; turn++) {
      const startedMs = performance.now();
      answered = Promise.withResolvers();
      await bench.inbox.accept(1, messageOf(turn + 1, FIRST_CHAT + (turn % chats), QUESTION), '');
      await answered.promise;
      took.push(performance.now() - startedMs);
    }
  };
  await serve(0, WARM_UP);
  took.length = 0;
  const cpuMs = await cpuMsDuring(() => serve(WARM_UP, TURNS));
  await bench.stop();
  return { cpuMs: cpuMs / TURNS, tookMs: percentile(took, 0.5) };
}

/** Conversations of so many records, none of them before the window. */
async function eachChat({ redis, keys }: Bench, count: number): Promise<void> {
  for (let n = 0; n < CHATS; n++) {
    const records = Array.from({ length: count }, (_, at) => recordOf(at));
    await importSession(redis, keys, chatKey(FIRST_CHAT + n), records);
  }
}

function recordOf(at: number): LogRecord {
  const stamp = { v: 1, id: randomUUID(), at: new Date().toISOString() } as const;
  if (at % 2 === 0) return { ...stamp, t: 'user', content: QUESTION, entry: `${at + 1}-0` };
  return { ...stamp, t: 'assistant', content: [{ type: 'text', text: QUESTION }] };
}

/**
 * A chat's window begins with a summary of the whole session of the incident. Both sides of the ratio write one, so that
 * their processes have the same garbage to collect.
 */
async function incidentIn({ redis, keys }: Bench, chat: number): Promise<void> {
  const said = await parseLines(incidentLines());
  const stamp = { v: 1, id: randomUUID(), at: new Date().toISOString() } as const;
  const summary: LogRecord = { ...stamp, t: 'compaction', summary: QUESTION, records: said.length };
  const session = await importSession(redis, keys, chatKey(chat), [...said, summary]);
  await redis.hset(keys.session(session), { head: said.length, windowStart: said.length });
}
