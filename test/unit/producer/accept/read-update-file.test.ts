import { expect, test } from '@jest/globals';
import { readUpdate } from '../../../../producer/accept/read-update.ts';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../../../shared/flow/message.ts';
import { animation } from '../../../stand-in/telegram/inbound-kinds.ts';

const USER = 1001;
const GATE = { allowed: new Set([USER]), answersAll: new Set<number>(), bot: { id: 1, name: undefined } };

/** A message without text as it is taken, which must be one that can be stored. */
function taken(over: object, textMaxChars = 4_000): InboundMessage {
  const message = { message_id: 7, date: 1, from: { id: USER, is_bot: false }, chat: { id: USER, type: 'private' } };
  const decided = readUpdate({ update_id: 5, message: { ...message, ...over } }, GATE, textMaxChars);
  if (!decided.accept) throw new Error(`ignored: ${decided.reason}`);
  expect(decodeMessage(encodeMessage(decided.message))).toEqual({ ok: true, value: decided.message });
  expect(JSON.stringify(decided.message)).not.toMatch(/\\ud[89a-f]|\\u0000/i);
  return decided.message;
}

const contentOf = (over: object, textMaxChars?: number) => taken(over, textMaxChars).content;

const size = (id: unknown, width: unknown, height: unknown, bytes?: unknown) => ({
  file_id: id,
  file_unique_id: 'u',
  width,
  height,
  file_size: bytes,
});

test('accepts a photo in its largest size, with its caption', () => {
  const photo = [size('s', 90, 60, 1_000), size('l', 1280, 853, 90_000), size('m', 320, 213, 9_000)];
  expect(contentOf({ photo, caption: 'What is this?' })).toEqual({
    kind: 'file',
    text: 'What is this?',
    file: { what: 'photo', fileId: 'l', bytes: 90_000 },
  });
  expect(contentOf({ photo: photo.slice(0, 1) })).toMatchObject({ text: '', file: { fileId: 's' } });
});

test.each<[string, unknown[], string]>([
  ['the heavier of two with one area', [size('a', 9, 9, 5), size('b', 9, 9, 7), size('c', 9, 9)], 'b'],
  ['the only well-formed one', [null, 5, [], {}, size('', 99, 99), size(7, 99, 99), size('ok', 1, 1)], 'ok'],
  [
    'the one without a lone surrogate or NUL in its id',
    [size('x\ud83d', 99, 99), size('x\0', 99, 99), size('ok', 1, 1)],
    'ok',
  ],
  ['one whose id is 512 characters long', [size('x'.repeat(512), 1, 1)], 'x'.repeat(512)],
  ['one whose size is possible', [size('a', 3, 3, -9), size('b', -9, -9, 9), size('c', 9, 1, 0)], 'a'],
  ['the one whose id is not 513 characters long', [size('x'.repeat(513), 99, 99), size('ok', 1, 1)], 'ok'],
])('picks from the sizes of a photo: %s', (_, photo, fileId) => {
  expect(contentOf({ photo })).toMatchObject({ file: { fileId } });
});

test.each<[string, object]>([
  ['photo', { photo: size('x', 9, 9) }],
  ['photo', { photo: [size('', 9, 9), null] }],
  ['document', { document: null }],
  ['document', { document: { file_name: 'a.pdf' } }],
])('a %s without a usable file id becomes unsupported content: %j', (what, over) => {
  expect(contentOf(over)).toEqual({ kind: 'unsupported', what });
});

test('accepts a document of any stated media type, since its bytes decide later', () => {
  const document = { file_id: 'd', file_name: 'notes.txt', mime_type: 'text/plain', file_size: 12 };
  expect(contentOf({ document, caption: 'Read' })).toEqual({
    kind: 'file',
    text: 'Read',
    file: { what: 'document', fileId: 'd', name: 'notes.txt', mediaType: 'text/plain', bytes: 12 },
  });
  for (const mime_type of ['application/x-msdownload', 'video/mp4', '', undefined, 7])
    expect(contentOf({ document: { ...document, mime_type } })).toMatchObject({ kind: 'file', file: { fileId: 'd' } });
  expect(contentOf({ document: { file_id: 'd', file_name: 5, file_size: '12', mime_type: {} } })).toEqual({
    kind: 'file',
    text: '',
    file: { what: 'document', fileId: 'd' },
  });
});

test('of a moving picture its thumbnail is taken, and what it is', () => {
  const sent = animation({ fileId: 'a', fileName: 'cat.mp4', durationS: 12, thumbnailId: 't', bytes: 30_000_000 });
  const thumbnailOf = { what: 'animation', seconds: 12, name: 'cat.mp4' };
  expect(contentOf({ ...sent, caption: 'look' })).toMatchObject({
    kind: 'file',
    text: 'look',
    file: { what: 'photo', fileId: 't', bytes: expect.any(Number), thumbnailOf },
  });
});

test.each<[string, object]>([
  ['no object', { thumbnail: 7 }],
  ['without an id', { thumbnail: { width: 1 } }],
])('a video whose thumbnail is %s is told in words, with its caption', (_, over) => {
  const file = { file_id: 'a', file_name: 'cat\n.mp4', duration: 12, ...over };
  expect(contentOf({ video: file, caption: 'look' })).toEqual({
    kind: 'text',
    text: '(a video of 12 s: cat .mp4)\n(it cannot be shown)\nlook',
  });
  expect(contentOf({ animation: file, document: file })).toMatchObject({
    text: expect.stringMatching(/^\(an animation/),
  });
});

test.each(['x', null, 7])('a video that is none (%j) is unsupported', (raw) => {
  expect(contentOf({ video: raw })).toEqual({ kind: 'unsupported', what: 'video' });
});

test.each([[-1], [0], [0.5], ['9'], [undefined], [1e99]])('a length that is none (%j) is not stated', (duration) => {
  const moving = { file_id: 'a', duration, thumbnail: size('t', 9, 9) };
  expect(contentOf({ video: moving })).toMatchObject({ file: { thumbnailOf: { what: 'video' } } });
  expect(JSON.stringify(contentOf({ video: moving }))).not.toContain('seconds');
});

test('a caption is cleaned and cut like a text', () => {
  const photo = [size('p', 9, 9)];
  const captionOf = (caption: unknown, max?: number) => {
    const content = contentOf({ photo, caption }, max);
    return content.kind === 'file' ? content.text : undefined;
  };
  expect(captionOf('a\ud83d b\0c')).toBe('a\ufffd bc');
  expect(captionOf('x'.repeat(60), 50)).toBe(`${'x'.repeat(50)}\n[message cut: 60 characters were sent]`);
  for (const nothing of [undefined, '', ' \n\t', '\0', 5, {}]) expect(captionOf(nothing)).toBe('');
});

test.each<[string, string | undefined]>([
  ['../../etc/passwd', '....etcpasswd'],
  ['a\r\nb\tc\u0085d\u2028e.txt', 'abcde.txt'],
  ['photo\u202egpj.exe', 'photogpj.exe'],
  ['half \ud83d.txt', 'half \ufffd.txt'],
  ['  padded.txt  ', 'padded.txt'],
  ['👩‍👩‍👧‍👦.png', '👩‍👩‍👧‍👦.png'],
  ['/', undefined],
  [' \0', undefined],
])('the file name %j is stored as %j', (fileName, name) => {
  const content = contentOf({ document: { file_id: 'd', file_name: fileName } });
  expect(content.kind === 'file' ? content.file.name : 'none').toBe(name);
});

test('a long file name or media type is cut to at most 128 characters, between whole characters', () => {
  const long = '👩‍👩‍👧‍👦'.repeat(40);
  const content = contentOf({ document: { file_id: 'd', file_name: long, mime_type: long } });
  if (content.kind !== 'file') throw new Error(content.kind);
  for (const cut of [content.file.name, content.file.mediaType]) {
    expect(cut?.length).toBeLessThanOrEqual(128);
    expect(cut?.replaceAll('👩‍👩‍👧‍👦', '')).toBe('');
  }
});

test.each<[string, unknown, string | undefined]>([
  ['that has 64 characters is kept', 'x'.repeat(64), 'x'.repeat(64)],
  ['that is a number is removed', 13_579, undefined],
  ['that is empty is removed', '', undefined],
  ['that has a lone surrogate is removed', 'a\ud83d', undefined],
  ['that has 65 characters is removed', 'x'.repeat(65), undefined],
])('the id of an album %s', (_what, id, album) => {
  const decided = taken({ photo: [{ file_id: 'p', width: 1, height: 1 }], media_group_id: id });
  expect(decided.album).toBe(album);
});
