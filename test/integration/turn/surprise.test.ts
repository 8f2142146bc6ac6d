import { expect, test } from '@jest/globals';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { spawnRunning } from '../../fixture/process.ts';

eachInWorld();

async function surprised(how: 'reject' | 'throw') {
  const env = { ...world.env, LOG_LEVEL: 'info', TEST_SURPRISE: how };
  const root = await spawnRunning('test/fixture/surprised-process.ts', env);
  return { how: await root.ended, log: root.log.join('\n') };
}

test('an unhandled rejection shuts the process down in order with exit code 1, and its text is not logged', async () => {
  const { how, log } = await surprised('reject');
  expect(how).toBe('1');
  expect(log).not.toContain('my private words');
  expect(JSON.parse(log.split('\n').find((line) => line.includes('nobody caught')) ?? '{}')).toMatchObject({
    name: 'ReplyError',
    reply: expect.stringContaining('Invalid stream ID'),
    origin: 'unhandledRejection',
  });
  expect(await world.peek.get('stopped')).toBe('well');
});

test('an uncaught exception shuts the process down in order with exit code 1, and its text is not logged', async () => {
  const { how, log } = await surprised('throw');
  expect(how).toBe('1');
  expect(log).toContain('"origin":"uncaughtException"');
  expect(log).not.toContain('my private words');
  expect(await world.peek.get('stopped')).toBe('well');
});
