import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { spawnFile } from '../../fixture/command.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

/** Plays with `npm run stand-in` as its greeting says; returns what it printed. */
async function play(...lines: string[]): Promise<string> {
  const child = await spawnFile('test/stand-in/main.ts', ['--telegram-port', '0', '--claude-port', '0'], {});
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await until('a greeting', () => printed.includes('Then type a message') || undefined);
  const told = [...printed.matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]);
  const { REDIS_URL = '', BLOB_URL = '' } = world.env;
  const kept = { REDIS_URL, BLOB_URL, HTTP_PORT: '0', LOG_LEVEL: 'info' };
  const gateway = await spawnRunning('spillway.ts', { ...Object.fromEntries(told), ...kept });
  try {
    for (const [nth, line] of lines.entries()) {
      child.stdin.write(`${line}\n`);
      await until(`answer to ${line}`, () => printed.split('bot> ').length > nth + 1 || undefined);
    }
    child.stdin.end(':quit\n');
    await once(child, 'exit');
    return printed;
  } finally {
    child.kill('SIGKILL');
    await gateway.stop();
  }
}

test('a second play with the stand-ins and kept data is answered as the first one was', async () => {
  await play('one', 'two', 'three');
  expect(await play('four', 'five')).toMatch(/bot> [\s\S]*bot> /);
  expect(await world.peek.xlen(world.keys.outcomes)).toBe(5);
});
