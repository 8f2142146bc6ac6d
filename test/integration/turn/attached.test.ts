import { beforeEach, expect, test } from '@jest/globals';
import { until } from '../../chaos/scenario.ts';
import { CHAT, eachInWorld, mainCalls, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { seen } from '../../fixture/whole-chat.ts';
import { document, forwarded, photo, video, videoNote, voice } from '../../stand-in/telegram/inbound-kinds.ts';

const MB = 1024 * 1024;
/** The chat's outcomes so far. */
let ended = 0;
beforeEach(() => {
  ended = 0;
});

eachInWorld();

/** Somebody writes. Returns the number of the message, once it has its outcome. */
async function write(text: string, extra: Record<string, unknown> = {}, replyTo?: number): Promise<number> {
  ended += 1;
  // The bot's own messages have the numbers in between.
  const messageId = 1_000 * ended;
  world.telegram.say(CHAT, text, { messageId, extra, ...(replyTo !== undefined && { replyTo }) });
  const { outcome } = await nextOutcome(world, CHAT, ended);
  if (replyTo !== undefined) expect(outcome).toBe('answered');
  return messageId;
}

const labelled = (what: string) => `[# attached to the message that is answered: ${what}]`;

const send = async () => world.telegram.addFile(await jpegPhoto(300, 200), `photos/${Math.random()}.jpg`);

test('a file of the answered message and one of the reply both reach the model, each with its label', async () => {
  await start();
  await write('What is this?', {}, await write('', photo(await send())));
  expect(seen()).toEqual([labelled('a photo'), 'image', 'What is this?']);
  const pdf = world.telegram.addFile(pdfOf(2), 'documents/a.pdf');
  const answered = await write('', document({ fileId: pdf, fileName: 'a "b" ].pdf' }));
  await write('', { ...photo(await send()), caption: 'Is this on it?' }, answered);
  expect(seen()).toEqual([
    labelled(`a file "a 'b' .pdf"`),
    'document',
    '[# attached to this message: a photo]',
    'image',
    'Is this on it?',
  ]);
  await write('What did they say?', {}, await write('', voice({ durationS: 7 })));
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('> (a voice message of 7 s)');
  expect(world.claude.violations()).toEqual([]);
});

test('of a video and a video note the model sees the thumbnail, and is told so; without one it has the words', async () => {
  await start();
  for (const [what, build] of [['a video', video] as const, ['a video note', videoNote] as const]) {
    await write('', build({ thumbnailId: await send(), durationS: 12, bytes: 200 * MB }));
    expect(seen()).toEqual([`[# ${what} of 12 s, of which only the thumbnail can be shown]`, 'image']);
  }
  await write('', video({ thumbnailId: 'file-gone', caption: 'Funny?' }));
  expect(seen()).toEqual([expect.stringMatching(/^\[# a video of 3 s.*it cannot be shown\]$/), 'Funny?']);
  await write('', video({ caption: 'Funny?' }));
  expect(seen()).toEqual(['(a video of 3 s)\n(it cannot be shown)\nFunny?']);
  expect(world.claude.violations()).toEqual([]);
});

test('an answered file that cannot be shown, for whatever reason, does not fail the turn: a line says so', async () => {
  await start();
  const large = () => world.telegram.addFile(Buffer.from('x'), 'd/x', 25 * MB);
  const files: Record<string, unknown>[] = [
    photo('file-gone'),
    document({ fileId: large(), bytes: 25 * MB }),
    // Nobody stated its size.
    document({ fileId: large() }),
    document({ fileId: world.telegram.addFile(Buffer.from([1, 0, 2]), 'd/x.bin') }),
    photo(world.telegram.addFile((await jpegPhoto(900, 900)).subarray(0, 600), 'p/x')),
  ];
  const unseen = expect.stringMatching(/^\[# attached to .* answered: a (photo|file); it cannot be shown\]$/);
  for (const file of files) {
    await write('What is this?', {}, await write('', file));
    expect(seen()).toEqual([unseen, 'What is this?']);
  }
  // One that is away for long is tried twice.
  const away = await write('', photo(await send()));
  const before = downloads();
  world.telegram.fail('getFile', { status: 502, description: 'Bad Gateway' }, 50);
  await write('What is this?', {}, away);
  expect(seen()).toEqual([unseen, 'What is this?']);
  expect(downloads() - before).toBe(2);
});

test('what is forwarded with a text while the photo that it answers is read, is answered with it, and the model is asked once', async () => {
  await start();
  const answered = await write('', photo(await send()));
  const asked = mainCalls().length;
  world.telegram.fail('getFile', { do: 'slow', ms: 100 }, 1);
  world.telegram.say(CHAT, 'What is this?', { replyTo: answered });
  const reading = downloads();
  await until('the photo is read', () => downloads() > reading);
  world.telegram.say(CHAT, 'It is a boat', { extra: forwarded({ type: 'hidden_user', name: 'Ann' }) });
  await untilSettled(world, 3);
  expect(mainCalls().length - asked).toBe(1);
  expect(seen()).toEqual(expect.arrayContaining(['image', 'What is this?', 'It is a boat']));
});

function downloads(): number {
  return world.telegram.calls.filter(({ method }) => method.toLowerCase() === 'getfile').length;
}
