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

/** Types these lines into `npm run stand-in`, each after the print that belongs to the one before. */
async function typeInto(child: Awaited<ReturnType<typeof spawnFile>>, printed: () => string, lines: readonly Typed[]) {
  for (const [line, wanted] of lines) {
    const { length } = printed();
    child.stdin.write(`${line}\n`);
    await until(`${wanted} after ${line}`, () => wanted.test(printed().slice(length)) || undefined);
  }
  child.stdin.end(':quit\n');
  await once(child, 'exit');
}

async function startPlay(...options: string[]) {
  const child = await spawnFile('test/tools/play/main.ts', options, {});
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await until('a greeting', () => printed.includes('Type a message') || undefined);
  return { child, printed: () => printed };
}

/** Plays beside a gateway that is started by hand, as the greeting says. */
async function playBeside(...lines: Typed[]): Promise<void> {
  const { child, printed } = await startPlay('--no-gateway', '--telegram-port', '0', '--claude-port', '0');
  const exported = [...printed().matchAll(/^export (\w+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]);
  const { REDIS_URL = '', BLOB_URL = '' } = world.env;
  const own = { REDIS_URL, BLOB_URL, HTTP_PORT: '0', LOG_LEVEL: 'info' };
  const gateway = await spawnRunning('spillway.ts', { ...Object.fromEntries(exported), ...own });
  try {
    await typeInto(child, printed, lines);
  } finally {
    child.kill('SIGKILL');
    await gateway.stop();
  }
}

test('a second play with the stand-ins and kept data is answered as the first one was, and buttons can be pressed by their numbers', async () => {
  await playBeside(...['one', 'two'].map(said));
  await playBeside(
    said('three'),
    [':press 1', /no button 1 now/],
    ['/forget', /\n {5}\[1\] Erase everything\n/],
    [':press 1', /bot> Erased\./],
    [':press one', /typed as :press N/],
    [':ask', /asks a question/],
    ['Which way?', /bot> Which of the two.*\n {5}\[2\] The old one {2}\[3\] The new one/],
    [':press 3', /Answered by Ann: The new one\n[\s\S]*I go by that/],
    [':note', /notes something/],
    ['Remember that', /bot> 📝 .*\n1\. Noted: Prefers the old harbour\n {5}\[5\] ↩ Undo 1/],
    [':press 5', /bot> (?!📝)/],
  );
});

test('a play alone: people write in a group, the model asks before it writes, and the gateway is killed', async () => {
  const { child, printed } = await startPlay();
  try {
    await typeInto(child, printed, [
      said('hello'),
      ['ben: hello @bot', /bot in the group> You said: hello @/],
      [':file what is this?', /bot> You said: what is this/],
      [':write', /wants to write/],
      ['Write it down', /bot> May I do this\?[\s\S]*\[1\] Allow once/],
      [':press 1', /I go by that/],
      ['olga: /status', /alert> .*All is well/],
      [':overflow', /the window has \d+ tokens/],
      ['And now?', /replaced the \d+ oldest messages with a summary/],
      // Otherwise a summary after the next answer may succeed beside the refused key, which ends the incident.
      [':overflow off', /tokens again/],
      [':kill', /starts again/],
      said('Are you there?'),
      [':key bad', /refused/],
      ['With a bad key', /alert> .*rejects the API key/],
      [':help', /:telegram away\|back/],
      [':nonsense', /there is no :nonsense/],
    ]);
  } finally {
    child.kill('SIGTERM');
  }
});
