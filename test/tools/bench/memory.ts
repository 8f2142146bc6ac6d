import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, type Keys, keysOf, type SessionId } from '../../../shared/redis/keys.ts';
import type { Blobs } from '../../../worker/blob/blobs.ts';
import { createFileBlobs } from '../../../worker/blob/folder-store.ts';
import { createMediaStore } from '../../../worker/media/store.ts';
import { archiveSession, createArchive } from '../../../worker/session/archive.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { takeCensus } from '../../chaos/census.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { conversation } from '../../fixture/history.ts';
import { until } from '../../fixture/root.ts';
import { messageOf, startBench } from './bench.ts';
import type { Figure, Measure } from './figure.ts';
import { instantAnswer, instantModel, instantTelegram } from './instant.ts';

const MESSAGES = 2_000;
const CHATS = 20;
const CHARS = 400;
const EXCHANGES_A_DAY = 20;
const DAYS = 365;
const PICTURES = 20;
const PICTURE_BYTES = 200_000;
const WINDOW_TOKENS = 200_000;
/** What a compaction leaves in the window. */
const WINDOW_RECORDS = 200;
const RETENTION_DAYS = 90;
const LEDGER_DAYS = 90;
const USAGE_DAYS = 40;

/** The families of what each message leaves behind, by how long it stays; see docs/state.md. */
const KEPT: readonly (readonly [until: string, families: readonly string[]])[] = [
  ['its first hour', ['turns', 'updates seen, each']],
  ['48 hours', ['updates seen', 'entries by message']],
  ['90 days', ['ledger of outcomes', 'audit trail']],
  ['its conversation', ['logs of sessions']],
];

/** What Redis' memory is taken up by, written by the product itself. */
export const memory: Measure = {
  name: 'memory',
  figures: {
    ...Object.fromEntries(KEPT.map(([until]) => [until, bytes(`Redis' memory: a message, for ${until}`)])),
    update: bytes("Redis' memory: an update id that is remembered"),
    pictureInRedis: bytes(`Redis' memory: a picture of ${PICTURE_BYTES / 1000} KB, with redis:`),
    picture: bytes('  with a folder or a bucket'),
    archiveInRedis: bytes("Redis' memory: the archive of a chat-year, with redis:"),
    archive: bytes('  with a folder or a bucket'),
    conversationInRedis: bytes("Redis' memory: the conversation of a chat-year, with redis:"),
    conversation: bytes('  with a folder or a bucket'),
    chatYearInRedis: bytes("Redis' memory: a chat-year in all, with its ledger, with redis:"),
    chatYear: bytes('  with a folder or a bucket'),
  },
  async take({ redisUrl }) {
    const message = await perMessage(redisUrl);
    const files = await temporaryBlobs();
    const redis = connectRedis(redisUrl, 'patient');
    try {
      const inRedis = await coldData(redis, undefined);
      const outside = await coldData(redis, createFileBlobs(files.folder));
      const kept = Object.fromEntries(KEPT.map(([until]) => [until, message.bytesOf(until)]));
      const ledger = message.bytesOf('90 days') * EXCHANGES_A_DAY * LEDGER_DAYS + message.usageBytes * USAGE_DAYS;
      return {
        ...kept,
        update: message.updateBytes,
        ...outside,
        chatYear: outside.conversation + ledger,
        pictureInRedis: inRedis.picture,
        archiveInRedis: inRedis.archive,
        conversationInRedis: inRedis.conversation,
        chatYearInRedis: inRedis.conversation + ledger,
      };
    } finally {
      redis.disconnect();
      await files.remove();
    }
  },
};

function bytes(name: string): Figure {
  return { name, unit: 'bytes' };
}

/** Plain messages in some chats, each answered. */
async function perMessage(redisAddress: string) {
  const text = 'a word '.repeat(CHARS / 7);
  const model = instantModel(WINDOW_TOKENS, () => instantAnswer(text));
  const bench = await startBench(redisAddress, { model, telegram: instantTelegram() });
  try {
    for (let n = 0; n < MESSAGES; n++) {
      await bench.inbox.accept(1, messageOf(n + 1, 1000 + (n % CHATS), `${n} ${text}`), '');
    }
    await until(
      'all outcomes',
      async () => (await bench.redis.xlen(bench.keys.outcomes)) >= MESSAGES || undefined,
      60_000,
    );
    const { sizes } = await takeCensus({ peek: bench.redis, keys: bench.keys, telegram: { botId: 1 } });
    const bytesOf = (...names: readonly string[]) =>
      sizes.filter(({ family }) => names.includes(family.name)).reduce((sum, { bytes }) => sum + bytes, 0);
    return {
      bytesOf: (kept: string) => bytesOf(...(KEPT.find(([name]) => name === kept)?.[1] ?? [])) / MESSAGES,
      updateBytes: bytesOf('updates seen') / MESSAGES,
      /** Of a chat on a day. */
      usageBytes: bytesOf('use of a day') / CHATS,
    };
  } finally {
    await bench.stop();
  }
}

/** Pictures, and a conversation of a year that was archived as far as it may be. */
async function coldData(redis: Redis, blobs: Blobs | undefined) {
  await redis.flushall();
  const keys = keysOf(0);
  const media = createMediaStore({ redis, keys, blobs, retentionDays: RETENTION_DAYS });
  for (let picture = 0; picture < PICTURES; picture++) await media.keep(chatKey(picture), randomBytes(PICTURE_BYTES));
  const pictureBytes = await bytesAt(redis, await redis.keys('*'));
  await redis.flushall();
  const session = await chatYear(redis, keys, blobs);
  return {
    picture: pictureBytes / PICTURES,
    archive: await bytesAt(redis, [keys.archive(session)]),
    conversation: await bytesAt(redis, [keys.archive(session), keys.log(session), keys.session(session)]),
  };
}

async function chatYear(redis: Redis, keys: Keys, blobs: Blobs | undefined): Promise<SessionId> {
  const lines = conversation(EXCHANGES_A_DAY * DAYS, CHARS);
  const session = await importSession(redis, keys, chatKey(1001), await parseLines(lines));
  await redis.hset(keys.session(session), 'windowStart', lines.length - WINDOW_RECORDS);
  const archive = createArchive({ redis, keys, blobs }, RETENTION_DAYS * 86_400);
  await archiveSession(archive, session, new AbortController().signal);
  return session;
}

async function bytesAt(redis: Redis, keys: readonly string[]): Promise<number> {
  const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
  return sizes.reduce((sum: number, bytes) => sum + Number(bytes ?? 0), 0);
}
