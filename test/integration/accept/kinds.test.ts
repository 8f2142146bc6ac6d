import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { assistant, image, png, text, thinking, user } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { pdfOf } from '../../fixture/files.ts';
import { until } from '../../fixture/root.ts';
import {
  alerts,
  ask,
  EXCHANGES,
  exchangesShown,
  givenExchanges,
  givenLines,
  invalid,
  sendFile,
  summaries,
} from '../../fixture/whole-chat.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';
import { type Block, blocksOf, type Message } from '../../stand-in/claude/request.ts';

const SIGNED = { signature: 'EuYBCkQYAiJA0123456789ABCDEFGH==' };

eachInWorld();

async function givenHistory(...messages: Message[]): Promise<void> {
  await givenLines(messages.map((message) => JSON.stringify(message)));
}

function mediaIn({ body }: ClaudeCall): number {
  return body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'image').length;
}

/** Refuses main calls as long as a request is of a kind. */
function refuseWhile(isBad: (call: ClaudeCall) => boolean, reaction: Reaction): void {
  world.claude.react((call) => (call.kind === 'main' && isBad(call) ? reaction : undefined));
}

const bytesOf = ({ body }: ClaudeCall): number => JSON.stringify(body).length;
const TOO_LARGE: Reaction = {
  do: 'raw',
  status: 413,
  body: '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
};
test('wire: the largest parts are cut for good, the question is answered, and the user is notified', async () => {
  await givenHistory(
    user(text('small'), image(png(10, 10, 900_000))),
    assistant('seen'),
    user(text('x'.repeat(60_000))),
    assistant('read'),
  );
  await start();
  refuseWhile((call) => bytesOf(call) > 1_000_000, TOO_LARGE);
  expect(await ask('What was it?')).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().map(({ status }) => status)).toEqual([413, 413, 200]);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
  expect(mainCalls().map(mediaIn)).toEqual([1, 1, 0]);
  expect(shown()).toEqual([
    expect.stringMatching(/left out the middle of a long text and a picture\./),
    expect.stringMatching(/What was it/),
  ]);
  await ask('And now?', 2);
  expect(mainCalls().map(({ status }) => status)).toEqual([413, 413, 200, 200]);
  expect(world.claude.violations()).toEqual([]);
});

test('media: the picture that the error names is removed, and all at a second refusal, with one notice', async () => {
  const pictures = [png(10, 10), png(20, 20), png(30, 30)];
  await givenHistory(user(text('look'), ...pictures.map((each) => image(each))), assistant('seen'));
  await start();
  refuseWhile(
    (call) => mediaIn(call) > 0,
    invalid('messages.0.content.2.image.source.base64.data: Could not process image'),
  );
  expect(await ask('Compare them')).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(mainCalls().map(mediaIn)).toEqual([3, 3, 2, 0]);
  const kept = mainCalls()[2]?.body.messages.flatMap(({ content }) => blocksOf(content));
  const left = kept?.filter(({ type }) => type === 'image').map(({ source }) => (source as Block).data);
  expect(left).toEqual([pictures[0], pictures[2]]);
  expect(shown()).toEqual([expect.stringMatching(/left out a picture/), expect.any(String)]);
  await ask('Again', 2);
  expect(mainCalls().map(mediaIn)).toEqual([3, 3, 2, 0, 0]);
});

test('poison: refused thinking is removed in one step and for good', async () => {
  await givenHistory(user('a'), assistant(thinking('hm', SIGNED), text('b')));
  await start();
  const thinks = ({ body }: ClaudeCall) => JSON.stringify(body.messages).includes(SIGNED.signature);
  refuseWhile(thinks, invalid('messages.1.content.0: Invalid `signature` in `thinking` block'));
  expect(await ask('Go on')).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().map(thinks)).toEqual([true, true, false]);
  expect(shown()).toHaveLength(1);
  await ask('And on', 2);
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 400, 200, 200]);
});

test('the press of a button that names no command, such as one of an earlier bot, is answered', async () => {
  await start();
  const { url, token } = world.telegram;
  world.telegram.openChat(CHAT);
  const reply_markup = { inline_keyboard: [[{ text: 'Old', callback_data: 'of another program' }]] };
  const sent = await fetch(`${url}/bot${token}/sendMessage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ chat_id: CHAT, text: 'From before', reply_markup }),
  });
  const { result } = (await sent.json()) as { result: { message_id: number } };
  const queryId = world.telegram.press(CHAT, result.message_id, 'of another program');
  await until('an answer', () => world.telegram.answers.find((answer) => answer.queryId === queryId), 20_000);
});

/** A world whose model has this window and says so. */
const moveTo = (windowTokens: number, more: object = {}) =>
  moveToWorld({ claude: { windowTokens, ...more }, env: { MODEL: 'claude-sonnet-4-6' } });

/** Summaries for which somebody waited. */
const summariesBefore = () => {
  const answer = world.claude.calls.findIndex(({ kind, status }) => kind === 'main' && status === 200);
  return summaries().filter(({ index }) => index < answer);
};

/** The request shows the whole conversation, which goes on in its session, and no operator reads anything. */
async function expectAllOfIt(session: SessionId): Promise<void> {
  expect([exchangesShown(), summariesBefore(), alerts()]).toEqual([EXCHANGES, [], []]);
  expect(world.claude.violations()).toEqual([]);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', session });
}

const counts = () => world.claude.otherRequests.filter((request) => request.includes('count_tokens'));

test('a PDF that exceeds only the budget is read whole, beside the whole conversation', async () => {
  await moveTo(1_000_000);
  const session = await givenExchanges();
  await start();
  expect(await sendFile('report.pdf', pdfOf(90))).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('application/pdf');
  expect(shown()).toHaveLength(1);
  await expectAllOfIt(session);
});

test('pages are counted without the factor of a text: a PDF that fits is not shortened', async () => {
  await moveTo(200_000);
  world.env.MODEL = 'claude-opus-5-5';
  const session = await givenExchanges();
  await start({ CONTEXT_WINDOW_TOKENS: '200000' });
  expect(await sendFile('report.pdf', pdfOf(56))).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(shown()).toHaveLength(1);
  expect(exchangesShown()).toBe(EXCHANGES);
});

test.each([
  [
    'is read as the text of the pages that fit',
    'lorem ipsum dolor sit amet '.repeat(200),
    /page 1\]\\nlorem ipsum[\s\S]*page 2\]/,
    /^“report.pdf” is too large .* the first \d+ of its 60 pages, without the pictures/,
  ],
  [
    'without a text is named, and nobody says that it was read',
    ' ',
    /report\.pdf/,
    /^“report.pdf” .* no text on its pages/,
  ],
])('a PDF that is too large for the window %s', async (_, words, shownToModel, notice) => {
  await moveTo(60_000);
  const session = await givenExchanges();
  await start();
  expect(await sendFile('report.pdf', pdfOf(60, { words }))).toMatchObject({ outcome: 'answered', session });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toMatch(shownToModel);
  expect(shown()).toEqual([expect.stringMatching(notice), expect.any(String)]);
  await expectAllOfIt(session);
});

test.each([
  ['that it fits: it is sent whole', true],
  ['nothing: it is shortened', false],
])('of a message that our count takes for too long the endpoint says %s', async (_, countsTokens) => {
  await moveTo(60_000, { countsTokens });
  const session = await givenExchanges();
  await world.peek.hset(world.keys.chat(chatKey(CHAT)), 'calibration', '2.5');
  await start();
  const log = Buffer.from('word '.repeat(26_000));
  const { recoveries, ...settled } = await sendFile('log.txt', log);
  expect(settled).toMatchObject({ outcome: 'answered', session });
  if (countsTokens) expect(recoveries).toBe(0);
  expect(counts()).not.toEqual([]);
  expect(shown()).toHaveLength(countsTokens ? 1 : 2);
  expect(shown()[0]).toMatch(countsTokens ? /./ : /^“log.txt” is too long/);
  expect(exchangesShown()).toBe(EXCHANGES);
});

test('a message that only the endpoint counts as too large is shortened by its count, and the conversation stays', async () => {
  await moveTo(60_000, { countsTokens: false, ratio: 1.6 });
  const session = await givenExchanges();
  await start();
  // About 40,000 tokens by our count, and 64,000 by the endpoint's.
  const log = Buffer.from('lorem ipsum dolor sit amet '.repeat(6_200));
  expect(await sendFile('log.txt', log)).toMatchObject({ outcome: 'answered', session });
  expect(shown()[0]).toMatch(/^“log.txt” is too long .* I read only \d\d% of it/);
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(summariesBefore()).toEqual([]);
});
