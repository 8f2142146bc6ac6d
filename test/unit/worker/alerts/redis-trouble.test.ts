import { expect, test } from '@jest/globals';
import type { AlertChannel } from '../../../../worker/alerts/channel.ts';
import type { Surroundings } from '../../../../worker/alerts/message.ts';
import { watchRedis } from '../../../../worker/alerts/redis-trouble.ts';
import { isAboutData } from '../../../../worker/alerts/watch-failure.ts';
import type { Webhook } from '../../../../worker/alerts/webhook.ts';
import { keptLog } from '../../../fixture/log.ts';
import { until } from '../../../fixture/root.ts';

const READONLY = new Error("READONLY You can't write against a read only replica.");

/** A watcher over writes, with a clock that is set, and a channel that takes what it is told to. */
function watching(webhook?: Webhook, around: Surroundings = {}) {
  const world = { nowMs: Date.parse('2026-11-22T12:00:00Z'), takes: true, tries: 0 };
  const taken: string[] = [];
  const channel: Pick<AlertChannel, 'send'> = {
    async send(text) {
      world.tries += 1;
      if (!world.takes) return { ok: false, why: 'unreached' };
      taken.push(text);
      return { ok: true };
    },
  };
  const { log, lines } = keptLog();
  const trouble = watchRedis({ channels: [channel], webhook, log, afterMs: 15_000, now: () => world.nowMs, around });
  return { world, taken, trouble, lines };
}

test('what a channel or the webhook does not take waits for it alone, in order, and is retried with the next write', async () => {
  const there: string[] = [];
  let takes = false;
  const webhook: Webhook = {
    async send(text) {
      if (!takes) return { ok: false, why: 'status 503' };
      there.push(text);
      return { ok: true };
    },
  };
  const { taken, trouble, world } = watching(webhook);
  const both = [expect.stringMatching(/read-only replica/), expect.stringMatching(/^Resolved/)];
  world.takes = false;
  trouble.failed(READONLY);
  world.nowMs += 15_000;
  trouble.failed(READONLY);
  expect(trouble.current()).toMatchObject({ name: 'redis-writes', text: expect.stringMatching(/read-only replica/) });
  await until('a try', () => world.tries || undefined);
  const worksUntil = (what: string, texts: readonly string[]) =>
    until(what, () => {
      trouble.worked();
      return texts[1];
    });
  world.takes = true;
  await worksUntil('both in the chat', taken);
  expect([trouble.current(), taken, there]).toEqual([undefined, both, []]);
  takes = true;
  await worksUntil('both there', there);
  expect(there).toEqual(both);
});

test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", /is full \(maxmemory\)/],
  ['MISCONF Errors writing to the AOF file: No space left on device', /cannot write its files/],
  ['NOREPLICAS Not enough good replicas to write.', /too few replicas/],
  ['LOADING Redis is loading the dataset in memory', /still loading/],
  ['-READONLY in a script of an older server', /read-only replica/],
])('explains %s in words, after 15 seconds', async (message, words) => {
  const { world, taken, trouble } = watching();
  trouble.failed(new Error(message));
  world.nowMs += 14_999;
  trouble.failed(new Error(message));
  expect(trouble.current()).toBeUndefined();
  world.nowMs += 1;
  trouble.failed(new Error(message));
  expect(await until('the alert', () => taken[0])).toMatch(words);
});

test('an error that names a cause wins over a timeout, before it or after it; of several causes the newest', async () => {
  const { world, taken, trouble, lines } = watching();
  const timeout = new Error('Command timed out');
  for (const error of [timeout, READONLY, new Error('MISCONF Errors writing to the AOF file'), timeout]) {
    trouble.failed(error);
    world.nowMs += 5_000;
  }
  trouble.worked();
  trouble.failed(timeout);
  world.nowMs += 15_000;
  trouble.failed(timeout);
  await until('both alerts and an end', () => taken[2]);
  expect(taken[0]).toMatch(/it cannot write its files, since 2026-11-22 12:00:00 UTC/);
  expect(taken[1]).toMatch(/^Resolved: Redis takes writes again.* 20 seconds/);
  expect(lines.map(({ msg }) => msg)).toEqual(['alert', 'alert', 'alert']);
  expect(taken[2]).toMatch(/it does not answer/);
});

test.each([
  ['ReplyError', 'WRONGTYPE Operation against a key holding the wrong kind of value', true],
  ['ReplyError', 'ERR Error running script: @user_script:12: attempt to index a nil value', true],
  ['TypeError', "Cannot read properties of undefined (reading 'endsBy')", true],
  ['SyntaxError', 'Unexpected end of JSON input', true],
  ['ReplyError', "OOM command not allowed when used memory > 'maxmemory'.", false],
  ['ReplyError', 'ERR Error running script: @user_script:1: READONLY You can not write', false],
  ['ReplyError', 'CLUSTERDOWN The cluster is down', false],
  ['Error', 'Connection is closed.', false],
])('%s: %s', (name, message, isOurs) => {
  expect(isAboutData(Object.assign(new Error(message), { name }))).toBe(isOurs);
});
