import { expect, test } from '@jest/globals';
import type { Gate } from '../../../../producer/accept/gate.ts';
import { readUpdate } from '../../../../producer/accept/read-update.ts';
import { richMessage } from '../../../stand-in/telegram/inbound-kinds.ts';

const USER = 1001;
const GUEST = 1002;
const BOT = 7;
const GROUP = -100_200;
const GATE: Gate = { allowed: new Set([USER, GROUP]), answersAll: new Set(), bot: { id: BOT, name: 'spillway_bot' } };

const inGroup = (over: object) => ({
  update_id: 5,
  message: {
    message_id: 7,
    date: 1_790_000_000,
    from: { id: USER, is_bot: false },
    chat: { id: GROUP, type: 'supergroup' },
    ...over,
  },
});
const mention = (text: string, name: string) => ({ type: 'mention', offset: text.indexOf(name), length: name.length });
const naming = (text: string, name: string) => ({ text, entities: [mention(text, name)] });
const paragraph = (...text: unknown[]) => ({ type: 'paragraph', text });
const rich = (...text: unknown[]) => richMessage([paragraph(...text)]);
const listOf = (block: object) => ({ type: 'list', items: [{ label: '1.', blocks: [block] }] });
const marked = (...entities: object[]) => ({ text: 'hey', entities });
const mentionOf = (id?: number) => ({ type: 'text_mention', user: { id } });
const replying = (to: object) => ({ text: 'no', reply_to_message: { message_id: 3, ...to } });
const richMention = (username: string) => ({ type: 'mention', text: `@${username}`, username });
const mentionInBold = () => paragraph('so ', { type: 'bold', text: ['ask ', richMention('spillway_bot')] });
function nested(depth: number): object {
  let block: object = paragraph(richMention('spillway_bot'));
  for (let at = 0; at < depth; at++) block = { type: 'blockquote', blocks: [block] };
  return block;
}
const isTaken = (over: object, gate = GATE) => readUpdate(inGroup(over), gate, 4_000).accept;

test.each<[string, object]>([
  ['a mention in other letter case, after an emoji', naming('👩‍👩‍👧‍👦 hey @Spillway_BOT', '@Spillway_BOT')],
  ['a mention deep inside a rich message', richMessage([{ type: 'details', blocks: [listOf(mentionInBold())] }])],
  [
    'a mention of a bot without a name in a rich message',
    rich({ type: 'text_mention', text: 'bot', user: { id: BOT } }),
  ],
  ['a command in a rich message', rich({ type: 'bot_command', text: '/help', bot_command: '/help' })],
  ['a mention of a bot without a name, behind other marks', marked({ type: 'bold' }, mentionOf(BOT))],
  ['a rich mention with its sign', rich({ ...richMention('x'), username: '@spillway_bot' })],
])('in a group, accepts %s', (_, over) => {
  expect(isTaken(over)).toBe(true);
});

test.each<[string, object]>([
  ['a mention of a bot whose name begins alike', naming('@spillway_bot2 hi', '@spillway_bot2')],
  ['the name without a mark, as in code', { text: 'use @spillway_bot' }],
  ['a mention of another user by id', marked(mentionOf(USER))],
  ['a reply to somebody else', replying({ from: { id: GUEST } })],
  ['a message of a topic that the bot opened', replying({ from: { id: BOT }, forum_topic_created: { name: 'Ops' } })],
  ['a rich message that names somebody else', rich(richMention('somebody'))],
  ['a rich message with the name in code', richMessage([{ type: 'pre', text: '@spillway_bot' }])],
  ['a rich message with broken marks', rich({ type: 'mention' }, { type: 'text_mention', user: 7 }, mentionOf(), null)],
  ['a rich link to the name', rich({ type: 'url', text: 'x', username: 'spillway_bot' })],
  ['a mark without its text', { photo: [{ file_id: 'f', width: 1, height: 1 }], entities: [mention('@a', '@a')] }],
  ['an endless nest of rich blocks', richMessage([nested(5_000)])],
  ...[null, 7, { type: 'text_mention' }, { type: 'mention', offset: 0, length: '13' }].map((mark): [string, object] => [
    'a broken mark',
    { text: '@spillway_bot', entities: [mark] },
  ]),
  ['a broken place of a mark', { text: '@spillway_bot', entities: [{ type: 'mention', offset: '0', length: 13 }] }],
])('in a group, ignores %s', (_, over) => {
  expect(readUpdate(inGroup(over), GATE, 4_000)).toMatchObject({ accept: false, reason: 'not_addressed' });
});

test('while our name is unknown, every mention counts', () => {
  const gate = { ...GATE, bot: { id: BOT, name: undefined } };
  expect(isTaken(naming('@somebody what is this?', '@somebody'), gate)).toBe(true);
  expect(isTaken(rich(richMention('somebody')), gate)).toBe(true);
  expect(isTaken({ text: 'What do we eat?' }, gate)).toBe(false);
});

test('marks a sender who is not allowed as a person as a guest', () => {
  const fromOf = (over: object, gate = GATE) => {
    const read = readUpdate(inGroup({ text: '/new', ...over }), gate, 4_000);
    return read.accept ? read.message.from : undefined;
  };
  expect(fromOf({})).toEqual({ id: USER });
  expect(fromOf({ from: { id: GUEST } })).toEqual({ id: GUEST, isGuest: true });
  expect(fromOf({ from: { id: GUEST } }, { ...GATE, allowed: 'everyone' })).toEqual({ id: GUEST });
  const shared = { id: 1_087_968_824, is_bot: true };
  expect(fromOf({ from: shared, sender_chat: { id: GROUP } })).toEqual({ id: shared.id });
  expect(fromOf({ from: shared, sender_chat: { id: -100_999 } })).toEqual({ id: shared.id, isGuest: true });
});
