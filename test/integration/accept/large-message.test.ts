import { expect, test } from '@jest/globals';
import { chatKey, type SessionId } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { pdfOf } from '../../fixture/files.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const EXCHANGES = 30;

eachInWorld({ env: { MODEL: 'claude-sonnet-4-6' } });

/** A world whose model has this window and says so. */
const moveTo = (windowTokens: number, more: object = {}) =>
  moveToWorld({ claude: { windowTokens, ...more }, env: { MODEL: 'claude-sonnet-4-6' } });

async function givenConversation(): Promise<SessionId> {
  const lines = Array.from({ length: EXCHANGES }, (_, at) => [
    JSON.stringify({ role: 'user', content: `Question number ${at} about the house` }),
    JSON.stringify({ role: 'assistant', content: `Answer number ${at}: it is built with care` }),
  ]).flat();
  return importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(lines));
}

const exchangesShown = () => {
  const body = JSON.stringify(mainCalls().at(-1)?.body);
  return Array.from({ length: EXCHANGES }, (_, at) => at).filter((at) => body.includes(`Answer number ${at}:`)).length;
};
/** Summaries for which somebody waited. */
const summariesBefore = () => {
  const { calls } = world.claude;
  const answer = calls.findIndex(({ kind, status }) => kind === 'main' && status === 200);
  return calls.slice(0, answer).filter(({ kind }) => kind === 'compaction').length;
};
const counts = () => world.claude.otherRequests.filter((request) => request.includes('count_tokens'));

/** The conversation is whole, and goes on. */
async function expectWhole(session: SessionId): Promise<void> {
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(summariesBefore()).toBe(0);
  expect(world.telegram.shown(ALERT_CHAT)).toEqual([]);
  expect(world.claude.violations()).toEqual([]);
  world.telegram.say(CHAT, 'And now?');
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'answered', session });
}

const say = async (text: string) => {
  world.telegram.say(CHAT, text);
  return nextOutcome(world, CHAT);
};
const sendFile = async (name: string, bytes: Buffer) => {
  const id = world.telegram.addFile(bytes, `documents/${name}`);
  const document = { file_id: id, file_unique_id: id, file_name: name, file_size: bytes.length };
  world.telegram.say(CHAT, '', { extra: { document } });
  return nextOutcome(world, CHAT);
};

test('a PDF that exceeds only the budget is read whole, beside the whole conversation', async () => {
  await moveTo(1_000_000);
  const session = await givenConversation();
  await start();
  expect(await sendFile('report.pdf', pdfOf(90))).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toContain('application/pdf');
  expect(shown()).toHaveLength(1);
  await expectWhole(session);
});

test('pages are counted without the factor of a text: a PDF that fits is not shortened', async () => {
  await moveTo(200_000);
  world.env.MODEL = 'claude-opus-5-5';
  const session = await givenConversation();
  await start({ CONTEXT_WINDOW_TOKENS: '200000' });
  expect(await sendFile('report.pdf', pdfOf(56))).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(shown()).toHaveLength(1);
  expect(exchangesShown()).toBe(EXCHANGES);
});

test('a PDF that is too large for the window is read as the text of the pages that fit', async () => {
  await moveTo(60_000);
  const session = await givenConversation();
  await start();
  const words = 'lorem ipsum dolor sit amet '.repeat(200);
  expect(await sendFile('report.pdf', pdfOf(60, { words }))).toMatchObject({ outcome: 'answered', session });
  expect(JSON.stringify(mainCalls().at(-1)?.body)).toMatch(/page 1\]\\nlorem ipsum[\s\S]*page 2\]/);
  expect(shown()).toEqual([
    expect.stringMatching(/^“report.pdf” is too large .* the first \d+ pages of 60, without pictures/),
    expect.any(String),
  ]);
  await expectWhole(session);
});

test('a scan that is too large is named, and nobody says that it was read', async () => {
  await moveTo(60_000);
  const session = await givenConversation();
  await start();
  expect(await sendFile('scan.pdf', pdfOf(60, { words: ' ' }))).toMatchObject({ outcome: 'answered', session });
  expect(shown()).toEqual([expect.stringMatching(/^“scan.pdf” .* no text on its pages/), expect.any(String)]);
  await expectWhole(session);
});

test.each([
  [
    'a text file',
    (text: string) => sendFile('log.txt', Buffer.from(text)),
    /^“log.txt” is too long .* I read \d\d% of it/,
  ],
  ['a text in pieces', (text: string) => say(text.slice(0, 4_000)), undefined],
])('%s in Chinese that is too long is shortened, and the conversation stays whole', async (_, send, notice) => {
  await moveTo(notice ? 120_000 : 8_000);
  const session = await givenConversation();
  await start();
  expect(await send('龍鳳呈祥，國泰民安。'.repeat(18_000))).toMatchObject({ outcome: 'answered', session });
  expect(shown()[0]).toMatch(notice ?? /^Your message is too long .* I read \d+% of it/);
  expect(shown()).toHaveLength(2);
  await expectWhole(session);
});

const LOG = Buffer.from('word '.repeat(26_000));

test('a message that our count takes for too long is sent whole where the endpoint counts that it fits', async () => {
  await moveTo(60_000);
  const session = await givenConversation();
  await world.peek.hset(world.keys.chat(chatKey(CHAT)), 'calibration', '2.5');
  await start();
  expect(await sendFile('log.txt', LOG)).toMatchObject({ outcome: 'answered', session, recoveries: 0 });
  expect(counts()).not.toEqual([]);
  expect(shown()).toHaveLength(1);
  expect(exchangesShown()).toBe(EXCHANGES);
});

test('without such a count, and where it fails, the message is shortened', async () => {
  await moveTo(60_000, { countsTokens: false });
  const session = await givenConversation();
  await world.peek.hset(world.keys.chat(chatKey(CHAT)), 'calibration', '2.5');
  await start();
  expect(await sendFile('log.txt', LOG)).toMatchObject({ outcome: 'answered', session });
  expect(counts()).toHaveLength(1);
  expect(shown()[0]).toMatch(/^“log.txt” is too long/);
  expect(exchangesShown()).toBe(EXCHANGES);
});

test('a message that only the endpoint counts as too large is shortened by its count, and the conversation stays', async () => {
  await moveTo(60_000, { countsTokens: false, ratio: 1.6 });
  const session = await givenConversation();
  await start();
  // About 40,000 tokens by our count, and 64,000 by the endpoint's.
  const log = Buffer.from('lorem ipsum dolor sit amet '.repeat(6_200));
  expect(await sendFile('log.txt', log)).toMatchObject({ outcome: 'answered', session });
  expect(shown()[0]).toMatch(/^“log.txt” is too long .* I read \d\d% of it/);
  expect(exchangesShown()).toBe(EXCHANGES);
  expect(summariesBefore()).toBe(0);
});
