import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { EN } from '../../../shared/texts/en.ts';
import { outcomes } from '../../fixture/commands.ts';
import { call, text } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { blankPng } from '../../fixture/files.ts';
import { nextOutcome, untilSettled } from '../../fixture/ledger.ts';
import { callsTools, type Notebook, openNotebook, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';

const GROUP = -2001;
const CSV = 'city,people\nTainan,1856642\n';

let notebook: Notebook;

beforeEach(async () => {
  notebook = await openNotebook();
});

// Fewer tokens would not hold the largest of the files.
eachInWorld(() => ({ env: { ...notebook.env, MAX_OUTPUT_TOKENS: '64000' }, claude: { maxOutputTokens: 64_000 } }));

afterEach(() => notebook.remove());

function file(id: string, input: object) {
  return call(id, { name: 'send_file', input });
}

function documents() {
  return world.telegram.shown(CHAT).flatMap(({ document }) => (document ? [document] : []));
}

/** The texts of the newest results that the model got. */
function results(): string[] {
  const last = mainCalls().at(-1);
  return (last ? resultsIn(last) : []).map(({ content }) => (content as { text: string }[])[0]?.text ?? '');
}

async function ask(): Promise<void> {
  world.telegram.say(CHAT, 'Send it');
  await nextOutcome(world, CHAT);
}

test('files that the model sends come after its answer, in the order of its calls', async () => {
  await start();
  world.claude.react(
    callsTools(
      [text('Here.'), file('f1', { name: 'cities.csv', content: CSV })],
      [file('f2', { name: 'docs/notes.md', content: '# Notes', ref: '' })],
    ),
  );
  await ask();
  expect(documents()).toEqual([
    { name: 'cities.csv', bytes: CSV.length },
    { name: 'notes.md', bytes: 7 },
  ]);
  expect(shown()[0]).toBe('Done after 2 rounds.');
  expect(results()).toEqual(['"notes.md" will be sent with your answer.']);
  expect(await outcomes()).toEqual(['answered']);
  expect(world.claude.violations()).toEqual([]);
});

/** What the model gets from a tool, it sends under that name: the tool's result states the reference. */
function sendsOn(name: string, type: 'image' | 'audio', bytes: Buffer): void {
  const data = bytes.toString('base64');
  const mimeType = type === 'image' ? 'image/png' : 'audio/mpeg';
  world.claude.react((request) => {
    const [first] = request.kind === 'main' ? resultsIn(request) : [];
    const ref = /\{\\"ref\\":\\"(\w{64})\\"\}/.exec(JSON.stringify(first ?? ''))?.[1];
    if (ref !== undefined) return { do: 'answer', content: [file('f1', { name, ref })] };
    return callsTools([use('t1', 'show', { type, data, mimeType })])(request);
  });
}

/** Everything below the answer: its kind, how people see it, and its caption. */
function files() {
  return world.telegram.shown(CHAT).flatMap(({ document, photo, audio, text, notified }) => {
    const file = { ...(document && { document }), ...(photo && { photo }), ...(audio && { audio }) };
    expect(notified === undefined || Object.keys(file).length === 0).toBe(true);
    return Object.keys(file).length > 0 ? [{ ...file, ...(text !== '' && { caption: text }) }] : [];
  });
}

/** The calls that sent a file, with their statuses; 0 is a lost answer. */
function sends(): [string, number][] {
  const isFile = /^send(?:Photo|Audio|Document)$/;
  return world.telegram.calls.flatMap(({ method, status }) => (isFile.test(method) ? [[method, status]] : []));
}

const PHOTO = { photo: { width: 800, height: 600, bytes: expect.any(Number) } };
const MP3 = Buffer.from('ID3\x04 and a song');

test('a picture of a tool is shown as a photo, in silence, and makes no request invalid', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  await ask();
  expect(files()).toEqual([PHOTO]);
  expect(sends()).toEqual([['sendPhoto', 200]]);
  expect(world.claude.violations()).toEqual([]);
});

test('a photo in a group goes to the topic of the question, and answers it no second time', async () => {
  await start({ TELEGRAM_ALLOWED_IDS: `${CHAT},${GROUP}` });
  sendsOn('chart.png', 'image', blankPng(800, 600));
  world.telegram.say(GROUP, `@${world.telegram.username} send it`, { fromId: CHAT, topicId: 3 });
  await untilSettled(world, 1);
  const [photo] = world.telegram.shown(GROUP, 3).filter((message) => message.photo !== undefined);
  expect([photo?.photo, photo?.replyTo, photo?.notified]).toEqual([PHOTO.photo, undefined, undefined]);
});

test('audio of a tool can be played in the chat, under its name', async () => {
  await start();
  sendsOn('song.mp3', 'audio', MP3);
  await ask();
  expect(files()).toEqual([{ audio: { name: 'song.mp3', bytes: MP3.length } }]);
  expect(results()).toEqual(['"song.mp3" will be sent with your answer.']);
  expect(world.claude.violations()).toEqual([]);
});

variants<[string, Buffer]>([
  ['long.png', blankPng(1_200, 50)],
  ['clear.png', blankPng(80, 60, { alpha: true })],
  ['chart.bin', blankPng(800, 600)],
])('what a photo would spoil, or does not look like one, is a document: %s', async (name, bytes) => {
  await start();
  sendsOn(name, 'image', bytes);
  await ask();
  expect(files()).toEqual([{ document: { name, bytes: expect.any(Number) } }]);
  expect(sends()).toEqual([['sendDocument', 200]]);
});

variants<[string, string, string, 'image' | 'audio', Buffer]>([
  ['chart.png', 'sendPhoto', 'IMAGE_PROCESS_FAILED', 'image', blankPng(800, 600)],
  ['chart.png', 'sendPhoto', 'not enough rights to send photos to the chat', 'image', blankPng(800, 600)],
  ['song.mp3', 'sendAudio', 'AUDIO_EXT_INVALID', 'audio', MP3],
])('%s that %s refuses (%s) is a document at once, and only once', async (name, method, why, type, bytes) => {
  await start();
  sendsOn(name, type, bytes);
  world.telegram.fail(method, { status: 400, description: `Bad Request: ${why}` }, 9);
  await ask();
  expect(files()).toEqual([{ document: { name, bytes: expect.any(Number) } }]);
  expect(sends()).toEqual([
    [method, 400],
    ['sendDocument', 200],
  ]);
  expect(await outcomes()).toEqual(['answered']);
});

test('a file that is refused as a photo and as a document is told of in its place', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  for (const method of ['sendPhoto', 'sendDocument'])
    world.telegram.fail(method, { status: 400, description: 'Bad Request: IMAGE_PROCESS_FAILED' }, 9);
  await ask();
  expect(files()).toEqual([]);
  expect(shown().at(-1)).toBe(EN.fileNotSent('chart.png'));
});

test('a photo whose answer was lost comes once more, as a photo that says that it may be a repeat', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  world.telegram.fail('sendPhoto', { do: 'loseReply' }, 1);
  await ask();
  expect(files()).toEqual([PHOTO, { ...PHOTO, caption: `${EN.repeat} chart.png` }]);
  expect(sends()).toEqual([
    ['sendPhoto', 0],
    ['sendPhoto', 200],
  ]);
});

test('where the answer to the document was lost that stands in for a photo, it comes once more, marked', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  world.telegram.fail('sendPhoto', { status: 400, description: 'Bad Request: PHOTO_INVALID_DIMENSIONS' }, 9);
  world.telegram.fail('sendDocument', { do: 'loseReply' }, 1);
  await ask();
  const document = { name: 'chart.png', bytes: expect.any(Number) };
  expect(files()).toEqual([{ document }, { document, caption: `${EN.repeat} chart.png` }]);
});

test('a photo that Telegram does not want yet is no document, but waits', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  const tooMany = { status: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } };
  world.telegram.fail('sendPhoto', tooMany, 1);
  await ask();
  expect(files()).toEqual([PHOTO]);
  expect(sends()).toEqual([
    ['sendPhoto', 429],
    ['sendPhoto', 200],
  ]);
});

variants([
  [{ name: 'no extension', content: 'x' }, /"name" must be/],
  [{ name: 'empty.txt', content: '' }, /either "content"/],
  [{ name: 'both.txt', content: 'x', ref: '0'.repeat(64) }, /either "content"/],
  [{ name: 'unknown.png', ref: '0'.repeat(64) }, /No bytes are kept/],
  [{ name: 'odd.png', ref: '{sw:0}:chat:1' }, /"ref" must be/],
  [{ name: 'number.txt', content: 7 }, /must be a text/],
  [{ name: 'large.txt', content: 'é'.repeat(500_001) }, /has 1000002 bytes/],
])('a bad call gets an error that says why, and nothing is sent: %j', async (input, why) => {
  await start();
  world.claude.react(callsTools([file('f1', input)]));
  await ask();
  expect(results()[0]).toMatch(why);
  expect(documents()).toEqual([]);
});

test('the eleventh file of an answer is refused, and ten are sent', async () => {
  await start();
  const all = Array.from({ length: 11 }, (_, at) => file(`f${at}`, { name: `${at}.txt`, content: 'x'.repeat(at + 1) }));
  world.claude.react(callsTools(all.slice(0, 6), all.slice(6)));
  await ask();
  expect(documents().map(({ name }) => name)).toEqual(all.slice(0, 10).map((_, at) => `${at}.txt`));
  expect(results().filter((result) => result.includes('at most 10 files'))).toHaveLength(1);
});

test('a turn that ends without an answer sends no file', async () => {
  await start({ MAX_ATTEMPTS: '1' });
  world.claude.react((request) =>
    resultsIn(request).length > 0
      ? { do: 'error', status: 401, type: 'authentication_error', message: 'no key' }
      : callsTools([file('f1', { name: 'cities.csv', content: CSV })])(request),
  );
  await ask();
  expect(shown()).toEqual([EN.misconfigured]);
});

test('what is kept only to be sent is gone after a day, and sending it does not prolong that', async () => {
  await start();
  world.claude.react(callsTools([file('f1', { name: 'cities.csv', content: CSV })]));
  await ask();
  const [kept = ''] = await world.peek.keys('*:blob:*');
  expect(await world.peek.ttl(kept)).toBeLessThanOrEqual(7 * 24 * 3_600);
});

variants<[Failpoint, number]>([
  ['round stored', 1],
  ['tool called', 1],
  ['tool result stored', 2],
  ['results stored', 1],
  ['model called', 2],
  ['answer stored', 1],
  ['part marked', 1],
])('killed at "%s" for the %ith time: each file is sent once', async (step, nth) => {
  world.claude.react(
    callsTools([
      file('f1', { name: 'cities.csv', content: CSV }),
      file('f2', { name: 'notes.md', content: '# Notes' }),
    ]),
  );
  const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${nth}` });
  world.telegram.say(CHAT, 'Send it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT);
  expect(documents().map(({ name }) => name)).toEqual(['cities.csv', 'notes.md']);
  expect(shown().filter((said) => said.includes('Done after'))).toHaveLength(1);
});

variants([2, 3])('killed after part %i was sent: that file alone comes once more, marked', async (nth) => {
  world.claude.react(
    callsTools([
      file('f1', { name: 'cities.csv', content: CSV }),
      file('f2', { name: 'notes.md', content: '# Notes' }),
    ]),
  );
  const victim = await spawn({ SPILLWAY_FAIL_AT: `part sent:${nth}` });
  world.telegram.say(CHAT, 'Send it');
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await nextOutcome(world, CHAT);
  const names = ['cities.csv', 'notes.md'];
  expect(documents().map(({ name }) => name)).toEqual(
    names.flatMap((name, at) => (at === nth - 2 ? [name, name] : [name])),
  );
  expect(shown().filter((said) => said.startsWith(EN.repeat))).toHaveLength(1);
});
