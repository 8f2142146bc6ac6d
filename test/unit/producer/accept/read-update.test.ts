import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { readUpdate, type UpdateReading } from '../../../../producer/accept/read-update.ts';
import type { AllowedIds } from '../../../../shared/base/settings.ts';
import { decodeMessage, encodeMessage, type InboundMessage, laneOf } from '../../../../shared/flow/message.ts';
import { parseChatKey } from '../../../../shared/redis/keys.ts';
import { forAll, forCases, rawTexts } from '../../../fixture/texts.ts';

const USER = 1001;
const GROUP = -100_200;
const ALLOWED: AllowedIds = new Set([USER, GROUP]);
const TEXT_MAX_CHARS = 4_000;

const private_ = { id: USER, type: 'private' };
const group = { id: GROUP, type: 'supergroup', title: 'Ops' };
const person = (id: number) => ({ id, is_bot: false, first_name: 'Ann' });
const message = (over: object = {}) => ({
  message_id: 7,
  date: 1_790_000_000,
  from: person(USER),
  chat: private_,
  text: 'Hello',
  ...over,
});
const update = (over: object = {}) => ({ update_id: 5, message: message(over) });

/** Every message of a group is for us: what is not is told apart in `gate.test.ts`. */
function gateOf(allowed: AllowedIds, name?: string): Gate {
  return { allowed, answersAll: 'everyone', bot: { id: 1, name } };
}

function decide(raw: unknown, allowed = ALLOWED, textMaxChars = TEXT_MAX_CHARS): UpdateReading {
  return readUpdate(raw, gateOf(allowed), textMaxChars);
}

function accepted(raw: unknown, allowed = ALLOWED, textMaxChars = TEXT_MAX_CHARS): InboundMessage {
  const decided = decide(raw, allowed, textMaxChars);
  if (!decided.accept) throw new Error(`ignored: ${decided.reason}`);
  return decided.message;
}

function textOf(raw: unknown, textMaxChars?: number): string {
  const { content } = accepted(raw, ALLOWED, textMaxChars);
  return content.kind === 'text' ? content.text : '';
}

/** What must hold of every accepted message: the stream takes it, gives it back unchanged, and it has a lane. */
function expectStorable(stored: InboundMessage): void {
  expect(decodeMessage(encodeMessage(stored))).toEqual({ ok: true, value: stored });
  expect(parseChatKey(laneOf(stored))).toMatchObject({ chatId: stored.chatId });
  expect(JSON.stringify(stored)).not.toMatch(/\\ud[89a-f]|\\u0000/i);
}

test('accepts a text message with its chat, sender, time and text', () => {
  expect(accepted(update())).toEqual({
    v: 1,
    updateId: 5,
    chatId: USER,
    chatType: 'private',
    messageId: 7,
    from: { id: USER, name: 'Ann' },
    sentAtMs: 1_790_000_000_000,
    content: { kind: 'text', text: 'Hello' },
  });
  expect(accepted(update({ chat: group }))).toMatchObject({ chatId: GROUP, chatType: 'supergroup', chatTitle: 'Ops' });
});

const stranger = { from: person(666), chat: { id: 666, type: 'private' } };
const bot = { id: USER, is_bot: true, first_name: 'Channel' };
const anonymous = { id: 1_087_968_824, is_bot: true, first_name: 'Group' };
const elsewhere = { id: -555, type: 'supergroup' };
const strangerOf = (id: unknown) => ({ ...stranger, from: { ...person(666), id } });
const noText = (content: object) => ({ text: undefined, ...content });

test.each<[string, object, UpdateReading['accept'] | string]>([
  ['of a stranger', stranger, 'not_allowed'],
  ...['1001', [1001], { id: 1001 }, 1001.5, Number.NaN, null].map((id): [string, object, boolean] => [
    `of a stranger with the id ${JSON.stringify(id)}`,
    strangerOf(id),
    false,
  ]),
  [
    'of a stranger with an allowed id as name',
    { ...stranger, from: { ...person(666), username: '1001', first_name: '1001' } },
    'not_allowed',
  ],
  ['in a group that is not allowed', { chat: { id: -555, type: 'group' } }, 'not_allowed'],
  [
    'of a channel or an anonymous admin whose sender is a shared bot with an allowed id',
    { from: bot, sender_chat: { id: -100_999, type: 'channel' }, chat: elsewhere },
    'not_allowed',
  ],
  // Two bots would talk in a loop.
  ['of another bot, of no chat', { from: bot, chat: group, sender_chat: null }, 'from_a_bot'],
  ['of another bot, of a chat that is none', { from: bot, chat: group, sender_chat: 7 }, 'from_a_bot'],
  ['that says who is new', noText({ new_chat_members: [person(USER)] }), 'service_message'],
  ['of a blank text', noText({ text: ' \n\t\u00a0\u3000' }), 'service_message'],
  ['of NUL characters', noText({ text: '\0\0' }), 'service_message'],
  ['of a text that is not a string', noText({ text: { toString: 1 } }), 'service_message'],
])('that a message %s is accepted, or why not: %#', (_, over, expected) => {
  const decided = decide(update(over));
  if (typeof expected === 'boolean') expect(decided.accept).toBe(expected);
  else expect(decided).toEqual({ accept: false, reason: expected });
});

test('the list of those who may write opens and closes, and a message keeps its chat and sender', () => {
  expect(decide(update(stranger), new Set())).toEqual({ accept: false, reason: 'not_allowed' });
  expect(decide(update(stranger), 'everyone').accept).toBe(true);
  expect(accepted(update({ from: person(666), chat: group })).from.id).toBe(666);
  expect(accepted(update({ chat: { id: 9, type: 'private' } })).chatId).toBe(9);
  expect(accepted(update({ chat: { id: GROUP, type: 'channel' } })).chatType).toBe('channel');
  const admin = accepted(update({ from: anonymous, sender_chat: group, chat: group }));
  expect(admin).toMatchObject({ chatId: GROUP, from: { id: anonymous.id, name: 'Group' } });
  expect(decide({ update_id: 5, edited_message: message() })).toEqual({ accept: false, reason: 'not_a_message' });
});

test.each<[string, string, string | undefined, boolean]>([
  ['for another bot is refused', '/stop@other_bot', 'spillway_bot', false],
  ['for this bot, in other letter case, is accepted', '/stop@Spillway_Bot', 'spillway_bot', true],
  ['for any bot is accepted while our name is unknown', '/stop@other_bot', undefined, true],
  ['for another bot in the middle of a text is accepted', 'say /stop@other_bot', 'spillway_bot', true],
])('in a group, a command %s', (_what, text, ownName, isOurs) => {
  const decided = readUpdate(update({ chat: group, text }), gateOf(ALLOWED, ownName), TEXT_MAX_CHARS);
  expect(decided).toMatchObject(isOurs ? { accept: true } : { accept: false, reason: 'for_another_bot' });
});

test.each<[string, unknown]>([
  ['undefined in its place', undefined],
  ['an array in its place', [update()]],
  ['no update id', { message: message() }],
  ['an update id of 2^53', { ...update(), update_id: 2 ** 53 }],
  ['no chat', update({ chat: undefined })],
  ['no sender', update({ from: undefined })],
  ['no message id', update({ message_id: undefined })],
  ['a fractional message id', update({ message_id: 1.5 })],
])('ignores an update as malformed, without throwing: %s', (_, raw) => {
  expect(decide(raw)).toEqual({ accept: false, reason: 'malformed' });
});

test('a topic has its own lane; a thread that is not a topic uses the lane of the chat', () => {
  const inTopic = (over: object) => laneOf(accepted(update({ chat: group, ...over })));
  expect(inTopic({ is_topic_message: true, message_thread_id: 9 })).toBe('-100200.9');
  expect(inTopic({ message_thread_id: 9 })).toBe('-100200');
  for (const id of [-9, 0, 1.5, '9', null])
    expect(inTopic({ is_topic_message: true, message_thread_id: id })).toBe('-100200');
});

test('cuts a long text between whole characters and appends how long it was', () => {
  const family = '👩‍👩‍👧‍👦';
  const cut = `${family.repeat(4)}\n[message cut: ${20 * family.length} characters were sent]`;
  for (const cap of [44, 50, 54]) expect(textOf(update({ text: family.repeat(20) }), cap)).toBe(cut);
  expect(textOf(update({ text: 'x'.repeat(50) }), 50)).toBe('x'.repeat(50));
});

test('cuts a long title at 128 and a long name at 64 characters without splitting an emoji', () => {
  for (let shift = 0; shift < 4; shift++) {
    const long = 'x'.repeat(shift) + '👩‍👩‍👧‍👦😀'.repeat(20);
    const stored = accepted(update({ chat: { ...group, title: long }, from: { ...person(USER), first_name: long } }));
    expectStorable(stored);
    expect(stored.chatTitle?.length).toBeLessThanOrEqual(128);
    expect(stored.from.name?.length).toBeLessThanOrEqual(64);
  }
});

test('the language of an app is kept where it is one', () => {
  const from = (language_code: unknown) => accepted(update({ from: { ...person(USER), language_code } })).from;
  for (const language of ['de', 'abcdefgh', 'pt-BR', 'zh-Hant-TW', 'en-a-b2345678-c'])
    expect(from(language)).toEqual({ id: USER, name: 'Ann', language });
  for (const none of ['d', 'abcdefghi', 'de-', 'de-123456789', 'de-a-b-c-d', ' de', 'de!', '12', 'de-\u00e4', ['de']])
    expect(from(none)).toEqual({ id: USER, name: 'Ann' });
});

test('a message with an invalid date can still be stored', () => {
  for (const date of [undefined, null, '1790000000', 1.5, -1, 0, Number.MAX_SAFE_INTEGER, 2 ** 60, Number.NaN])
    expectStorable(accepted(update({ date })));
});

test('refuses any value that is not an update, without throwing', () => {
  forAll([fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true })], (raw) => {
    expect(decide(raw).accept).toBe(false);
    expect(decide({ update_id: 1, message: raw }).accept).toBe(false);
  });
});

test('every accepted message can be stored, is read back unchanged and has a lane', () => {
  const values = fc.oneof(
    fc.constantFrom<unknown>(USER, GROUP, 0, -1, 9, 1.5, 2 ** 53, null, true, 'supergroup', 'channel', '', ' '),
    fc.maxSafeInteger(),
    rawTexts(200),
    fc.anything({ maxDepth: 1 }),
  );
  const some = (...keys: string[]) => fc.dictionary(fc.constantFrom(...keys), values, { maxKeys: 3 });
  const updates = fc
    .tuple(
      some('message_id', 'message_thread_id', 'date', 'text', 'caption', 'sender_chat', 'photo', 'is_topic_message'),
      some('file_id', 'file_name', 'file_size', 'mime_type', 'width'),
      some('id', 'is_bot', 'first_name'),
      some('id', 'type', 'title'),
    )
    .map(([top, file, from, chat]) =>
      update({
        ...('file_id' in file && { photo: [file], document: file }),
        ...top,
        from: { ...person(USER), ...from },
        chat: { ...group, ...chat },
      }),
    )
    // As it comes over the wire: JSON knows no undefined and no negative zero.
    .map((raw) => JSON.parse(JSON.stringify(raw)) as unknown);
  let stored = 0;
  forCases(1_000, [updates, fc.integer({ min: 1, max: 100 })], (raw, cap) => {
    const decided = decide(raw, ALLOWED, cap);
    if (!decided.accept) return;
    stored += 1;
    expectStorable(decided.message);
  });
  expect(stored).toBeGreaterThan(300);
});
