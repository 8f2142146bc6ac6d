import { expect, test } from '@jest/globals';
import type { SessionId } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { buttons, newest, outcomes, press } from '../../fixture/commands.ts';
import { CHAT, eachInWorld, killAt, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';

const GROUP = -1_001_234;

eachInWorld();

/** The first words and the sizes of the conversations in the newest list. */
function listed(): string[] {
  const [, ...items] = newest()?.text.split('\n\n') ?? [];
  return items.map((item) => item.replace(/\n.*, /, ', '));
}

function asked(): string {
  return JSON.stringify(mainCalls().at(-1)?.body.messages);
}

test('/chats lists the conversations, the present one first; Continue opens one as it was, and the other stays', async () => {
  await start();
  await ask('how far is Tainan?', 1);
  const tainan = await sessionOf();
  await ask('/chats name Trip to Tainan', 2);
  expect(newest()?.text).toBe(EN.chats.named('Trip to Tainan'));
  await ask('/new', 3);
  await ask('/new and two eggs?', 4);
  await ask('/chats', 5);
  expect(newest()?.text).toMatch(/^2 conversations in this chat/);
  expect(listed()).toEqual([`1. and two eggs? ${EN.chats.isPresent}, 2 messages`, '2. Trip to Tainan, 2 messages']);
  expect(newest()?.text).toMatch(/\n\d{4}-\d\d-\d\d, 2 messages/);
  expect(buttons()).toEqual([`/continue ${tainan}`]);
  await press(`/continue ${tainan}`, 6);
  expect(newest()?.text).toBe(EN.chats.continued('Trip to Tainan'));
  await ask('and back?', 7);
  expect(asked()).toContain('how far is Tainan?');
  expect(asked()).not.toContain('eggs');
  await ask('/chats', 8);
  expect(listed()).toEqual([`1. Trip to Tainan ${EN.chats.isPresent}, 4 messages`, '2. and two eggs?, 2 messages']);
  expect(await world.peek.ttl(world.keys.session(tainan))).toBe(-1);
  await ask('/forget yes', 9);
  expect([...(await world.peek.keys('*:session:*')), ...(await world.peek.keys('*:log:*'))]).toEqual([]);
  await ask(`/continue ${tainan}`, 10);
  expect(newest()?.text).toBe(EN.chats.gone);
  await ask('/chats', 11);
  expect(newest()?.text).toBe(EN.chats.none);
  expect(world.claude.violations()).toEqual([]);
});

test('a page has ten conversations, and a button to the older ones', async () => {
  await start();
  for (let n = 1; n <= 12; n++) await ask(`/new about number ${n}`, n);
  await ask('/chats', 13);
  expect(listed()).toHaveLength(10);
  expect(listed()[0]).toContain('about number 12');
  expect(buttons()).toHaveLength(10);
  await press('/chats 2', 14);
  expect(listed()).toEqual(['11. about number 2, 2 messages', '12. about number 1, 2 messages']);
  await ask('/chats 99', 15);
  expect(listed()).toHaveLength(2);
});

test('the notice of a fresh session has a button back; one that is too large is compacted with the next message', async () => {
  const tooLong = { do: 'overflow', observedTokens: 350_000, limitTokens: 180_000 } as const;
  let limit = 0;
  let canSummarize = false;
  world.claude.react(({ kind, body }) => {
    const isTooLong =
      limit > 0 && (kind === 'compaction' ? !canSummarize : JSON.stringify(body.messages).length > limit);
    return isTooLong ? tooLong : undefined;
  });
  await start();
  await ask(`the anchor is blue ${'words about boats '.repeat(800)}`, 1);
  const old = await sessionOf();
  limit = 12_000;
  await ask('what colour is it?', 2);
  expect(shown().join('\n')).toContain(EN.freshSession);
  expect(buttons()).toEqual([`/continue ${old}`]);
  canSummarize = true;
  await press(`/continue ${old}`, 3);
  expect(await sessionOf()).toBe(old);
  await ask('and now?', 4);
  expect(await outcomes()).toEqual(['answered', 'answered', 'command continue', 'answered']);
  expect(await nextOutcome(world, CHAT, 4)).toMatchObject({ session: old });
  expect(asked()).toContain('Summary of the earlier conversation');
});

test('two people who press at once are served one after the other; of another chat, or with no rights, nothing opens', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${CHAT + 1},${GROUP}` });
  const inGroup = async (text: string, nth: number, fromId = CHAT) => {
    world.telegram.say(GROUP, text, { fromId });
    await nextOutcome(world, GROUP, nth);
  };
  await ask('a private matter', 1);
  await inGroup('the first', 1);
  const first = await sessionOf(GROUP);
  await inGroup('/new the second', 2);
  const second = await sessionOf(GROUP);
  await inGroup('/chats', 3);
  const { messageId = 0 } = world.telegram.shown(GROUP).at(-1) ?? {};
  for (const fromId of [CHAT, CHAT + 1]) world.telegram.press(GROUP, messageId, `/continue ${first}`, fromId);
  await nextOutcome(world, GROUP, 5);
  expect(shown(GROUP).slice(-2)).toEqual([EN.chats.continued('the first'), EN.chats.isHere]);
  await inGroup(`/continue ${await sessionOf(CHAT)}`, 6);
  expect(shown(GROUP).at(-1)).toBe(EN.chats.gone);
  await inGroup(`/continue ${second}`, 7, 77);
  expect(shown(GROUP).at(-1)).toBe(EN.notPermitted);
  expect(await sessionOf(GROUP)).toBe(first);
});

test.each(['attempt begun:3', 'answer stored:3', 'part sent:3'])(
  'killed at %s, Continue moves the chat once, and says so',
  async (moment) => {
    let first = '' as SessionId;
    await killAt(moment, async () => {
      await ask('the first', 1);
      first = await sessionOf();
      await ask('/new', 2);
      world.telegram.say(CHAT, `/continue ${first}`);
    });
    await nextOutcome(world, CHAT, 3);
    expect(newest()?.text).toContain(EN.chats.continued('the first'));
    expect(await sessionOf()).toBe(first);
    expect(await world.peek.hget(world.keys.session(first), 'closedBy')).toBeNull();
  },
);
