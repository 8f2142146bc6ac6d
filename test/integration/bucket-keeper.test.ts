import { expect } from '@jest/globals';
import { createLogger } from '../../shared/base/log.ts';
import { connectRedis } from '../../shared/redis/connection.ts';
import { keysOf } from '../../shared/redis/keys.ts';
import { blobName } from '../../worker/blob/blob-name.ts';
import { type Blobs, blobId } from '../../worker/blob/blobs.ts';
import { type BlobTrouble, startBlobKeeper } from '../../worker/blob/keeper.ts';
import { eachWithBucket, s3, storeAt, testWithS3 } from '../fixture/each-bucket.ts';
import { lentRedis } from '../fixture/lent-redis.ts';
import { until } from '../fixture/root.ts';

const HOUR_MS = 3_600_000;
const keys = keysOf(0);

eachWithBucket();

testWithS3(
  'the keeper moves what lies in Redis into the bucket, and removes old objects that nothing points at',
  async () => {
    const server = await lentRedis();
    const redis = connectRedis(server.url, 'patient');
    const store = storeAt(s3.url);
    const blobs: Blobs = store.blobsOf(0);
    const troubles: BlobTrouble[] = [];
    const limits = { blobEveryMs: 20, orphanMs: HOUR_MS, boundMs: 0 };
    const [inRedis, kept, orphan] = ['in Redis', 'pointed at', 'an orphan'].map((text) => Buffer.from(text));
    if (!inRedis || !kept || !orphan) throw new Error('three texts');
    await redis.set(keys.media(blobId(inRedis)), inRedis, 'EX', 5_000);
    await redis.set(keys.blob(await blobs.put('media', kept)), kept.length);
    await blobs.put('media', orphan);
    await s3.age(48);
    const keeper = startBlobKeeper({
      ...{ redis, keys, blobs, storeId: store.id, limits, log: createLogger('silent') },
      countRecords: async () => undefined,
      onTrouble: (trouble) => void troubles.push(trouble),
    });
    try {
      const media = (bytes: Buffer) => `blobs/0/${blobName('media', blobId(bytes))}`;
      const there = async () => (await s3.names()).filter((name) => /^blobs\/(?:0\/media|store-id)/.test(name));
      const wanted = [media(inRedis), media(kept), 'blobs/store-id'].sort();
      await until('both', async () => JSON.stringify(await there()) === JSON.stringify(wanted) || undefined);
      expect(await redis.exists(keys.media(blobId(inRedis)))).toBe(0);
      expect(await redis.get(keys.blob(blobId(inRedis)))).toBe(String(inRedis.length));
      expect(await redis.hget(keys.blobStore, 'id')).toBe(await store.readId());
      expect(troubles).toEqual([]);
    } finally {
      await keeper.stop();
      redis.disconnect();
      await server.stop();
    }
  },
);
