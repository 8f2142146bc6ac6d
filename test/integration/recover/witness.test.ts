import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachWithGateway, mainCalls, shown, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { LIES, type Lie } from '../../stand-in/claude/lies.ts';

const EXCHANGES = 40;
const EVERY_LIE = Object.keys(LIES) as Lie[];

eachWithGateway({ claude: { bindThinking: false } });

const exchange = (at: number) => [
  JSON.stringify({ role: 'user', content: `Question number ${at} about the house` }),
  JSON.stringify({ role: 'assistant', content: `Answer number ${at}: it is built with care` }),
];

async function givenConversation(chat = CHAT): Promise<string> {
  const lines = Array.from({ length: EXCHANGES }, (_, at) => exchange(at)).flat();
  return importSession(world.peek, world.keys, chatKey(chat), await parseLines(lines));
}

/** The next call that is to answer somebody, or to summarise, meets this, once. */
function lieOnce(lie: Lie, to: 'main' | 'compaction' = 'main'): void {
  let isTold = false;
  world.claude.react(({ kind }) => {
    if (isTold || kind !== to) return undefined;
    isTold = true;
    return LIES[lie];
  });
}

/** How much of the imported conversation the newest request shows. */
const exchangesShown = () => {
  const body = JSON.stringify(mainCalls().at(-1)?.body);
  return Array.from({ length: EXCHANGES }, (_, at) => at).filter((at) => body.includes(`Answer number ${at}:`)).length;
};

variants(EVERY_LIE)('"%s", once, costs nothing: the message is answered with the whole conversation', async (lie) => {
  const session = await givenConversation();
  lieOnce(lie);
  world.telegram.say(CHAT, 'Hello?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', session });
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(shown()).toEqual([expect.stringContaining('Hello?')]);
  expect(mainCalls()).toHaveLength(2);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(mainCalls()).toHaveLength(3);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

test('a usage that cannot be that of the request is no size of the conversation: nothing is summarised', async () => {
  const session = await givenConversation();
  world.claude.react(({ pendingText }) =>
    pendingText === 'Hello?' ? { do: 'answer', text: 'Yes.', usage: { input_tokens: 900_000 } } : undefined,
  );
  world.telegram.say(CHAT, 'Hello?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', session });
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
});

variants(EVERY_LIE)('"%s", once, to a summary costs no conversation', async (lie) => {
  world.claude.windowTokens = 20_000;
  const session = await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  lieOnce(lie, 'compaction');
  world.telegram.say(CHAT, 'Hello?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', session });
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

variants(['credit', 'key', 'permission'] as const)('"%s" to every summary costs no history', async (lie) => {
  world.claude.windowTokens = 20_000;
  const session = await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(conversation(60, 1_000)));
  world.claude.react(({ kind }) => (kind === 'compaction' ? LIES[lie] : undefined));
  world.telegram.say(CHAT, 'Hello?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', session });
  expect(shown()).toEqual([EN.misconfigured]);
});

variants(['credit', 'key'] as const)(
  '"%s" until the operator has mended it costs no history, whatever the next call does',
  async (lie) => {
    const session = await givenConversation();
    // Only the conversation meets it: the fixed parts are taken, as they are when credit comes in between.
    world.claude.react(({ pendingText }) => (pendingText === 'Hello?' ? LIES[lie] : undefined));
    world.telegram.say(CHAT, 'Hello?');
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', session });
    expect(shown()).toHaveLength(1);
    world.telegram.say(CHAT, 'And now?');
    expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
    expect(exchangesShown()).toBe(EXCHANGES);
  },
);
