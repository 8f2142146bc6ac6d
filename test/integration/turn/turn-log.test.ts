import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { spawnGateway } from '../../fixture/process.ts';

eachInWorld();

test('the log of a turn tells why it was postponed, and its end, each line with trace, chat and entry', async () => {
  const down = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;
  world.claude.react(({ index }) => (index === 0 ? down : undefined));
  const gateway = await spawnGateway(world);
  try {
    world.telegram.say(CHAT, 'My private words');
    const { entry, traceId } = await nextOutcome(world, CHAT);
    await gateway.stop();
    const lines = gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const own = lines.filter((line) => line.entry === entry);
    expect(own.map(({ msg, reason }) => [msg, reason])).toEqual([
      ['tried again later', 'overloaded'],
      ['settled', undefined],
    ]);
    for (const line of own) expect(line).toMatchObject({ traceId, chat: String(CHAT) });
    expect(gateway.log.join('')).not.toContain('private');
  } finally {
    await gateway.stop();
  }
});
