import { expect, test } from '@jest/globals';
import { chatKey } from '../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { CHAT, eachInWorld, moveToWorld, shown, start, world } from '../fixture/each-test.ts';
import { conversation } from '../fixture/history.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { searchedOften } from '../stand-in/claude/searching.ts';

const SEARCH = {
  id: 'srvtoolu_1',
  query: 'spillway',
  found: [{ url: 'https://example.org/spillway', title: 'Spillways' }],
};
const WEB = { TELEGRAM_ALLOWED_IDS: '*', WEB_SEARCH: 'true', WEB_FETCH: 'true' };

eachInWorld({ env: WEB });

/** A chat of some 45,000 tokens. */
async function givenLongChat(): Promise<void> {
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(90, 1_000)));
}

const session = () => world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session');
const summaries = () => world.claude.calls.filter(({ kind }) => kind === 'compaction');

test.each([
  [200_000, false],
  [200_000, true],
  [1_000_000, false],
  [1_000_000, true],
])(
  'four searches in a chat of 45,000 tokens cost neither the answer nor the session (window %d, passes stated: %s)',
  async (windowTokens, statesPasses) => {
    await moveToWorld({ env: WEB, claude: { windowTokens, statesPasses } });
    await givenLongChat();
    await start();
    const before = await session();
    world.claude.react(({ pendingText }) =>
      pendingText === 'Look it up' ? searchedOften(4, SEARCH, 'A spillway lets water pass.') : undefined,
    );
    for (const nth of [1, 2, 3]) {
      world.telegram.say(CHAT, nth === 1 ? 'Look it up' : `And ${nth}?`);
      expect(await nextOutcome(world, CHAT, nth)).toMatchObject({ outcome: 'answered', recoveries: 0 });
    }
    const [search, next] = world.claude.calls;
    const { input_tokens = 0, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = search?.usage ?? {};
    expect(search?.inputTokens).toBeGreaterThan(40_000);
    expect(input_tokens + cache_read_input_tokens + cache_creation_input_tokens).toBeGreaterThan(200_000);
    expect(next?.inputTokens).toBeLessThan(60_000);
    expect(shown(CHAT)[0]).toMatch(/^A spillway lets water pass\./);
    expect(shown(CHAT)).toHaveLength(3);
    expect(await session()).toBe(before);
    expect(summaries()).toEqual([]);
    expect(Number(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'calibration'))).toBeLessThan(1.6);
    const used = await world.peek.hgetall(world.keys.usage(new Date().toISOString().slice(0, 10), chatKey(CHAT)));
    expect(Number(used.cost) / 1e9).toBeCloseTo(world.claude.usd(), 6);
  },
);
