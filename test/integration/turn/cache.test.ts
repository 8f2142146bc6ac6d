import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const TURNS = 30;

eachWithGateway();

test('a chat of 30 turns reads at least 90 % of its input from the cache', async () => {
  world.claude.react((call) => ({
    do: 'answer',
    text: `Answer ${call.index}. ${'It goes on for a while. '.repeat(20)}`,
  }));
  for (let turn = 1; turn <= TURNS; turn++) {
    world.telegram.say(CHAT, conversation(turn, 400).at(-2) ?? '');
    await nextOutcome(world, CHAT, turn);
  }
  const used = world.claude.calls.slice(2).map(({ usage }) => usage);
  const read = used.reduce((sum, usage) => sum + (usage?.cache_read_input_tokens ?? 0), 0);
  const written = used.reduce(
    (sum, usage) => sum + (usage?.cache_creation_input_tokens ?? 0) + (usage?.input_tokens ?? 0),
    0,
  );
  expect(read / (read + written)).toBeGreaterThanOrEqual(0.9);
  expect(world.claude.violations()).toEqual([]);
});
