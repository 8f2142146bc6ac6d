import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  channelOf,
  commandIn,
  decodeMessage,
  encodeMessage,
  type InboundMessage,
  laneOf,
  piecesOf,
} from '../../../../shared/flow/message.ts';
import { forAll, rawTexts } from '../../../fixture/texts.ts';

const MESSAGE: InboundMessage = {
  v: 1,
  updateId: 5,
  chatId: -100_200,
  topicId: 9,
  chatType: 'supergroup',
  chatTitle: 'Ops',
  messageId: 7,
  from: { id: 1001, name: 'Ann' },
  sentAtMs: 1_790_000_000_000,
  content: { kind: 'text', text: 'Hello' },
};

const PHOTO = { kind: 'file', text: '', file: { what: 'photo', fileId: 'id' } } as const;

const { topicId: _topic, chatTitle: _title, ...BARE } = MESSAGE;

test('decodeMessage never throws: any text yields a message or a problem', () => {
  const texts = fc.oneof(
    rawTexts(100),
    fc.json(),
    fc.dictionary(fc.constantFrom(...Object.keys(MESSAGE)), fc.jsonValue()).map((over) => JSON.stringify(over)),
  );
  forAll([texts], (text) => {
    const decoded = decodeMessage(text);
    if (!decoded.ok) expect(decoded.problem).not.toBe('');
    else expect(encodeMessage(decoded.value)).not.toBe('');
  });
});

test.each<[string, unknown, RegExp]>([
  ['an unknown version', { ...MESSAGE, v: 4 }, /^v: /],
  ['no content', { ...MESSAGE, content: undefined }, /^content: /],
  ['an unknown kind of content', { ...MESSAGE, content: { kind: 'secret-kind' } }, /^content.kind: /],
  ['an empty text', { ...MESSAGE, content: { kind: 'text', text: '' } }, /^content.text: /],
  ['no file', { ...MESSAGE, content: { kind: 'file', text: '' } }, /^content.file: /],
  ['a file without an id', { ...MESSAGE, content: { ...PHOTO, file: { what: 'photo' } } }, /^content.file.fileId: /],
  ['an empty file id', { ...MESSAGE, content: { ...PHOTO, file: { what: 'photo', fileId: '' } } }, /fileId: /],
  ['an unknown sort of file', { ...MESSAGE, content: { ...PHOTO, file: { what: 'secret-what' } } }, /file.what: /],
  ['a file without a caption', { ...MESSAGE, content: { ...PHOTO, text: undefined } }, /^content.text: /],
  ['a negative file size', { ...MESSAGE, content: { ...PHOTO, file: { ...PHOTO.file, bytes: -1 } } }, /file.bytes: /],
  ['a chat id as text', { ...MESSAGE, chatId: 'secret-id' }, /^chatId: /],
  ['a fractional update id', { ...MESSAGE, updateId: 1.5 }, /^updateId: /],
  ['a message id of 2^53', { ...MESSAGE, messageId: 2 ** 53 }, /^messageId: /],
  ['an unknown type of chat', { ...MESSAGE, chatType: 'secret-type' }, /^chatType: /],
  ['null as the message', null, /^message: /],
  ['an array as the message', [MESSAGE], /^message: /],
  ['a string as the message', 'secret-text', /^message: /],
])('decodeMessage refuses %s: it names the field and quotes no content', (_, raw, problem) => {
  const decoded = decodeMessage(JSON.stringify(raw));
  expect(decoded).toMatchObject({ ok: false, problem: expect.stringMatching(problem) });
  expect(JSON.stringify(decoded)).not.toMatch(/secret-|Hello|Ann/);
});

test('decodeMessage says what is missing, what is no JSON, and what is of a later version', () => {
  expect(decodeMessage(undefined)).toEqual({ ok: false, problem: 'the entry has no message field' });
  expect(decodeMessage(encodeMessage(MESSAGE).slice(0, -1))).toEqual({ ok: false, problem: 'the message is not JSON' });
  expect(decodeMessage(JSON.stringify({ ...MESSAGE, v: 4 }))).toMatchObject({ ok: false, isNewer: true });
  expect(decodeMessage(JSON.stringify({ ...MESSAGE, v: 2, content: {} }))).not.toHaveProperty('isNewer');
  // An old worker reads what a newer producer of the same version wrote.
  const newer = JSON.stringify({ ...MESSAGE, novelty: 1, from: { ...MESSAGE.from, premium: true } });
  expect(decodeMessage(newer)).toEqual({ ok: true, value: MESSAGE });
});

test('encodeMessage throws on a message that decodeMessage would refuse', () => {
  expect(() => encodeMessage({ ...MESSAGE, content: { kind: 'text', text: '' } })).toThrow();
  expect(() => encodeMessage({ ...MESSAGE, sentAtMs: 2 ** 60 })).toThrow();
});

test.each<[InboundMessage, lane: string, channel: string]>([
  [MESSAGE, '-100200.9', 'Telegram supergroup "Ops" -100200, topic 9'],
  [BARE, '-100200', 'Telegram supergroup -100200'],
  [{ ...BARE, chatId: 5, chatType: 'private' }, '5', 'Telegram private chat 5'],
])('%j has the lane %s and the channel %s', (message, lane, channel) => {
  expect([laneOf(message), channelOf(message)]).toEqual([lane, channel]);
});

test('a reminder is a message of version 2, which a worker of version 1 leaves to a newer one', () => {
  const content = { kind: 'reminder', id: 'r1', text: 'call Ann', dueAtMs: 1_000 } as const;
  const reminder: InboundMessage = { ...MESSAGE, v: 2, content };
  expect(decodeMessage(encodeMessage(reminder))).toEqual({ ok: true, value: reminder });
  expect(() => encodeMessage({ ...reminder, v: 1 })).toThrow();
  expect(laneOf({ ...reminder, content: { ...content, text: '/status' } })).toBe(laneOf(MESSAGE));
});

test('a summons goes into a lane of its own, is no command, and is of a version that an earlier worker leaves alone', () => {
  const summons: InboundMessage = {
    ...MESSAGE,
    v: 3,
    content: { kind: 'text', text: '/new' },
    summons: { chatId: -5, queryId: 'q' },
  };
  expect(decodeMessage(encodeMessage(summons))).toEqual({ ok: true, value: summons });
  expect([laneOf(summons), commandIn(summons)]).toEqual([`${MESSAGE.from.id}@-5`, undefined]);
  expect(() => encodeMessage({ ...summons, v: 1 })).toThrow(/version/);
  expect(() => encodeMessage({ ...MESSAGE, v: 3 })).toThrow(/version/);
  const forwarded = { ...summons, forwardedFrom: 'Ann' };
  expect(piecesOf(forwarded, [{ entry: '1-1' as never, message: forwarded }])).toEqual([]);
});
