import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { InboundMessage } from '../../../shared/flow/message.ts';
import { BLOCK_MS, connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { mediaId } from '../../../worker/media/store.ts';
import type { Block } from '../../../worker/model/block.ts';
import { estimateFixed } from '../../../worker/model/count.ts';
import { estimateContent } from '../../../worker/model/estimate.ts';
import type { Model, ModelAnswer, ModelRequest, ModelResult } from '../../../worker/model/port.ts';
import type { LogRecord } from '../../../worker/session/record.ts';
import { importSession } from '../../../worker/session/transfer.ts';
import { type ToolOutput, toolText } from '../../../worker/tools/toolbox.ts';
import { withExclusions } from '../../../worker/tools/toolboxes.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { until } from '../../fixture/root.ts';
import { type Bench, cpuMsDuring, messageOf, startBench } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantAnswer, instantModel, instantTelegram } from './instant.ts';

const RECORDS = 14_600;
const MESSAGES = 100;
/** What the year-old chat said before the messages that are sent here: each of those leaves two records. */
const RECORDS_BEFORE = RECORDS - 2 * 2 * MESSAGES;
/** A summary comes about every 30 messages, so that a hundred messages hold several of them, whichever they are. */
const WINDOW_TOKENS = 32_000;
/** What the last compaction of the records before left in the window. */
const KEPT_RECORDS = 40;
const PICTURE_EVERY = 20;
const PICTURE_AT = 5;
const TOOL_EVERY = 10;
const WIDTH = 1_200;
const HEIGHT = 900;
const ARCHIVED_WITHIN_MS = 60_000;
/** How often a settled message is waited for. */
const READS_MAX = 12;
const TOOL = 'read_page';
const WORDS = 'What did we say about the search index, and who wanted to look at it again? '.repeat(5);
const PAGE = 'A page says what the search index holds. '.repeat(20);

/** A chat, and what its messages have taken since they were last counted. */
interface Spent {
  readonly chatId: number;
  tokens: number;
  summaries: number;
  cpuMs: number;
}

/** Whether a message gets dearer in the course of a year. */
export const year: Measure = {
  name: 'year',
  figures: {
    tokens: { name: `tokens sent, the last ${MESSAGES} messages of a year over the second`, aim: { atMost: 1.3 } },
    cpu: { name: 'the same, CPU', aim: { atMost: 1.3 } },
  },
  async take({ redisUrl }) {
    const young: Spent = { chatId: 1_001, tokens: 0, summaries: 0, cpuMs: 0 };
    const old: Spent = { chatId: 1_002, tokens: 0, summaries: 0, cpuMs: 0 };
    const asked = { spent: young, wantsTool: false };
    const pictures = await picturesOf(2 * MESSAGES);
    const telegram = instantTelegram();
    const bench = await startBench(redisUrl, {
      model: countingModel(asked),
      telegram: { ...telegram, downloadFile: async (id) => ({ ok: true, value: pictures.get(id) ?? Buffer.alloc(0) }) },
      tools: pages(),
    });
    const reader = connectRedis(redisUrl, 'patient');
    try {
      const segments = await yearIn(bench, old.chatId);
      const say = speaker(bench, reader, asked);
      for (let at = 0; at < 2 * MESSAGES; at++) {
        // The first hundred of each warms up both code and windows. One after the other, both see the same machine.
        if (at === MESSAGES)
          for (const spent of [young, old]) Object.assign(spent, { tokens: 0, summaries: 0, cpuMs: 0 });
        await say(young, at);
        await say(old, at);
      }
      return {
        tokens: old.tokens / young.tokens,
        cpu: old.cpuMs / young.cpuMs,
        oldTokens: old.tokens / MESSAGES,
        youngTokens: young.tokens / MESSAGES,
        oldMs: old.cpuMs / MESSAGES,
        youngMs: young.cpuMs / MESSAGES,
        oldSummaries: old.summaries,
        youngSummaries: young.summaries,
        segments,
      };
    } finally {
      reader.disconnect();
      await bench.stop();
    }
  },
};

/** Says the next message in a chat, and waits until it is settled: its compaction, if it leads to one, is then over. */
function speaker({ inbox, keys }: Bench, reader: Redis, asked: { spent: Spent; wantsTool: boolean }) {
  let updateId = 0;
  let seen = '0-0';
  return async (spent: Spent, at: number): Promise<void> => {
    updateId += 1;
    Object.assign(asked, { spent, wantsTool: at % TOOL_EVERY === 0 });
    spent.cpuMs += await cpuMsDuring(async () => {
      await inbox.accept(1, messageFor(spent.chatId, updateId, at), '');
      const [id, fields] = await outcomeAfter(reader, keys.outcomes, seen);
      if (!fields.join(' ').includes('"answered"')) throw new Error(`a message ended otherwise: ${fields.join(' ')}`);
      seen = id;
    });
  };
}

async function outcomeAfter(reader: Redis, outcomes: string, seen: string): Promise<[id: string, fields: string[]]> {
  for (let reads = 0; reads < READS_MAX; reads++) {
    const read = await reader.xread('BLOCK', BLOCK_MS, 'STREAMS', outcomes, seen);
    const entry = read?.[0]?.[1].at(-1);
    if (entry) return entry;
  }
  throw new Error('a message was not settled');
}

function messageFor(chatId: number, updateId: number, at: number): InboundMessage {
  const message = messageOf(updateId, chatId, `${at}. ${WORDS}`);
  if (at % PICTURE_EVERY !== PICTURE_AT) return message;
  return { ...message, content: { kind: 'file', text: WORDS, file: { what: 'photo', fileId: pictureAt(at) } } };
}

/** Answers at once, calls a tool where one is wanted, and states what it read, as a provider does. */
function countingModel(asked: { spent: Spent; wantsTool: boolean }): Model {
  return instantModel(WINDOW_TOKENS, (request) => {
    const tokens = tokensOf(request);
    asked.spent.tokens += tokens;
    if (request.purpose === 'summary') asked.spent.summaries += 1;
    const usage = { inputTokens: tokens, outputTokens: 100, cacheReadTokens: 0 };
    if (request.purpose !== 'summary' && asked.wantsTool) {
      asked.wantsTool = false;
      const call = { type: 'tool_use', id: `toolu_${randomUUID()}`, name: TOOL, input: { page: 1 } };
      return answered({ content: [call], text: '', stopReason: 'tool_use', model: request.model, usage });
    }
    const said = instantAnswer(WORDS);
    return said.ok ? answered({ ...said.answer, model: request.model, usage }) : said;
  });
}

function answered(answer: ModelAnswer): ModelResult {
  return { ok: true, answer };
}

function tokensOf({ system, tools = [], serverTools = [], messages }: ModelRequest): number {
  const fixed = estimateFixed({ system, tools, serverTools });
  return messages.reduce((sum, { content }) => sum + estimateContent(content), fixed);
}

function pages() {
  const inputSchema = { type: 'object', properties: { page: { type: 'number' } } };
  const spec = { name: TOOL, description: 'Reads a page.', inputSchema, repeatable: true };
  return withExclusions({
    name: 'pages',
    specs: () => [spec],
    call: async (): Promise<ToolOutput> => toolText(PAGE),
    stop: async () => {},
  });
}

function pictureAt(at: number): string {
  return `picture-${at}`;
}

/** The photos that so many messages bring, each another one, by their ids. */
async function picturesOf(messages: number): Promise<ReadonlyMap<string, Buffer>> {
  const pictures = new Map<string, Buffer>();
  for (let at = PICTURE_AT; at < messages; at += PICTURE_EVERY)
    pictures.set(pictureAt(at), await jpegPhoto(WIDTH, HEIGHT, { r: at, g: 90, b: 90 }));
  return pictures;
}

/** A year in a chat, as its last compaction left it, and archived by the worker. Returns the segments of its archive. */
async function yearIn({ redis, keys }: Bench, chatId: number): Promise<number> {
  const said = Array.from({ length: RECORDS_BEFORE / 2 }, (_, at) => exchangeOf(at)).flat();
  const windowStart = said.length - KEPT_RECORDS;
  const summary: LogRecord = { ...stamp(), t: 'compaction', summary: WORDS, records: windowStart };
  const session = await importSession(redis, keys, chatKey(chatId), [...said, summary]);
  await redis.hset(keys.session(session), { head: said.length, windowStart });
  await redis.sadd(keys.archivable, session);
  await until('the archive', async () => (await isArchived(redis, keys, session)) || undefined, ARCHIVED_WITHIN_MS);
  return redis.llen(keys.archive(session));
}

async function isArchived(redis: Redis, keys: Bench['keys'], session: SessionId): Promise<boolean> {
  return (await redis.sismember(keys.archivable, session)) === 0;
}

/**
 * A question and its answer. Some bring a picture, whose bytes are over by now; of the others, some are a call of a tool
 * and its result.
 */
function exchangeOf(at: number): LogRecord[] {
  const isCall = at % TOOL_EVERY === 0;
  const isResult = at % TOOL_EVERY === 1;
  return [
    { ...stamp(), t: 'user', content: isResult ? [resultOf(at - 1)] : questionOf(at) },
    { ...stamp(), t: 'assistant', content: [isCall ? callOf(at) : { type: 'text', text: WORDS }] },
  ];
}

function questionOf(at: number): readonly Block[] {
  const text = { type: 'text', text: `${at}. ${WORDS}` };
  if (at % PICTURE_EVERY !== PICTURE_AT) return [text];
  const source = {
    type: 'kept',
    sha256: mediaId(Buffer.from(text.text)),
    media_type: 'image/jpeg',
    width: WIDTH,
    height: HEIGHT,
  };
  return [{ type: 'image', source }, text];
}

function callOf(at: number): Block {
  return { type: 'tool_use', id: `toolu_${at}`, name: TOOL, input: { page: 1 } };
}

function resultOf(at: number): Block {
  return { type: 'tool_result', tool_use_id: `toolu_${at}`, content: `${at}. ${PAGE}` };
}

function stamp() {
  return { v: 1, id: randomUUID(), at: new Date().toISOString() } as const;
}
