import { expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { EN } from '../../../shared/texts/en.ts';
import { call, text } from '../../fixture/content-blocks.ts';
import { eachWithNotebook } from '../../fixture/each-notebook.ts';
import { CHAT, killAt, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { blankPng } from '../../fixture/files.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { variants } from '../../fixture/variants.ts';

const CSV = 'city,people\nTainan,1856642\n';

// Fewer tokens would not hold the largest of the files.
eachWithNotebook({ env: { MAX_OUTPUT_TOKENS: '64000' }, claude: { maxOutputTokens: 64_000 } });

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

async function ask(nth = 1): Promise<void> {
  world.telegram.say(CHAT, 'Send it');
  expect(await nextOutcome(world, CHAT, nth)).toMatchObject({ outcome: 'answered' });
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
  expect(world.claude.violations()).toEqual([]);
  // What is kept only to be sent goes soon.
  const [kept = ''] = await world.peek.keys('*:blob:*');
  expect(await world.peek.ttl(kept)).toBeLessThanOrEqual(7 * 24 * 3_600);
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

test('a picture of a tool is shown as a photo and audio can be played, in silence, and no request is invalid', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  await ask();
  sendsOn('song.mp3', 'audio', MP3);
  await ask(2);
  expect(results()).toEqual(['"song.mp3" will be sent with your answer.']);
  expect(files()).toEqual([PHOTO, { audio: { name: 'song.mp3', bytes: MP3.length } }]);
  expect(sends()).toEqual([
    ['sendPhoto', 200],
    ['sendAudio', 200],
  ]);
  expect(world.claude.violations()).toEqual([]);
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
});

test('a photo that Telegram does not want yet waits; one whose answer was lost comes once more, marked', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  world.telegram.fail('sendPhoto', { status: 429, description: 'Too Many', parameters: { retry_after: 1 } }, 1);
  await ask();
  world.telegram.fail('sendPhoto', { do: 'loseReply' }, 1);
  await ask(2);
  expect(files()).toEqual([PHOTO, PHOTO, { ...PHOTO, caption: `${EN.repeat} chart.png` }]);
  expect(sends().map(([method, status]) => `${method} ${status}`)).toEqual(
    [429, 200, 0, 200].map((status) => `sendPhoto ${status}`),
  );
});

test('so does the document that stands in for a refused photo; what is refused as both is told of in its place', async () => {
  await start();
  sendsOn('chart.png', 'image', blankPng(800, 600));
  world.telegram.fail('sendPhoto', { status: 400, description: 'Bad Request: PHOTO_INVALID_DIMENSIONS' }, 9);
  world.telegram.fail('sendDocument', { do: 'loseReply' }, 1);
  await ask();
  const document = { name: 'chart.png', bytes: expect.any(Number) };
  expect(files()).toEqual([{ document }, { document, caption: `${EN.repeat} chart.png` }]);
  world.telegram.fail('sendDocument', { status: 400, description: 'Bad Request: IMAGE_PROCESS_FAILED' }, 9);
  await ask(2);
  expect(files()).toHaveLength(2);
  expect(shown().at(-1)).toBe(EN.fileNotSent('chart.png'));
});

const WRONG: [object, RegExp][] = [
  [{ name: 'no extension', content: 'x' }, /"name" must be/],
  [{ name: 'empty.txt', content: '' }, /either "content"/],
  [{ name: 'both.txt', content: 'x', ref: '0'.repeat(64) }, /either "content"/],
  [{ name: 'unknown.png', ref: '0'.repeat(64) }, /No bytes are kept/],
  [{ name: 'odd.png', ref: '{sw:0}:chat:1' }, /"ref" must be/],
  [{ name: 'number.txt', content: 7 }, /must be a text/],
  [{ name: 'large.txt', content: 'é'.repeat(500_001) }, /has 1000002 bytes/],
];

test('a bad call gets an error that says why, and nothing is sent', async () => {
  await start();
  world.claude.react(callsTools(WRONG.map(([input], at) => file(`f${at}`, input))));
  world.telegram.say(CHAT, 'Send it');
  await nextOutcome(world, CHAT);
  expect(results()).toEqual(WRONG.map(([, why]) => expect.stringMatching(why)));
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
  world.telegram.say(CHAT, 'Send it');
  await nextOutcome(world, CHAT);
  expect(shown()).toEqual([EN.misconfigured]);
});

variants<[Failpoint, number, string[]]>([
  ['part sent', 2, ['cities.csv', 'cities.csv', 'notes.md']],
  ['part sent', 3, ['cities.csv', 'notes.md', 'notes.md']],
  ['tool called', 1, ['cities.csv', 'notes.md']],
  ['results stored', 1, ['cities.csv', 'notes.md']],
  ['part marked', 1, ['cities.csv', 'notes.md']],
])(
  'killed at "%s" for the %ith time: a file that was sent comes once more, marked, and no other',
  async (step, nth, names) => {
    const notes = file('f2', { name: 'notes.md', content: '# Notes' });
    world.claude.react(callsTools([file('f1', { name: 'cities.csv', content: CSV }), notes]));
    await killAt(`${step}:${nth}`, () => world.telegram.say(CHAT, 'Send it'));
    await nextOutcome(world, CHAT);
    expect(documents().map(({ name }) => name)).toEqual(names);
    expect(shown().filter((said) => said.startsWith(EN.repeat))).toHaveLength(names.length - 2);
    expect(shown().filter((said) => said.includes('Done after'))).toHaveLength(1);
  },
);
