import { expect, test } from '@jest/globals';
import { contentOf } from '../../../../producer/accept/read-content.ts';
import { decodeMessage, encodeMessage, type InboundMessage } from '../../../../shared/flow/message.ts';
import { inboundText } from '../../../fixture/inbound.ts';
import { audio, videoNote, voice } from '../../../stand-in/telegram/inbound-kinds.ts';

/** The content of a message, which must be one that can be stored. */
function read(message: object): InboundMessage['content'] | undefined {
  const content = contentOf(message, 50);
  if (content === undefined) return undefined;
  const whole = { ...inboundText(1), content };
  expect(decodeMessage(encodeMessage(whole))).toEqual({ ok: true, value: whole });
  return content;
}

test('a voice message can be heard', () => {
  expect(read(voice({ fileId: 'f', durationS: 7, bytes: 900 }))).toEqual({
    kind: 'unsupported',
    what: 'voice',
    sound: { fileId: 'f', mediaType: 'audio/ogg', bytes: 900, seconds: 7 },
  });
});

test('an audio file has a name, and a caption, which is cut like any text', () => {
  const caption = 'x'.repeat(60);
  expect(read(audio({ fileId: 'f', fileName: '../a\n.mp3', caption }))).toEqual({
    kind: 'unsupported',
    what: 'audio',
    text: `${'x'.repeat(50)}\n[message cut: 60 characters were sent]`,
    sound: { fileId: 'f', name: '..a.mp3', mediaType: 'audio/mpeg', seconds: 3 },
  });
});

test('a video note is seen by its thumbnail and can be heard; without a thumbnail it can be heard', () => {
  expect(read(videoNote({ fileId: 'f', thumbnailId: 't' }))).toMatchObject({
    kind: 'file',
    file: { fileId: 't', thumbnailOf: { what: 'video_note' } },
    sound: { fileId: 'f', seconds: 3 },
  });
  expect(read(videoNote({ fileId: 'f' }))).toMatchObject({ kind: 'unsupported', what: 'video_note' });
});

const WITHOUT_ID = [null, 7, 'x', [], {}, { file_id: '' }, { file_id: 'x\ud83d' }, { file_id: 'x'.repeat(513) }];

test.each(WITHOUT_ID)('a voice message without a usable file id (%#) cannot be heard', (raw) => {
  expect(read({ voice: raw })).toEqual({ kind: 'unsupported', what: 'voice' });
});

test('what a sender states wrongly is left out', () => {
  const raw = { file_id: 'f', duration: -1, file_size: 0, mime_type: 7, file_name: {} };
  expect(read({ voice: raw })).toEqual({ kind: 'unsupported', what: 'voice', sound: { fileId: 'f' } });
});
