import { expect, test } from '@jest/globals';
import { summonsKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { call } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, hold, mainCalls, shown, start, stopGateways, trouble, world } from '../../fixture/each-test.ts';
import { chatsOfShard } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, openNotebook, use } from '../../fixture/notebook.ts';
import { spend } from '../../fixture/spending.ts';
import { ABROAD, abroad, CALLER, callsOf, HERE, summon } from '../../fixture/summons.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachWithNotebook({
  policy: { approve: 'never', guests: true },
  env: {
    TELEGRAM_ALLOWED_IDS: `${CHAT},${CHAT + 1},${CALLER}`,
    TELEGRAM_GUESTS: `${CALLER}, ${CHAT}`,
    TEST_CALL_TIMEOUT_MS: '1000',
  },
});

const allowed = () => callsOf('getUpdates').at(-1)?.params.allowed_updates;

/** What a call answers, as somebody else wrote it. */
const BOBS = {
  message_id: 3,
  date: 1,
  chat: { id: ABROAD, type: 'supergroup' },
  from: { id: 9, is_bot: false, first_name: 'Bob' },
  text: 'Buy now',
};

test('something stands there at once, the answer is edited into it, once, and nothing is sent anywhere', async () => {
  const answer = hold('It is a lane.');
  await start();
  const update = summon('@spillway_stand_in_bot what is this?', { extra: { reply_to_message: BOBS } });
  const { messageId } = await world.telegram.waitAbroad(ABROAD, EN.oneMoment);
  answer();
  expect(await nextOutcome(world, HERE)).toMatchObject({
    outcome: 'answered',
    chat: HERE,
    delivery: { parts: 1, confirmed: 1, unsure: 0 },
  });
  world.telegram.redeliver(update);
  await ask('Hello');
  expect(world.telegram.shownAbroad(ABROAD)).toMatchObject([{ messageId, text: 'It is a lane.', edits: 1 }]);
  expect(callsOf('answerGuestQuery').map(({ status }) => status)).toEqual([200]);
  const sent = callsOf('sendMessage').map(({ params }) => Number(params.chat_id));
  expect([sent, callsOf('sendRichMessage'), shown(CALLER)]).toEqual([[CHAT], [], []]);
  for (const method of ['sendChatAction', 'sendMessageDraft'])
    expect(callsOf(method).filter(({ params }) => Number(params.chat_id) !== CHAT)).toEqual([]);
  expect(mainCalls()[0]?.pendingText).toContain('@spillway_stand_in_bot what is this?');
  const header = JSON.stringify(mainCalls()[0]?.body.messages.at(-1));
  expect(header).toContain('\\"Friends\\" (id 2002) calls you in the group \\"Friends\\"');
  expect(header).toContain('in answer to a message of \\"Bob\\"');
});

test('several calls at once: each has its place before the first is answered, in order; one too many is told so there', async () => {
  const answer = hold('It is a lane.');
  await start({ LANE_MAX_MESSAGES: '3' });
  for (const text of ['one', 'two', 'three', 'four', 'five']) summon(text);
  await world.telegram.waitForCall(() => abroad().length === 5);
  expect(abroad().filter((text) => text === EN.oneMoment).length).toBeGreaterThanOrEqual(3);
  world.telegram.expireSummonses();
  answer();
  await untilSettled(world, 5);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual(['one', 'two', 'three']);
  expect(abroad().sort()).toEqual([...Array(3).fill('It is a lane.'), ...Array(2).fill(EN.laneFull(1))]);
});

test('nothing of other chats gets there, and nothing from there gets into them', async () => {
  await start({ CHATS_FILE: '' });
  await ask('My code is 4711');
  summon('Which code?', {}, CHAT);
  await nextOutcome(world, summonsKey(CHAT, ABROAD));
  summon('Mine is 0815');
  await nextOutcome(world, HERE);
  // The same id as that of the other's own chat with the bot: in a chat of two people, it is the other one's.
  world.telegram.summon(CALLER, CHAT, 'And between us?');
  await nextOutcome(world, summonsKey(CALLER, CHAT));
  await ask('And now?', 2);
  const seen = mainCalls().map(({ body }) => JSON.stringify(body.messages));
  const knows = (at: number) => ['4711', 'Which code', '0815', 'between'].filter((word) => seen[at]?.includes(word));
  expect(seen.map((_, at) => knows(at))).toEqual([['4711'], ['Which code'], ['0815'], ['between'], ['4711']]);
  expect(shown(CHAT)).toHaveLength(2);
  expect(world.telegram.shownAbroad(CHAT)).toHaveLength(1);
  summon('Which was mine?');
  await nextOutcome(world, HERE, 2);
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('0815');
});

test('a message there and one of the own chat may have the same number: an edit changes the own one', async () => {
  const answer = hold('It is a lane.');
  await start();
  for (const text of ['hold', 'As it was']) summon(text, { messageId: 77 }, CHAT);
  world.telegram.say(CHAT, 'hold');
  await world.claude.waitForCall(({ index }) => index === 1);
  world.telegram.say(CHAT, 'mine', { messageId: 77 });
  world.telegram.edit(CHAT, 77, 'changed');
  await world.telegram.waitForConfirmed(world.telegram.say(CHAT + 1, 'other'));
  answer();
  await untilSettled(world, 5);
  const asked = mainCalls().map(({ pendingText }) => pendingText);
  expect(asked.toSorted()).toEqual(['As it was', 'changed', 'hold', 'hold', 'other']);
});

test('only those who are named may call, by the number of their account: all others are ignored and counted', async () => {
  await start();
  const others = [
    { from: { id: 3003, is_bot: false, first_name: 'Eve' } },
    { from: { id: CALLER, is_bot: true, first_name: 'Bot' } },
    { from: { id: CALLER, is_bot: false }, sender_chat: { id: ABROAD, type: 'supergroup' } },
    { from: { id: 3003, username: String(CALLER) }, guest_bot_caller_user: { id: CALLER } },
    { from: undefined },
    { from: { id: CALLER }, guest_query_id: '' },
    { from: { id: CALLER }, guest_query_id: 7 },
    { from: { id: CALLER }, guest_query_id: 'x'.repeat(5_000) },
  ];
  for (const other of others) {
    const chat = { id: ABROAD, type: 'supergroup', title: 'Friends' };
    const message = { message_id: 5, date: 1_700_000_000, chat, text: 'Hello', guest_query_id: 'q1', ...other };
    world.telegram.push({ guest_message: message });
  }
  world.telegram.push({ guest_message: null });
  summon('And me?');
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  expect(await settledOutcomes(world)).toHaveLength(1);
  expect(callsOf('answerGuestQuery')).toHaveLength(1);
});

test('without a list of guests nobody may, Telegram is not asked for it, and it is asked again once there is one', async () => {
  await start({ TELEGRAM_GUESTS: '' });
  await ask('Hello');
  expect(allowed()).not.toContain('guest_message');
  expect(summon('Hello?')).toBeGreaterThan(0);
  const late = { message_id: 5, date: 1, chat: { id: ABROAD, type: 'group' }, from: { id: CALLER }, text: 'x' };
  world.telegram.push({ update_id: 900_000, message: undefined, guest_message: { ...late, guest_query_id: '1' } });
  await ask('Still there?', 2);
  expect([abroad(), callsOf('answerGuestQuery')]).toEqual([[], []]);
  await stopGateways();
  await start({ TELEGRAM_GUESTS: String(CALLER) });
  await ask('Now', 3);
  expect(allowed()).toContain('guest_message');
});

test('commands are words there, and nobody is asked what was meant', async () => {
  await start();
  for (const [at, text] of ['/new', '/forget yes', '/nwe', '/stop'].entries()) {
    summon(text);
    expect(await nextOutcome(world, HERE, at + 1)).toMatchObject({ outcome: 'answered' });
  }
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual(['/new', '/forget yes', '/nwe', '/stop']);
});

test('of tools there are those that read, and of servers those that guests may have: no other is called', async () => {
  world.claude.react(
    callsTools([
      use('w', 'write'),
      use('l', 'look'),
      call('a', { name: 'ask_user', input: { question: 'Which?' } }),
      call('m', { name: 'memory', input: { action: 'remember', text: 'evil' } }),
      call('r', { name: 'reminders', input: { action: 'set', in: 60, text: 'evil' } }),
      call('s', { name: 'send_file', input: { name: 'a.txt', content: 'a' } }),
    ]),
  );
  await start();
  summon('Do it all');
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  const offered = mainCalls()[0]?.body.tools?.map(({ name }) => name);
  expect(offered).toEqual(['recall', 'notebook__look', 'notebook__picture', 'notebook__long']);
  expect(await notebook.notes()).toEqual(['look l']);
  expect(abroad()).toEqual(['Done after 1 rounds.']);
  for (const chat of [HERE, String(CALLER)]) {
    expect(await world.peek.exists(world.keys.memory(chat as never), world.keys.remindersOf(chat as never))).toBe(0);
  }
  // A server that is not given to guests is not there, also where it only reads.
  await stopGateways();
  const own = await openNotebook();
  await start(own.env);
  summon('Look it up');
  await nextOutcome(world, HERE, 2);
  expect(
    mainCalls()
      .at(-1)
      ?.body.tools?.map(({ name }) => name),
  ).toEqual(['recall']);
  await own.remove();
});

test("what a call costs counts as the person's, of which strangers read nothing but that it is used up", async () => {
  await start({ PERSON_DAILY_USD: '1' });
  await spend(`person:${CALLER}:usd`, 0.85);
  summon('Hello');
  await nextOutcome(world, HERE);
  expect(abroad()).toEqual(['You said: Hello']);
  await ask('Hello', 1, CALLER);
  expect(shown(CALLER).at(-1)).toMatch(/Your budget for today is nearly used up/);
  await spend(`person:${CALLER}:usd`, 1);
  summon('How much?');
  expect(await nextOutcome(world, HERE, 2)).toMatchObject({ outcome: 'refused' });
  expect(abroad()[1]).toMatch(/Your budget for today is used up/);
  expect(mainCalls()).toHaveLength(2);
});

test('a process that is stopped notes what it has put there before it ends', async () => {
  world.telegram.fail('answerGuestQuery', { do: 'slow', ms: 500 });
  const answer = trouble({ do: 'hang' });
  await start();
  summon('Hello');
  await world.telegram.waitForCall(({ method }) => method === 'answerGuestQuery');
  await stopGateways();
  answer();
  world.telegram.expireSummonses();
  await start();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  expect(abroad()).toEqual(['You said: Hello']);
});

test('with several shards all of it is in that of the person', async () => {
  const [person = 0] = chatsOfShard(1, 2);
  await start({ SHARDS: '2', TELEGRAM_GUESTS: String(person) });
  summon('Which shard?', {}, person);
  await world.telegram.waitAbroad(ABROAD, 'Which shard?');
  expect(await world.peek.keys(`*${person}@${ABROAD}*`)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^\{sw:1\}:chat:/)]),
  );
  expect(await world.peek.keys(`{sw:0}*@*`)).toEqual([]);
});
