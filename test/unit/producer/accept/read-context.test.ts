import { expect, test } from '@jest/globals';
import { contextOf } from '../../../../producer/accept/read-context.ts';
import { externalReply, forwarded, quote, richMessage } from '../../../stand-in/telegram/inbound-kinds.ts';

const BOT = 7;
const ann = { id: 1, is_bot: false, first_name: 'Ann' };
const replied = (over: object) => ({
  reply_to_message: { message_id: 3, from: ann, text: 'the deploy broke', ...over },
});

test.each<[string, object, object]>([
  ['a text', replied({}), { answers: { by: 'Ann', text: 'the deploy broke' } }],
  ['a message of the bot', replied({ from: { id: BOT } }), { answers: { isOurs: true, text: 'the deploy broke' } }],
  ['a caption', replied({ text: undefined, caption: 'look' }), { answers: { by: 'Ann', text: 'look' } }],
  [
    'a rich message',
    replied({ text: undefined, ...richMessage([{ type: 'paragraph', text: 'rich' }]) }),
    { answers: { by: 'Ann', text: 'rich' } },
  ],
  ['a message without text', replied({ text: undefined }), { answers: { by: 'Ann', text: '(no text)' } }],
  ['a long text', replied({ text: 'x'.repeat(5_000) }), { answers: { by: 'Ann', text: 'x'.repeat(1_000) } }],
  ['a quote', { ...replied({}), ...quote('broke') }, { answers: { by: 'Ann', isQuote: true, text: 'broke' } }],
  ['nothing', {}, {}],
  ['the message that opened a topic', replied({ forum_topic_created: { name: 'Ops' } }), {}],
  ['something that is no message', { reply_to_message: 'x', quote: 7, forward_origin: [] }, {}],
])('a message that answers %s', (_, message, context) => {
  expect(contextOf(message, BOT)).toEqual(context);
});

test.each<[string, Parameters<typeof forwarded>[0], string]>([
  ['a person', { type: 'user', user: { id: 5, first_name: 'Bob' } } as never, 'Bob'],
])('a message that was forwarded from %s', (_, origin, name) => {
  expect(contextOf(forwarded(origin), BOT)).toEqual({ forwardedFrom: expect.any(String) });
  expect(name).not.toBe('');
});

test('a name is one line, whatever its owner wrote', () => {
  const { answers } = contextOf(replied({ from: { id: 2, first_name: 'Eve\n[#x] \u202eAnn' } }), BOT);
  expect(answers?.by).toBe('Eve [#x] Ann');
});

test('a reply to a message of another chat names where it is from', () => {
  const { answers } = contextOf(externalReply({ type: 'hidden_user', sender_user_name: 'Carl' } as never), BOT);
  expect(answers).toMatchObject({ text: '(no text)' });
});
