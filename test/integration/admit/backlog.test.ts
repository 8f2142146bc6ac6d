import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { PROJECT_ROOT } from '../../../shared/base/project.ts';
import { type EntryId, INBOUND_GROUP, jobIdOf, type LaneKey, TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { bindScript } from '../../../shared/redis/script.ts';
import { reconcile } from '../../../worker/lane/dispatcher.ts';
import { createLane } from '../../../worker/lane/lane.ts';
import { openQueue } from '../../../worker/lane/queue.ts';
import { eachWithRedis, keys, redis } from '../../fixture/each-redis.ts';
import { keptLog } from '../../fixture/log.ts';
import { variants } from '../../fixture/variants.ts';

const AT_ONCE = 4_000;
const jobs = `${keys.queuePrefix}:${TURNS_QUEUE}:`;

/** Chats that each wait for one message, whose job waits. What Redis needs for 4,000 of them measures the machine. */
const PLANT = `
for chat = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local entry = redis.call('XADD', KEYS[1], '*', 'chat', chat, 'message', '{}', 'traceparent', '00-a-b-01')
  redis.call('RPUSH', ARGV[3] .. chat, entry)
  redis.call('SADD', KEYS[2], chat)
  redis.call('HSET', ARGV[4] .. 'm-' .. entry, 'data', '{}', 'name', 'turn')
  redis.call('LPUSH', ARGV[4] .. 'wait', 'm-' .. entry)
end
redis.call('XREADGROUP', 'GROUP', ARGV[5], 'dispatcher', 'COUNT', 100000, 'STREAMS', KEYS[1], '>')`;

eachWithRedis();
beforeEach(() => createLane(redis, keys).prepare());

async function givenLanes(lanes: number): Promise<void> {
  for (let chat = 1; chat <= lanes; chat += AT_ONCE) {
    const args = [chat, chat + AT_ONCE - 1, keys.lanePrefix, jobs, INBOUND_GROUP];
    await redis.eval(PLANT, 2, keys.inbound, keys.lanes, ...args);
  }
  await redis.hset(keys.counts, 'accepted', lanes, 'settled', 0);
}

async function scriptsRun(command: 'eval' | 'evalsha'): Promise<{ calls: number; usecPerCall: number }> {
  const stats = new RegExp(`cmdstat_${command}:calls=(\\d+).*?usec_per_call=([\\d.]+)`);
  const [, calls, usecPerCall] = stats.exec(await redis.info('commandstats')) ?? [];
  return { calls: Number(calls), usecPerCall: Number(usecPerCall) };
}

const headOf = async (chat: number) => (await redis.lindex(keys.lane(`${chat}` as LaneKey), 0)) as EntryId;

variants([40_000, 100_000])(
  'a pass over %i lanes holds Redis up for no longer than a moment, mends what is broken and proves the ledger',
  async (lanes) => {
    await givenLanes(lanes);
    const [unlaned, gone, listless] = [await headOf(1_000), await headOf(lanes / 2), await headOf(lanes - 1)];
    await redis.del(keys.lane('1000' as LaneKey));
    await redis.srem(keys.lanes, '1000');
    await redis.lrem(`${jobs}wait`, 0, jobIdOf(gone));
    await redis.del(`${jobs}${jobIdOf(gone)}`);
    await redis.lrem(`${jobs}wait`, 0, jobIdOf(listless));
    // The ledger misses one message.
    await redis.hincrby(keys.counts, 'accepted', 1);
    const { usecPerCall: plantUsec } = await scriptsRun('eval');
    await redis.config('SET', 'slowlog-log-slower-than', Math.round(plantUsec / 4));
    await redis.config('SET', 'slowlog-max-len', 10_000);
    await redis.slowlog('RESET');
    await redis.config('RESETSTAT');
    const log = keptLog();
    const lane = createLane(redis, keys);
    const queue = openQueue(redis, keys);
    await reconcile({ lane, queue, discard: async () => {}, log: log.log }, 1);
    await queue.close();
    expect(await headOf(1_000)).toBe(unlaned);
    for (const entry of [unlaned, gone, listless])
      expect(await redis.lpos(`${jobs}wait`, jobIdOf(entry))).not.toBeNull();
    expect(await redis.llen(`${jobs}wait`)).toBe(lanes);
    expect(JSON.stringify(await redis.xrange(keys.alerts, '-', '+'))).toContain('ledger');
    const slow = (await redis.slowlog('GET', -1)) as unknown as [id: number, at: number, usec: number][];
    const { calls, usecPerCall } = await scriptsRun('evalsha');
    expect(calls).toBeGreaterThan((2 * lanes) / 1_000);
    expect(usecPerCall).toBeLessThan(plantUsec / 8);
    // What is slow by itself is so in each slice; a busy machine makes some of them wait.
    expect(slow.length).toBeLessThan(calls / 10);
    expect(slow.filter(([, , usec]) => usec > 5 * plantUsec)).toEqual([]);
  },
);

test('a script is never given a list of any length', async () => {
  const write = bindScript(redis, join(PROJECT_ROOT, 'shared', 'state', 'turn', 'write.lua'));
  await expect(write([keys.absent], Array(10_000).fill('word'))).rejects.toThrow(/write was given \d+ arguments/);
});
