import { expect, test } from '@jest/globals';
import { type InboundMessage, mayHavePieces, piecesOf, type Waiting } from '../../../../shared/flow/message.ts';
import type { EntryId } from '../../../../shared/redis/keys.ts';
import { expectedAfter, isExpected } from '../../../../shared/state/message/inbox.ts';

const LONG = 'x'.repeat(4_096);
const T0 = 1_800_000_000_000;

type Change = Partial<Pick<InboundMessage, 'album' | 'sentAtMs' | 'forwardedFrom'>> & { by?: number };

function message(content: InboundMessage['content'], { by = 1, ...change }: Change = {}): InboundMessage {
  const fixed = { v: 1, updateId: 1, chatId: 1, chatType: 'group', messageId: 1, sentAtMs: T0 } as const;
  return { ...fixed, from: { id: by }, ...change, content };
}

const text = (words: string, change?: Change) => message({ kind: 'text', text: words }, change);
const photo = (album?: string, change?: Change) =>
  message({ kind: 'file', text: '', file: { what: 'photo', fileId: 'f' } }, { ...change, ...(album && { album }) });
const forward = (change?: Change) => text('they said', { forwardedFrom: 'Ann', ...change });
const voice = (album?: string) => message({ kind: 'unsupported', what: 'voice' }, album ? { album } : {});

const waiting = (...messages: InboundMessage[]): Waiting[] =>
  messages.map((each, at) => ({ entry: `${at + 1}-0` as EntryId, message: each }));

test.each<[string, boolean, InboundMessage]>([
  ['a photo of an album', true, photo('a')],
  ['a photo alone', false, photo()],
  ['a text as long as a message can be', true, text(LONG)],
  ['a text of 3,500 characters', true, text('x'.repeat(3_500))],
  ['a text of 3,499 characters', false, text('x'.repeat(3_499))],
  ['a text that is longer than a message can be', false, text(`${LONG}x`)],
  ['a forward', true, forward()],
  ['a forwarded voice message', true, { ...voice(), forwardedFrom: 'Ann' }],
  ['a command with a long tail', false, text(`/new ${LONG}`)],
  ['an unreadable video of an album', false, voice('a')],
])('%s may have further pieces: %s', (_what, expected, first) => {
  expect(mayHavePieces(first)).toBe(expected);
});

test.each<[string, string[], InboundMessage, InboundMessage[]]>([
  ['no photo of another album or without one', ['2-0'], photo('a'), [photo('b'), photo('a'), photo()]],
  ['photos of its album past what others wrote', ['2-0'], photo('a'), [text('hm', { by: 2 }), photo('a')]],
  ['no photo of another person', [], photo('a'), [photo('a', { by: 2 })]],
  ['only the readable parts of its album', ['2-0'], photo('a'), [voice('a'), photo('a')]],
  ['pieces up to the first one that was not cut', ['1-0', '2-0'], text(LONG), [text(LONG), text('end'), text('next')]],
  ['pieces past what others wrote', ['2-0'], text(LONG), [text('hm', { by: 2 }), text('end')]],
  ['no text that was sent 3 seconds later', [], text(LONG), [text('and?', { sentAtMs: T0 + 3_000 })]],
  ['no command into a text', [], text(LONG), [text('/new')]],
  ['no photo into a text', [], text(LONG), [photo(), text('end')]],
  ['nothing into a short text', [], text('short'), [text('end')]],
  ['forwards of any kind into a forward', ['1-0', '2-0'], forward(), [photo('a', { forwardedFrom: 'B' }), forward()]],
  ['no forward of another person', [], text('look'), [forward({ by: 2 })]],
  ['no forward into a command', [], text('/help'), [forward()]],
  ['no forward into a text that was cut', [], text(LONG), [forward()]],
])('a message merges %s', (_what, expected, first, behind) => {
  expect(piecesOf(first, waiting(...behind)).map(({ entry }) => entry)).toEqual(expected);
});

const at = (messageId: number, of: InboundMessage): InboundMessage => ({ ...of, messageId });
const mention = (sentAtMs: number) => text('@bot', { sentAtMs });

test.each<[string, boolean, InboundMessage, InboundMessage]>([
  ['the next picture of its album', true, photo('a'), at(6, photo('a'))],
  ['a picture of another album', false, photo('a'), at(6, photo('b'))],
  ['a picture of an album behind a text', false, text('hi'), at(6, photo('a'))],
  ['the message right behind a text that was cut', true, at(5, text(LONG)), at(6, text('end'))],
  ['the same one again', false, at(5, text(LONG)), at(5, text('end'))],
  ['the one behind that', false, at(5, text(LONG)), at(7, text('end'))],
  ['the message behind a short text', false, at(50, text('x'.repeat(100))), at(51, text('end'))],
  ...[10_000, 11_000, 12_000].map((sentAtMs): [string, boolean, InboundMessage, InboundMessage] => [
    'a forward within two seconds',
    true,
    mention(10_000),
    forward({ sentAtMs }),
  ]),
  ['a forward of before', false, mention(10_000), forward({ sentAtMs: 9_000 })],
  ['a forward three seconds later', false, mention(10_000), forward({ sentAtMs: 13_000 })],
  ['a text that is no forward', false, mention(10_000), text('and', { sentAtMs: 10_000 })],
])('where a message addressed the bot, %s belongs to it: %s', (_what, expected, addressed, next) => {
  expect(isExpected(next, expectedAfter(addressed))).toBe(expected);
});
