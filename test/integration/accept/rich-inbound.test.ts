import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { startEar } from '../../fixture/ear.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { seen } from '../../fixture/whole-chat.ts';
import {
  document,
  forwarded,
  mediaBlock,
  photo,
  richMessage,
  video,
  voice,
} from '../../stand-in/telegram/inbound-kinds.ts';

const OGG = Buffer.concat([Buffer.from('OggS'), Buffer.alloc(900, 1)]);

eachInWorld();

const words = (text: string) => ({ type: 'paragraph', text });
const picture = async (name: string) => world.telegram.addFile(await jpegPhoto(40, 30), `photos/${name}.jpg`);

function send(blocks: object[], over: Record<string, unknown> = {}, chat = CHAT): void {
  world.telegram.say(chat, '', { extra: { ...richMessage(blocks), ...over } });
}

test('pictures, a file and the thumbnail of a video in a rich message reach the model in their order', async () => {
  await start();
  const pdf = world.telegram.addFile(pdfOf(2), 'documents/a.pdf');
  send([
    words('Compare these:'),
    mediaBlock(photo(await picture('one')), 'Before'),
    {
      type: 'slideshow',
      blocks: [
        mediaBlock(photo(await picture('two'))),
        mediaBlock(video({ durationS: 9, thumbnailId: await picture('still') })),
      ],
    },
    mediaBlock(document({ fileId: pdf, fileName: 'a.pdf' })),
    mediaBlock(photo('file-gone')),
  ]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(seen()).toEqual([
    '[# in this message: a photo]',
    'image',
    '[# in this message: a photo]',
    'image',
    '[# in this message: a video of 9 s, of which only the thumbnail can be shown]',
    'image',
    '[# in this message: a file "a.pdf"]',
    'document',
    '[# in this message: a photo; it cannot be shown]',
    'Compare these:\n(a photo)\nBefore\n(a photo)\n(a video of 9 s)\n(a file: a.pdf)\n(a photo)',
  ]);
  expect(world.claude.violations()).toEqual([]);
});

test('a voice in a rich message is heard where speech is transcribed, and shown back', async () => {
  const ear = await startEar();
  ear.hear('Tell me more');
  await start(ear.env);
  send([
    words('About this page:'),
    mediaBlock(voice({ fileId: world.telegram.addFile(OGG, 'voice/a.oga'), durationS: 5 })),
  ]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(seen()).toEqual([
    '[# a voice message of 5 s, as a program wrote it down]',
    'Tell me more',
    'About this page:\n(a voice message of 5 s)',
  ]);
  expect(shown()[0]).toBe('🎤 “Tell me more”');
});

test('where the recording cannot be heard, a voice in a rich message is named, and its words are answered', async () => {
  await start({ ...(await startEar()).env, TRANSCRIPTION_API_KEY: 'wrong' });
  send([words('Hello'), mediaBlock(voice({ fileId: world.telegram.addFile(OGG, 'voice/a.oga'), durationS: 5 }))]);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(mainCalls()[0]?.pendingText).toBe('Hello\n(a voice message of 5 s)');
  expect(shown()).toHaveLength(1);
});

test('a forwarded rich message, and one that is answered, bring their pictures', async () => {
  await start();
  send([words('Page'), mediaBlock(photo(await picture('one')))], forwarded({ type: 'hidden_user', name: 'Bo' }));
  await nextOutcome(world, CHAT);
  expect(seen().filter((each) => each === 'image')).toHaveLength(1);
  const ann = { id: CHAT, is_bot: false, first_name: 'Ann' };
  const replied = { message_id: 77, date: 1, chat: { id: CHAT, type: 'private' }, from: ann };
  const rich = richMessage([words('Page'), mediaBlock(photo(await picture('two')))]);
  world.telegram.say(CHAT, 'What is on it?', { extra: { reply_to_message: { ...replied, ...rich } } });
  await nextOutcome(world, CHAT, 2);
  expect(seen()).toEqual([
    '[# attached to the message that is answered: a photo]',
    'image',
    expect.stringContaining('What is on it?'),
  ]);
});
