import { expect, test } from '@jest/globals';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { spawnRunning } from '../../fixture/process.ts';

eachInWorld();

test.each([
  ['reject', { origin: 'unhandledRejection', reply: expect.stringContaining('Invalid stream ID') }],
  ['throw', { origin: 'uncaughtException', name: 'SyntaxError' }],
])(
  'what nobody caught (%s) shuts the process down in order with exit code 1, and its text is not logged',
  async (how, told) => {
    const root = await spawnRunning('test/fixture/surprised-process.ts', {
      ...world.env,
      LOG_LEVEL: 'info',
      TEST_SURPRISE: how,
    });
    expect(await root.ended).toBe('1');
    expect(root.log.join('\n')).not.toContain('my private words');
    expect(JSON.parse(root.log.find((line) => line.includes('nobody caught')) ?? '{}')).toMatchObject(told);
    expect(await world.peek.get('stopped')).toBe('well');
  },
);
