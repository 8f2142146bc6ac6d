import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { chatKey, type EntryId, type SessionId } from '../../../shared/redis/keys.ts';
import { bindScript } from '../../../shared/redis/script.ts';
import { FencedError } from '../../../shared/state/change.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import type { Turn } from '../../../shared/state/turn/turn.ts';
import { newStamp } from '../../../worker/session/record.ts';
import { createSessions } from '../../../worker/session/store.ts';
import { eachWithQueue, lane } from '../../fixture/each-queue.ts';
import { keys, redis } from '../../fixture/each-redis.ts';
import { inboundText } from '../../fixture/inbound.ts';

const CHAT = chatKey(1001);

let entry: EntryId;

eachWithQueue();
beforeEach(async () => {
  ({ entry } = await createInbox(redis, 1).accept(7, inboundText(1), '00-a-b-01'));
  await lane.admit(100);
});

async function begun(): Promise<Turn> {
  const result = await lane.begin(entry, CHAT, 's-1' as SessionId);
  if (result.kind !== 'begun') throw new Error(`not begun but ${result.kind}`);
  return result.turn;
}

const answer = { chat: CHAT, outcome: 'answered', traceId: 't', settledAtMs: 1, attempts: 1, recoveries: 0 } as const;

/** Does what a Redis does that comes back without its last write: the turn is as it was before. */
async function losing(work: () => Promise<unknown>): Promise<void> {
  const before = await redis.hgetall(keys.turn(entry));
  await work();
  await redis.multi().del(keys.turn(entry)).hset(keys.turn(entry), before).exec();
}

const AFTERWARDS: [string, (turn: Turn) => Promise<unknown>][] = [
  ['writes a step', (turn) => turn.write('next', [['SET', `${keys.counts}:x`, 1]])],
  ['writes without a step name', (turn) => turn.write('', [['SET', `${keys.counts}:x`, 1]])],
  ['asserts that it owns the turn', (turn) => turn.assertOwned()],
  [
    'opens its session',
    (turn) =>
      createSessions(redis, keys).open(
        turn,
        { v: 1, t: 'user', ...newStamp(), content: 'hello', entry, channel: 'c' },
        1_000,
      ),
  ],
];

test.each(AFTERWARDS)('an attempt whose last write was lost gets a FencedError when it %s', async (_what, next) => {
  const turn = await begun();
  await turn.write('first', [['HSET', keys.turn(entry), 'a', 1]]);
  await losing(() => turn.write('second', [['HSET', keys.turn(entry), 'b', 1]]));
  await expect(next(turn)).rejects.toThrow(FencedError);
  expect(await redis.exists(`${keys.counts}:x`, keys.log(turn.session))).toBe(0);
});

test.each(AFTERWARDS)('an attempt that lost nothing %s', async (_what, next) => {
  const turn = await begun();
  await turn.write('first', [['HSET', keys.turn(entry), 'a', 1]]);
  await next(turn);
});

test('an attempt whose last write was lost cannot settle; the next one writes the conclusion and settles', async () => {
  const turn = await begun();
  for (const step of ['first', 'second']) await turn.write(step, [['HSET', keys.turn(entry), step, 1]]);
  await losing(() => turn.write('conclusion', [['HSET', keys.turn(entry), 'conclusion', '{}']]));
  expect(await lane.settle(turn, { ...answer, entry })).toEqual({ result: 'fenced' });
  const next = await begun();
  expect(next.conclusion).toBeUndefined();
  await next.write('conclusion', [['HSET', keys.turn(entry), 'conclusion', '{}']]);
  expect(await lane.settle(next, { ...answer, entry })).toEqual({ result: 'settled' });
});

test('writes sent together are applied in order, and a resent write is applied once', async () => {
  const turn = await begun();
  await Promise.all([1, 2, 3].map((at) => turn.write('', [['RPUSH', `${keys.counts}:list`, at]])));
  const write = bindScript<string>(redis, join(PROJECT_ROOT, 'shared', 'state', 'turn', 'write.lua'));
  // What ioredis does when a connection breaks before the answer has come.
  const again = () => write([keys.turn(entry), keys.absent], [turn.fencingToken, '3 4', 'fourth', 0]);
  expect([await again(), await again()]).toEqual(['written', 'written']);
  expect(await redis.lrange(`${keys.counts}:list`, 0, -1)).toEqual(['1', '2', '3']);
});

/** What Redis does to a write, and what ends that. */
const REJECTIONS: [string, RegExp, () => Promise<unknown>, () => Promise<unknown>][] = [
  ['full', /OOM/, () => redis.config('SET', 'maxmemory', '1'), () => redis.config('SET', 'maxmemory', '0')],
  ['running no scripts', /NOPERM/, () => permit('-evalsha', '-eval'), () => permit('+@all')],
  ['refusing a command of the list', /can't run this command/, () => permit('-set'), () => permit('+@all')],
];
const permit = (...rules: string[]) => redis.acl('SETUSER', 'default', ...rules);

test.each(REJECTIONS)(
  'a write that a Redis rejects which is %s is made again, and all later ones',
  async (...given) => {
    const [, error, reject, permitAgain] = given;
    const turn = await begun();
    const write = () => turn.write('first', [['SET', `${keys.counts}:x`, 1]]);
    try {
      await reject();
      await expect(write()).rejects.toThrow(error);
    } finally {
      await permitAgain();
    }
    expect(await write()).toBe('written');
    for (const [, next] of AFTERWARDS) await next(turn);
    expect(await redis.get(`${keys.counts}:x`)).toBe('1');
    expect(await lane.settle(turn, { ...answer, entry })).toEqual({ result: 'settled' });
  },
);

test('a write that is rejected before it is sent fences nobody', async () => {
  const turn = await begun();
  const many = Array.from({ length: 10_000 }, (_, at) => at);
  await expect(turn.write('first', [['RPUSH', `${keys.counts}:list`, ...many]])).rejects.toThrow(RangeError);
  for (const [, next] of AFTERWARDS) await next(turn);
});
