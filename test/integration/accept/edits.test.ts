import { beforeEach, expect, test } from '@jest/globals';
import { createAccept } from '../../../producer/accept/accept.ts';
import { METRIC } from '../../../shared/base/telemetry.ts';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import { createInbox } from '../../../shared/state/message/inbox.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, trouble, world } from '../../fixture/each-test.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { producerEnv } from '../../fixture/producer-env.ts';
import { until } from '../../fixture/root.ts';
import { LIES } from '../../stand-in/claude/lies.ts';
import { instantTelegram } from '../../tools/bench/instant.ts';

const GROUP = -100_5;
const BOT = 7_000_001;
let updateId = 100;
let ignored: string[] = [];

eachInWorld({ env: { TELEGRAM_ANSWER_ALL_IDS: '', TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` } });

beforeEach(() => {
  ignored = [];
  world.telegram.openChat(CHAT);
  world.telegram.openChat(GROUP);
});

/** A user edits a message, and the bot has taken that in. */
async function edit(messageId: number, text: string): Promise<void> {
  const update = world.telegram.edit(CHAT, messageId, text);
  await until('confirmation', () => (world.telegram.confirmedUpTo() >= update ? true : undefined));
}

/** Takes an update in as the producer does, while nothing runs that could answer. */
async function take(kind: 'message' | 'edited_message', over: object, id = ++updateId): Promise<void> {
  const telemetry = {
    span: async (_name: string, _attributes: object, run: (span: object) => unknown) =>
      run({ setAttributes: () => {} }),
    chat: () => ({}),
    count: (metric: string, { reason }: { reason?: string }) =>
      metric === METRIC.ignored && ignored.push(String(reason)),
  };
  const env = producerEnv({
    telegram: { ...instantTelegram(), botId: BOT },
    inbox: createInbox(world.peek, 1),
    allowed: async () => new Set([CHAT, GROUP]),
    botName: () => 'spillway_stand_in_bot',
    telemetry: telemetry as never,
  });
  await createAccept(env)({ update_id: id, [kind]: messageOf(over) });
}

function messageOf(over: object): object {
  const chat = { id: CHAT, type: 'private' };
  return { message_id: 3, date: 100, edit_date: 101, from: { id: CHAT, is_bot: false }, chat, text: 'first', ...over };
}

const asked = () => mainCalls().map(({ pendingText }) => pendingText);
const entries = async () => (await world.peek.xrange(world.keys.inbound, '-', '+')).map(([id]) => id as EntryId);
const inGroup = (text: string) => ({ chat: { id: GROUP, type: 'supergroup', title: 'Team' }, text });

test('an edit of a message that waits replaces its text; it keeps its entry, its place and its one outcome', async () => {
  await start();
  const free = trouble(LIES.overloaded);
  world.telegram.say(CHAT, 'zero', { messageId: 1 });
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  world.telegram.say(CHAT, 'frist', { messageId: 2 });
  world.telegram.say(CHAT, 'last', { messageId: 3 });
  await until('the lane', async () =>
    (await world.peek.llen(world.keys.lane(chatKey(CHAT)))) === 3 ? true : undefined,
  );
  const before = await entries();
  await edit(2, 'first');
  expect(await entries()).toEqual(before);
  free();
  await nextOutcome(world, CHAT, 3);
  expect((await settledOutcomes(world)).map(({ entry }) => entry)).toEqual(before);
  expect(asked().slice(-2)).toEqual(['first', 'last']);
  expect(shown().join('\n')).not.toContain('frist');
});

test('edits of a message that nobody has admitted yet replace its text, and none brings back an older one', async () => {
  await take('message', { text: 'frist' });
  await take('edited_message', { text: 'first' });
  await take('edited_message', { text: 'first, again' });
  // What changes nothing that a bot can see, and an edit of a message that is not known.
  await take('edited_message', { text: 'first, again', link_preview_options: { is_disabled: true } });
  await take('edited_message', { message_id: 99 });
  // Updates of another message that come again, or in the wrong order.
  await take('message', { message_id: 4, text: 'one' }, 201);
  await take('edited_message', { message_id: 4, text: 'three' }, 203);
  await take('edited_message', { message_id: 4, text: 'two' }, 202);
  await take('edited_message', { message_id: 4, text: 'three' }, 203);
  await take('message', { message_id: 4, text: 'one' }, 201);
  await start();
  expect(await untilSettled(world, 2)).toHaveLength(2);
  expect(asked()).toEqual(['first, again', 'three']);
  expect(ignored).toEqual(['edit_unchanged', 'edit_unknown', 'edit_too_late', 'edit_unchanged']);
});

test('an edit that only exchanges the recording replaces it', async () => {
  const withAudio = (file_id: string) => ({ text: undefined, caption: 'my talk', audio: { file_id, duration: 9 } });
  await take('message', withAudio('draft'));
  await take('edited_message', withAudio('draft'));
  await take('edited_message', withAudio('final'));
  const [entry] = await entries();
  expect(await world.peek.hget(world.keys.turn(entry as EntryId), 'edited')).toContain('"final"');
  expect(ignored).toEqual(['edit_unchanged']);
});

test('an edit of a message that is being answered, or was, changes nothing and makes no other answer', async () => {
  const answer = trouble({ do: 'hang' });
  await start({ TURN_TIMEOUT_MS: '2000' });
  world.telegram.say(CHAT, 'first', { messageId: 2 });
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  await edit(2, 'second');
  answer();
  await nextOutcome(world, CHAT);
  await edit(2, 'third');
  world.telegram.say(CHAT, 'next');
  await nextOutcome(world, CHAT, 2);
  expect(new Set(asked())).toEqual(new Set(['first', 'next']));
  expect(await settledOutcomes(world)).toHaveLength(2);
});

test('in a group, an edit that now addresses the bot is a message of its own, once, also without the mention later', async () => {
  await take('message', inGroup('what is this?'));
  expect(await entries()).toEqual([]);
  await take('edited_message', inGroup('/ask what is this?'), 901);
  await take('edited_message', inGroup('/ask what is this?'), 901);
  await take('edited_message', inGroup('what is that?'), 902);
  expect(await entries()).toHaveLength(1);
  // An edit that comes before its message makes the message, which is not accepted again.
  await take('edited_message', { ...inGroup('/ask now'), message_id: 4 });
  await take('message', { ...inGroup('/ask frist'), message_id: 4 });
  await start();
  expect(await untilSettled(world, 2)).toHaveLength(2);
  expect(asked()).toEqual(['what is that?', '/ask now']);
  await take('edited_message', inGroup('/ask and this?'), 903);
  expect(ignored).toEqual(['not_addressed', 'edit_too_late']);
});

test('an edit neither makes nor takes back a command', async () => {
  const written = ['one', '/stop', '/status', 'hello'];
  for (const [at, text] of written.entries()) {
    await take('message', { text, message_id: at + 1 });
    await take('edited_message', { text: ['/new', 'two', 'hello', '/status'][at], message_id: at + 1 });
  }
  await start();
  const settled = await untilSettled(world, 4);
  expect(settled.map(({ outcome }) => outcome).sort()).toEqual(['answered', 'cancelled', 'command', 'command']);
  expect(asked()).toEqual(['hello']);
  expect(ignored).toEqual(Array(4).fill('edit_of_a_command'));
});

test('a piece of a long text that was edited before it was taken is merged as it reads then', async () => {
  const pasted = [`A${'a'.repeat(4_000)}`, 'the ned'];
  world.telegram.say(CHAT, pasted[0] ?? '', { messageId: 10 });
  world.telegram.say(CHAT, pasted[1] ?? '', { messageId: 11 });
  world.telegram.edit(CHAT, 11, 'the end');
  await start();
  await nextOutcome(world, CHAT, 2);
  expect(asked()).toEqual([`${pasted[0]}\nthe end`]);
});

test('a dead letter and its replay have the text as it was edited', async () => {
  const mend = trouble(LIES.key);
  await take('message', { text: 'frist' });
  await take('edited_message', { text: 'first' });
  await start();
  await nextOutcome(world, CHAT);
  mend();
  const replayed = await runCli(['dead', 'replay', '--all', '--json'], world.env);
  expect(JSON.parse(replayed.stdout)).toMatchObject({ replayed: 1 });
  await nextOutcome(world, CHAT, 2);
  expect(asked().at(-1)).toBe('first');
});

test('a broken message on the stream does not stop an edit of it from being dealt with', async () => {
  await take('message', { text: 'frist' });
  const [entry] = await entries();
  await world.peek.xdel(world.keys.inbound, entry ?? '');
  const broken = await world.peek.xadd(world.keys.inbound, '*', 'chat', String(CHAT), 'message', '{"v":1');
  await world.peek.set(world.keys.written(BOT, CHAT, 3), broken ?? '');
  await take('edited_message', { text: 'first' });
  expect(await world.peek.hget(world.keys.turn(broken as EntryId), 'edited')).toContain('first');
});
