import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { isProbe } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { alerts, ask, expectWhole, givenExchanges, invalid } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';

const USUAL = 'claude-opus-5-5';
const CHOSEN = 'claude-haiku-4-5-20251001';
/** Smaller than what every request holds. */
const TINY_TOKENS = 1_000;

eachInWorld({ env: { MODEL: USUAL, MODELS: CHOSEN } });

const WAYS: [string, (call: ClaudeCall) => Reaction][] = [
  ['may not be used (403)', () => LIES.permission],
  ['takes no tools (400)', () => invalid(`The model \`${CHOSEN}\` does not support tool use.`)],
  [
    'has a window smaller than what every request holds',
    ({ inputTokens }) => invalid(`prompt is too long: ${inputTokens} tokens > ${TINY_TOKENS} maximum`),
  ],
];

test.each(WAYS)(
  'a chat whose chosen model %s is answered by MODEL, told once, and no operator is paged',
  async (_, refusal) => {
    await start();
    const session = await givenExchanges();
    await ask(`/model ${CHOSEN}`);
    world.claude.react((call) => (call.body.model === CHOSEN ? refusal(call) : undefined));
    const others = [CHAT + 1, CHAT + 2];
    world.telegram.say(CHAT, 'Hello?');
    for (const chat of others) expect(await ask('Hello?', 1, chat)).toMatchObject({ outcome: 'answered' });
    expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session });
    expect(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'model')).toBeNull();
    const calls = mainCalls().filter((call) => call.body.model === CHOSEN && !isProbe(call)).length;
    expect(calls).toBeLessThanOrEqual(2);
    await expectWhole(session, 3);
    // The first text answers /model.
    const [, ...told] = shown().filter((text) => text.includes(CHOSEN));
    expect(told).toEqual([expect.stringContaining(USUAL)]);
    expect(alerts().join('\n')).not.toMatch(/🔴|[Ee]very|could not be answered/);
  },
);
