import { afterEach, beforeEach, expect } from '@jest/globals';
import { saidIn } from '../../fixture/asked.ts';
import { runFile } from '../../fixture/command.ts';
import { eachWithBucket, s3, testWithS3 } from '../../fixture/each-bucket.ts';
import { CHAT, eachInWorld, mainCalls, spawn, stopGateways, takeOver, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { type Relay, startRelay } from '../../fixture/relay.ts';
import { ask, photoOf } from '../../fixture/whole-chat.ts';

let relay: Relay;

eachWithBucket();
eachInWorld();
beforeEach(async () => {
  if (s3 === undefined) return;
  const port = new URL(s3.endpoint).port;
  relay = await startRelay(Number(port));
  Object.assign(world.env, s3.env, { BLOB_URL: s3.url.replace(port, String(relay.port)) });
});
afterEach(async () => {
  await stopGateways();
  await relay?.close();
});

const cli = (...args: string[]) => runFile('worker/cli/main.ts', args, world.env);

testWithS3(
  'a server killed in the middle of a put: the message waits, the operator is told; then the picture is an object',
  async () => {
    const gateway = await spawn();
    const reached = relay.holdNext(/^PUT .*\/media\//);
    world.telegram.say(CHAT, '', { extra: photoOf(await jpegPhoto(900, 600)) });
    await reached;
    await s3.kill();
    relay.cut();
    await world.telegram.waitForText(ALERT_CHAT, /blob store \(BLOB_URL\) fails for .* \(\w+\)/);
    expect(await settledOutcomes(world)).toEqual([]);
    expect(await world.peek.keys('*:blob:*')).toEqual([]);
    expect(await ask('Texts are answered', 1, CHAT + 1)).toMatchObject({ outcome: 'answered' });
    await s3.revive();
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', attempts: 1 });
    await gateway.stop();
    await takeOver();
    expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
    const [first, second] = mainCalls().slice(-2);
    expect(saidIn(first, 0)[0]).toMatchObject({ source: { type: 'base64', media_type: 'image/jpeg' } });
    expect(saidIn(second, 0)[0]).toEqual(saidIn(first, 0)[0]);
    const objects = (await s3.names()).map((name) => name.replace(/..\/..\/\d+\/[0-9a-f]{64}-[0-9a-f]{12}/, '<id>'));
    expect(objects).toEqual(['blobs/0/media/<id>', 'blobs/store-id']);
    expect(await world.peek.keys('*:media:*')).toEqual([]);
    expect(gateway.log.join('\n')).not.toMatch(/test-access-key|test-secret|Signature=/);
  },
);

testWithS3('check tries the bucket, and names what the server says', async () => {
  expect((await cli('check')).stdout).toMatch(/^ok +blobs: s3:\/\/spillway-test\/blobs\/ at http.*, takes files/m);
  expect(await s3.names()).toEqual([]);
  Object.assign(world.env, { AWS_SECRET_ACCESS_KEY: 'another-secret-that-is-wrong' });
  const refused = await cli('check');
  expect(refused.stdout).toMatch(/^FAILED blobs: .*SignatureDoesNotMatch, status 403/m);
  expect(`${refused.stdout}${refused.stderr}`).not.toMatch(/another-secret|test-access-key/);
  await s3.kill();
  expect((await cli('check')).stdout).toMatch(/^FAILED blobs: .*ECONN/m);
});
