import { expect, test } from '@jest/globals';
import { until } from '../../chaos/scenario.ts';
import { saidIn } from '../../fixture/asked.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { jpegPhoto, pdfOf } from '../../fixture/files.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { document, forwarded, photo, video, videoNote, voice } from '../../stand-in/telegram/inbound-kinds.ts';

const MB = 1024 * 1024;
/** The first message of the chat, which the second one answers. */
const FIRST = 501;

eachInWorld();

/** Somebody's earlier message, which the bot has answered before. */
async function given(extra: Record<string, unknown>): Promise<void> {
  world.telegram.say(CHAT, '', { extra, messageId: FIRST });
  await nextOutcome(world, CHAT);
}

async function ask(text: string, extra: Record<string, unknown> = {}): Promise<void> {
  world.telegram.say(CHAT, text, { replyTo: FIRST, extra });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
}

/** What the model saw of the last message: texts, and the kinds of other blocks. */
const seen = () =>
  saidIn(mainCalls().at(-1)).map(({ type, text }) => (type === 'text' ? String(text).replace(/#[\w-]{6}/, '#') : type));

const send = async () => world.telegram.addFile(await jpegPhoto(300, 200), `photos/${Math.random()}.jpg`);

test('a reply to a photo shows the photo to the model, and says whose it is', async () => {
  await start();
  await given(photo(await send()));
  await ask('What is this?');
  expect(seen()).toEqual(['[# attached to the message that is answered: a photo]', 'image', 'What is this?']);
  expect(world.claude.violations()).toEqual([]);
});

test('a file of the answered message and one of the reply both reach the model, each with its label', async () => {
  await start();
  const pdf = world.telegram.addFile(pdfOf(2), 'documents/a.pdf');
  await given(document({ fileId: pdf, fileName: 'a "b" ].pdf' }));
  await ask('', { ...photo(await send()), caption: 'Is this on it?' });
  expect(seen()).toEqual([
    `[# attached to the message that is answered: a file "a 'b' .pdf"]`,
    'document',
    '[# attached to this message: a photo]',
    'image',
    'Is this on it?',
  ]);
  expect(world.claude.violations()).toEqual([]);
});

variants<[string, () => Promise<Record<string, unknown>> | Record<string, unknown>]>([
  ['that Telegram does not know any more', () => photo('file-gone')],
  [
    'of more than 20 MB',
    () => document({ fileId: world.telegram.addFile(Buffer.from('x'), 'd/x', 25 * MB), bytes: 25 * MB }),
  ],
  [
    'whose size nobody stated, and that is too large',
    () => document({ fileId: world.telegram.addFile(Buffer.from('x'), 'd/x', 25 * MB) }),
  ],
  ['of an unknown kind', () => document({ fileId: world.telegram.addFile(Buffer.from([1, 0, 2]), 'd/x.bin') })],
  ['that is damaged', async () => photo(world.telegram.addFile((await jpegPhoto(900, 900)).subarray(0, 600), 'p/x'))],
])('an answered file %s does not fail the turn: a line says that it cannot be shown', async (_, build) => {
  await start();
  await given(await build());
  await ask('What is this?');
  expect(seen()).toEqual([
    expect.stringMatching(/^\[# attached to the message that is answered: a (photo|file); it cannot be shown\]$/),
    'What is this?',
  ]);
});

test('an answered file that is away for long is tried twice, and the message is answered without it', async () => {
  await start();
  await given(photo(await send()));
  const before = downloads();
  world.telegram.fail('getFile', { status: 502, description: 'Bad Gateway' }, 50);
  await ask('What is this?');
  expect(seen()).toEqual([expect.stringMatching(/it cannot be shown/), 'What is this?']);
  expect(downloads() - before).toBe(2);
});

test('killed after both files were read: neither is downloaded again', async () => {
  const first = await spawn();
  await given(photo(await send()));
  await first.stop();
  const before = downloads();
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'model called:1' });
  world.telegram.say(CHAT, '', { replyTo: FIRST, extra: photo(await send(), { caption: 'And this?' }) });
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  expect(downloads() - before).toBe(2);
  expect(seen()).toHaveLength(5);
});

variants([
  ['a video', video],
  ['a video note', videoNote],
])('of %s the model sees the thumbnail, and is told so', async (what, build) => {
  await start();
  const thumbnailId = await send();
  world.telegram.say(CHAT, '', { extra: build({ thumbnailId, durationS: 12, bytes: 200 * MB }) });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(seen()).toEqual([`[# ${what} of 12 s, of which only the thumbnail can be shown]`, 'image']);
  expect(world.claude.violations()).toEqual([]);
});

test('a video whose thumbnail is gone is answered from its caption', async () => {
  await start();
  world.telegram.say(CHAT, '', { extra: video({ thumbnailId: 'file-gone', caption: 'Funny?' }) });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(seen()).toEqual([expect.stringMatching(/^\[# a video of 3 s.*it cannot be shown\]$/), 'Funny?']);
});

test('a video without a thumbnail reaches the model in words', async () => {
  await start();
  world.telegram.say(CHAT, '', { extra: video({ caption: 'Funny?' }) });
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(seen()).toEqual(['(a video of 3 s)\n(it cannot be shown)\nFunny?']);
});

test('a reply to a voice message says what it answers', async () => {
  await start();
  await given(voice({ durationS: 7 }));
  expect(shown()).toHaveLength(1);
  await ask('What did they say?');
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('> (a voice message of 7 s)');
});

test('what is forwarded with a text while the photo that it answers is read, is answered with it, and the model is asked once', async () => {
  await start();
  await given(photo(await send()));
  const asked = mainCalls().length;
  world.telegram.fail('getFile', { do: 'slow', ms: 100 }, 1);
  world.telegram.say(CHAT, 'What is this?', { replyTo: FIRST });
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
