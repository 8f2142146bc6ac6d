import { once } from 'node:events';
import { test } from '@jest/globals';
import { spawnFile } from '../../fixture/command.ts';
import { eachInWorld, world } from '../../fixture/each-test.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

/** What is typed, and what must be printed after it. */
type Typed = readonly [line: string, printed: RegExp];

const said = (line: string): Typed => [line, /bot> /];

/** Plays with `npm run stand-in` as its greeting says; returns what it printed. */
async function play(...lines: Typed[]): Promise<string> {
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
    for (const [line, wanted] of lines) {
      const before = printed.length;
      child.stdin.write(`${line}\n`);
      await until(`${wanted} after ${line}`, () => wanted.test(printed.slice(before)) || undefined);
    }
    child.stdin.end(':quit\n');
    await once(child, 'exit');
    return printed;
  } finally {
    child.kill('SIGKILL');
    await gateway.stop();
  }
}

test('a second play with the stand-ins and kept data is answered as the first one was, and buttons can be pressed by their numbers', async () => {
  await play(...['one', 'two'].map(said));
  await play(
    said('three'),
    [':press 1', /no button 1 that/],
    ['/forget', /\n {5}\[1\] Erase everything\n/],
    [':press 1', /bot> Erased\./],
    [':press one', /commands are :press N/],
    [':ask', /asks a question/],
    ['Which way?', /bot> Which of the two.*\n {5}\[2\] The old one {2}\[3\] The new one/],
    [':press 3', /Answered by User 1001: The new one\n[\s\S]*I go by that/],
    [':note', /notes something/],
    ['Remember that', /bot> 📝 .*\n1\. Noted: Prefers the old harbour\n {5}\[5\] ↩ Undo 1/],
    [':press 5', /bot> (?!📝)/],
  );
});
