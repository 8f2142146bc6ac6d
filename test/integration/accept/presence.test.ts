import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { goneMsOf } from '../../../shared/state/chat/chat.ts';
import { until } from '../../chaos/scenario.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';

const GROUP = -2001;
eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}`, TELEGRAM_ANSWER_ALL_IDS: String(GROUP) } });

const ends = async () => (await settledOutcomes(world)).map(({ outcome, reason }) => [outcome, reason]);
const isNotedGone = async () => goneMsOf((await world.peek.zscore(world.keys.gone, String(CHAT))) ?? '') > 0;

test('who blocks the bot gets no answers that cost, and is answered again after coming back', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => (pendingText === 'first' ? { do: 'answer', after: promise } : undefined));
  await start();
  world.telegram.say(CHAT, 'first');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'first');
  for (const text of ['second', 'third']) world.telegram.say(CHAT, text);
  world.telegram.setMembership(CHAT, 'kicked');
  await until('it is noted', isNotedGone);
  resolve();
  await untilSettled(world, 3);
  expect(await ends()).toEqual(Array(3).fill(['undeliverable', 'telegram_gone']));
  expect(mainCalls()).toHaveLength(1);
  world.telegram.setMembership(CHAT, 'member');
  world.telegram.say(CHAT, 'again');
  await untilSettled(world, 4);
  expect([(await ends()).at(-1)?.[0], mainCalls().length]).toEqual(['answered', 2]);
});

test('a command of before is carried out all the same: who forgets and leaves is forgotten', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => (pendingText === 'first' ? { do: 'answer', after: promise } : undefined));
  await start();
  world.telegram.say(CHAT, 'Remember the boat');
  await nextOutcome(world, CHAT);
  const session = await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'session');
  world.telegram.say(CHAT, 'first');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'first');
  world.telegram.say(CHAT, '/forget yes');
  world.telegram.setMembership(CHAT, 'kicked');
  await until('it is noted', isNotedGone);
  resolve();
  await untilSettled(world, 3);
  expect(await world.peek.exists(world.keys.log(session as SessionId))).toBe(0);
  expect((await ends()).at(-1)).toEqual(['undeliverable', 'telegram_gone']);
});

test('of news in any order the newest stands', async () => {
  await start();
  const chat = { id: CHAT, type: 'private' };
  const kicked = { date: 1_800_000_000, chat, new_chat_member: { status: 'kicked' } };
  world.telegram.push({ my_chat_member: kicked });
  await until('it is noted', isNotedGone);
  world.telegram.push({
    my_chat_member: { ...kicked, date: 1_800_000_009, new_chat_member: { status: 'member' } },
  });
  await until('it is back', async () => !(await isNotedGone()));
  world.telegram.push({ my_chat_member: { ...kicked, date: 1_800_000_003 } });
  for (const odd of [null, 7, {}, { chat: 5 }, { ...kicked, date: 'now' }, { ...kicked, new_chat_member: null }])
    world.telegram.push({ my_chat_member: odd });
  world.telegram.say(CHAT, 'Hello');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
});

test('a group that removed the bot keeps its conversation for the return', async () => {
  await start();
  const say = (text: string) => world.telegram.say(GROUP, text, { chatType: 'supergroup', fromId: CHAT });
  say('Remember the boat');
  await nextOutcome(world, GROUP);
  world.telegram.setMembership(GROUP, 'left');
  world.telegram.setMembership(GROUP, 'member');
  say('What was it?');
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('Remember the boat');
  expect(shown(GROUP).at(-1)).toContain('What was it?');
});
