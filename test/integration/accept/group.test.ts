import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { goneMsOf } from '../../../shared/state/chat/chat.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { ask, sessionOf } from '../../fixture/whole-chat.ts';
import { photo } from '../../stand-in/telegram/inbound-kinds.ts';

const GROUP = -1_002_000_000_001;
const BASIC = -2001;
const GUEST = 5005;

eachInWorld({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP},${BASIC}`, TELEGRAM_ANSWER_ALL_IDS: '' } });

const mention = () => `@${world.telegram.username}`;

test('answers a mention as a reply to it, and a reply to the bot with what it refers to, and nothing that is not addressed', async () => {
  await start();
  world.telegram.say(GROUP, 'What do we eat?', { fromId: CHAT });
  expect(await ask(`${mention()} what is this?`, 1, GROUP, { fromId: GUEST, messageId: 50 })).toMatchObject({
    outcome: 'answered',
  });
  const [first, ...others] = world.telegram.shown(GROUP);
  expect([first?.replyTo, others]).toEqual([50, []]);
  await ask('and then?', 2, GROUP, { fromId: GUEST, replyTo: first?.messageId ?? 0 });
  expect(mainCalls()).toHaveLength(2);
  const asked = JSON.stringify(mainCalls()[1]?.body.messages.at(-1));
  expect(asked).toContain('in answer to your own message');
  expect(asked).toContain('> You said:');
});

test('a command or a mention in the caption of a photo is answered, with the photo', async () => {
  await start();
  const picture = async (caption: string, fromId = GUEST) => {
    const id = world.telegram.addFile(await jpegPhoto(300, 200), `photos/${caption.length}.jpg`);
    world.telegram.say(GROUP, '', { fromId, extra: photo(id, { caption }) });
  };
  await picture('look');
  await picture('/ask@another_bot what is this');
  await picture(`/ask${mention()} what is this`);
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  await picture(`and this, ${mention()}?`);
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'answered' });
  const asked = mainCalls().map(({ body }) => JSON.stringify(body.messages.at(-1)));
  expect(asked).toEqual([expect.stringContaining('what is this'), expect.stringContaining('and this')]);
  for (const each of asked) expect(each).toContain('"type":"image"');
  await picture(`/new${mention()}`);
  expect(await nextOutcome(world, GROUP, 3)).toMatchObject({ outcome: 'refused', reason: 'not_permitted' });
  expect(shown(GROUP).at(-1)).toBe(EN.notPermitted);
  await picture(`/new${mention()} and here?`, CHAT);
  expect(await nextOutcome(world, GROUP, 4)).toMatchObject({ outcome: 'answered' });
  const anew = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(anew).toContain('and here?');
  expect(anew.split('"type":"image"')).toHaveLength(2);
});

test('two people in one topic: each is answered, in order, as a reply in the topic', async () => {
  await start();
  world.telegram.say(GROUP, `${mention()} one`, { fromId: CHAT, topicId: 7, messageId: 60 });
  world.telegram.say(GROUP, `two ${mention()}`, { fromId: GUEST, topicId: 7, messageId: 61 });
  await world.telegram.waitForText(GROUP, /two/);
  expect(world.telegram.shown(GROUP, 7).map(({ replyTo }) => replyTo)).toEqual([60, 61]);
});

test('a group that becomes a supergroup goes on with its conversation under its new id, and the operator gets that id', async () => {
  await start();
  await ask(`${mention()} before`, 1, BASIC, { fromId: CHAT, chatType: 'group' });
  const to = world.telegram.migrate(BASIC);
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /now has the id/);
  expect(text).toContain(String(to));
  expect(await ask(`${mention()} after`, 1, to, { fromId: CHAT })).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toMatch(/before.*after/);
  expect(await world.peek.hget(world.keys.chat(chatKey(BASIC)), 'movedTo')).toBe(String(to));
});

test('what was said before a question, and not to the bot, is shown to the model with it once, if the operator wants that', async () => {
  await start({ GROUP_CONTEXT_MESSAGES: '2' });
  for (const [at, text] of ['The cake is late.', 'Ben brings it.', 'At noon [#x you may go]'].entries())
    world.telegram.say(GROUP, text, { fromId: GUEST, firstName: 'Cleo', messageId: 70 + at });
  await ask(`${mention()} who brings the cake?`, 1, GROUP, { messageId: 80 });
  const asked = JSON.stringify(mainCalls().at(-1)?.body.messages);
  expect(asked).toMatch(
    /before that, this was said here and not to you:\]\\n> \\"Cleo\\": Ben brings it\.\\n> \\"Cleo\\": At noon/,
  );
  expect(asked).not.toContain('The cake is late.');
  await ask(`${mention()} and when?`, 2, GROUP, { messageId: 81 });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages.at(-1))).not.toContain('Ben brings it.');
  expect(shown(GROUP)).toHaveLength(2);
});

const ends = async () => (await settledOutcomes(world)).map(({ outcome, reason }) => [outcome, reason]);
const isNotedGone = async () => goneMsOf((await world.peek.zscore(world.keys.gone, String(CHAT))) ?? '') > 0;

test('who blocks the bot gets no answers that cost, what they said to forget is forgotten, and they are answered after coming back', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ pendingText }) => (pendingText === 'first' ? { do: 'answer', after: promise } : undefined));
  await start();
  await ask('Remember the boat');
  const session = await sessionOf();
  world.telegram.say(CHAT, 'first');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'first');
  for (const text of ['second', 'third', '/forget yes']) world.telegram.say(CHAT, text);
  world.telegram.setMembership(CHAT, 'kicked');
  await until('it is noted', isNotedGone);
  resolve();
  await untilSettled(world, 5);
  expect((await ends()).slice(1)).toEqual(Array(4).fill(['undeliverable', 'telegram_gone']));
  expect(await world.peek.exists(world.keys.log(session))).toBe(0);
  expect(mainCalls()).toHaveLength(2);
  world.telegram.setMembership(CHAT, 'member');
  world.telegram.say(CHAT, 'again');
  await untilSettled(world, 6);
  expect([(await ends()).at(-1)?.[0], mainCalls().length]).toEqual(['answered', 3]);
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
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
});

test('a group that removed the bot keeps its conversation for the return', async () => {
  await start();
  const say = (text: string) =>
    world.telegram.say(GROUP, `${mention()} ${text}`, { chatType: 'supergroup', fromId: CHAT });
  say('Remember the boat');
  await nextOutcome(world, GROUP);
  world.telegram.setMembership(GROUP, 'left');
  world.telegram.setMembership(GROUP, 'member');
  say('What was it?');
  expect(await nextOutcome(world, GROUP, 2)).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('Remember the boat');
  expect(shown(GROUP).at(-1)).toContain('What was it?');
});
