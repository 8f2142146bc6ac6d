import { beforeEach, expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { saidIn } from '../../fixture/asked.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, killAt, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { type Ear, startEar } from '../../fixture/ear.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { ask, seen } from '../../fixture/whole-chat.ts';
import { audio, forwarded, videoNote, voice } from '../../stand-in/telegram/inbound-kinds.ts';

const MB = 1024 * 1024;
const HTML = { do: 'answer', status: 200, body: '<html>Sign in</html>' } as const;

let endpoint: Ear;

eachInWorld();

beforeEach(async () => {
  endpoint = await startEar();
  Object.assign(world.env, endpoint.env);
});

/** Telegram's own: OGG with Opus. */
const ogg = (bytes = 900) => Buffer.concat([Buffer.from('OggS'), Buffer.alloc(bytes - 4, 1)]);

function speak(over: Parameters<typeof voice>[0] = {}, more: Record<string, unknown> = {}): void {
  const fileId = over.fileId ?? world.telegram.addFile(ogg(), 'voice/a.oga');
  world.telegram.say(CHAT, '', { extra: { ...voice({ fileId, durationS: 5, ...over }), ...more } });
}

const LABEL = '[# a voice message of 5 s, as a program wrote it down]';

test('a voice message is heard, shown back at the head of the answer, and stays in the conversation', async () => {
  endpoint.hear('What is the weather?');
  await start();
  speak();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(endpoint.calls).toEqual([{ status: 200, bytes: 900, name: 'recording.ogg', mediaType: 'audio/ogg' }]);
  expect(seen()).toEqual([LABEL, 'What is the weather?']);
  expect(mainCalls()[0]?.pendingText).toBe('What is the weather?');
  expect(shown()[0]).toBe('🎤 “What is the weather?”');
  expect(shown()).toHaveLength(2);
  await ask('And tomorrow?', 2);
  expect(saidIn(mainCalls().at(-1), 0).at(-1)?.text).toBe('What is the weather?');
  expect(shown()).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
  await ask('/help', 3);
  expect(shown().at(-1)).toContain(EN.helpVoice);
});

test('an audio file with a caption and a video note are heard too; of the note the thumbnail is seen', async () => {
  await start();
  const song = world.telegram.addFile(Buffer.from('ID3.....'), 'music/a.mp3');
  const extra = audio({ fileId: song, fileName: 'my talk.mp3', caption: 'Summarise' });
  await ask('', 1, CHAT, { extra });
  expect(endpoint.calls.at(-1)).toMatchObject({ name: 'my_talk.mp3', mediaType: 'audio/mpeg' });
  expect(seen()).toEqual(['[# an audio file of 3 s, as a program wrote it down]', 'hello there', 'Summarise']);
  const fileId = world.telegram.addFile(Buffer.from('\0\0\0\x20ftypisom'), 'notes/a.mp4');
  const thumbnailId = world.telegram.addFile(await jpegPhoto(90, 90), 'thumbs/a.jpg');
  await ask('', 2, CHAT, { extra: videoNote({ fileId, thumbnailId }) });
  expect(endpoint.calls.at(-1)).toMatchObject({ name: 'recording.mp4' });
  expect(seen().map((text) => text.replace(/^\[# a video note of 3 s/, ''))).toEqual([
    ', of which only the thumbnail can be shown]',
    'image',
    ', as a program wrote it down]',
    'hello there',
  ]);
});

test('a spoken command is no command; silence, and more than 20 MB, are answered with a sentence', async () => {
  await start();
  endpoint.hear('/new');
  speak();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  endpoint.hear('  ');
  speak();
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'refused', reason: 'nothing_heard' });
  expect(shown().at(-1)).toContain("couldn't make out any words");
  // Where the size is stated, and where it is not.
  for (const [nth, stated] of [{ bytes: 25 * MB }, {}].entries()) {
    speak({ fileId: world.telegram.addFile(Buffer.from('x'), 'voice/big.oga', 25 * MB), ...stated });
    const outcome = await nextOutcome(world, CHAT, 3 + nth);
    expect(outcome).toMatchObject({ outcome: 'refused', reason: 'file_too_large' });
    expect(shown().at(-1)).toContain('larger than 20 MB');
  }
  expect(endpoint.calls).toHaveLength(2);
});

test('trouble of the endpoint passes: the message keeps its place', async () => {
  endpoint.fail({ do: 'answer', status: 429, body: '{}', headers: { 'retry-after': '1' } });
  endpoint.fail(HTML);
  await start();
  speak();
  await ask('Second', 2);
  expect((await settledOutcomes(world)).map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
  expect(mainCalls().map(({ pendingText }) => pendingText)).toEqual(['hello there', 'Second']);
  expect(endpoint.calls).toHaveLength(3);
});

test.each([
  ['that lasts', { do: 'answer', status: 500, body: '{"error":"secret words"}' } as const],
  ['of one that is slower than the turn allows', { do: 'hang' } as const],
])(
  'trouble %s ends with a sentence, an alert and a dead letter, without a word of the endpoint',
  async (_, failure) => {
    endpoint.fail(failure, 9);
    await start({ TURN_TIMEOUT_MS: '3000', MAX_ATTEMPTS: '2' });
    speak();
    expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'transcription_trouble' });
    expect(shown()).toEqual([expect.stringContaining("couldn't turn your recording into text")]);
    const alert = await world.telegram.waitForText(ALERT_CHAT, /transcription/);
    expect(alert.text + shown().join()).not.toContain('secret words');
    endpoint.heal();
    const replayed = await runCli(['dead', 'replay', '--all', '--json'], world.env);
    expect(JSON.parse(replayed.stdout)).toMatchObject({ replayed: 1 });
    expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered' });
  },
);

variants([401, 400])('status %d ends at once, with a sentence and an alert', async (status) => {
  endpoint.fail({ do: 'answer', status, body: '{"error":{"message":"Incorrect API key: sk-123"}}' });
  await start();
  speak();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed', reason: 'transcription_refused' });
  await world.telegram.waitForText(ALERT_CHAT, new RegExp(`transcription endpoint: status ${status}`));
  expect(shown().join()).not.toMatch(/sk-123|40\d/);
  expect(endpoint.calls).toHaveLength(1);
});

test('killed after it was heard, a message is neither downloaded nor paid for again, and is shown back once', async () => {
  await killAt('model called:1', speak);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(endpoint.calls).toHaveLength(1);
  expect(world.telegram.calls.filter(({ method }) => /^getfile$/i.test(method))).toHaveLength(1);
  expect(shown().filter((text) => text.startsWith('🎤'))).toHaveLength(1);
});

test('after an overflow the transcript is sent again and shown back once', async () => {
  world.claude.react((call) => (isSeeded(call) || isProbe(call) ? undefined : { do: 'overflow' }));
  await start();
  speak();
  const { outcome, recoveries } = await nextOutcome(world, CHAT);
  expect([outcome, recoveries > 0]).toEqual(['answered', true]);
  expect([endpoint.calls.length, shown().filter((text) => text.startsWith('🎤')).length]).toEqual([1, 1]);
});

test('/stop cancels a message that is being heard', async () => {
  endpoint.fail({ do: 'hang' });
  await start();
  speak();
  await endpoint.waitForCalls(1);
  await ask('/stop', 2);
  expect((await settledOutcomes(world)).map(({ outcome }) => outcome)).toEqual(['cancelled', 'command']);
});

test('a forwarded recording is heard among others; one that is refused is named', async () => {
  const from = (name: string) => forwarded({ type: 'hidden_user', name });
  endpoint.fail({ do: 'answer', status: 400, body: '{}' });
  await start();
  speak({}, from('A'));
  speak({}, from('B'));
  await nextOutcome(world, CHAT, 2);
  expect(seen()).toEqual([
    '[# forwarded from "A": voice, which cannot be read]',
    '[# forwarded from "B"]',
    LABEL,
    'hello there',
  ]);
});

test('without an endpoint a voice message is answered with a sentence, and a video note by its thumbnail', async () => {
  for (const name of Object.keys(endpoint.env)) delete world.env[name];
  await start();
  speak();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'unsupported_kind' });
  expect(shown()).toEqual([expect.stringContaining('(voice message)')]);
});
