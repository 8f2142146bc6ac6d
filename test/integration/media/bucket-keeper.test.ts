import { expect } from '@jest/globals';
import { createLogger } from '../../../shared/base/log.ts';
import { connectRedis } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { type Blobs, blobPath, sha256In } from '../../../worker/blob/blobs.ts';
import { type BlobTrouble, startBlobKeeper } from '../../../worker/blob/orphan-sweep.ts';
import { eachWithBucket, s3, storeAt, testWithS3 } from '../../fixture/each-bucket.ts';
import { lentRedis } from '../../fixture/lent-redis.ts';
import { until } from '../../fixture/root.ts';

const HOUR_MS = 3_600_000;
const CHAT = chatKey(-1001, 7);
const keys = keysOf(0);

eachWithBucket();

testWithS3('the keeper removes old objects of a bucket that nothing points at', async () => {
  const server = await lentRedis();
  const redis = connectRedis(server.url, 'patient');
  const store = storeAt(s3.url);
  const blobs: Blobs = store.blobsOf(0);
  const troubles: BlobTrouble[] = [];
  const limits = { blobEveryMs: 20, orphanMs: HOUR_MS, boundMs: 0 };
  const kept = await blobs.put(CHAT, Buffer.from('pointed at'));
  await redis.set(keys.blob(sha256In(kept), CHAT), kept);
  await blobs.put(CHAT, Buffer.from('an orphan'));
  await s3.age(48);
  const keeper = startBlobKeeper({
    ...{ redis, keys, blobs, storeId: store.id, limits, log: createLogger('silent') },
    onTrouble: (trouble) => void troubles.push(trouble),
  });
  try {
    const there = async () => (await s3.names()).filter((name) => /^blobs\/(?:0\/media|store-id)/.test(name));
    const wanted = [`blobs/0/${blobPath(CHAT, kept)}`, 'blobs/store-id'];
    await until('sweep', async () => JSON.stringify(await there()) === JSON.stringify(wanted) || undefined);
    expect(await redis.hget(keys.blobStore, 'id')).toBe(await store.readId());
    expect(troubles).toEqual([]);
  } finally {
    await keeper.stop();
    redis.disconnect();
    await server.stop();
  }
});
