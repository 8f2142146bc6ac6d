import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { conversation, isProbe, isSeeded } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import {
  alerts,
  ask,
  expectWhole,
  givenExchanges,
  invalid,
  sendFile,
  sessionOf,
  summaries,
} from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachInWorld({ claude: { windowTokens: 200_000 }, env: { MODEL: 'claude-sonnet-4-6' } });

const CHATS = Array.from({ length: 5 }, (_, at) => CHAT + at);
/** Conversations of about 12,000 tokens. */
const givenLong = async (chat = CHAT) =>
  importSession(world.peek, world.keys, chatKey(chat), await parseLines(conversation(40, 600)));

test('413 for every request, however small, is the trouble of the installation: the chat keeps its conversation', async () => {
  await start();
  const session = await givenExchanges();
  let isBroken = true;
  world.claude.react(({ kind }) => (isBroken && kind === 'main' ? LIES.tooLarge : undefined));
  expect(await ask('Hello?')).toMatchObject({ outcome: 'failed' });
  expect(mainCalls().some(isProbe)).toBe(true);
  expect(mainCalls().filter(isSeeded)).toEqual([]);
  expect(await sessionOf()).toBe(session);
  expect(shown()).toEqual([expect.stringMatching(/can't answer at the moment/)]);
  isBroken = false;
  await expectWhole(session, 2);
});

test('413 for a small conversation alone: the fixed parts are asked before a fresh session is', async () => {
  await start();
  await givenExchanges({ guilty: 20 });
  world.claude.guard.rejectsText = { pattern: /GUILTY/, respond: LIES.tooLarge };
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered' });
  const probed = mainCalls().findIndex(isProbe);
  expect(probed).toBeGreaterThan(0);
  expect(mainCalls().findIndex(isSeeded)).toBeGreaterThan(probed);
  expect(shown().at(-1)).toContain('Hello?');
});

test('a surprising refusal that counts the request as we do is believed at once: no second refused call', async () => {
  const session = await givenLong();
  await start();
  // The models endpoint still states 200,000.
  world.claude.react(({ kind, inputTokens }) =>
    kind === 'main' && inputTokens > 9_000
      ? invalid(`prompt is too long: ${inputTokens} tokens > 9000 maximum`)
      : undefined,
  );
  expect(await ask('What did we decide?')).toMatchObject({ outcome: 'answered', recoveries: 1, session });
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 200]);
  expect(summaries()).not.toEqual([]);
  expect(world.claude.violations()).toEqual([]);
});

test('a bare "Prompt is too long", said for a while to everything, costs four small chats nothing', async () => {
  const chats = CHATS.slice(0, 4);
  await start();
  const sessions = await Promise.all(chats.map((chat) => givenExchanges({ chat })));
  let refused = 0;
  let isBroken = true;
  world.claude.react(() => {
    refused += isBroken ? 1 : 0;
    return isBroken ? LIES.tooLongWithoutNumbers : undefined;
  });
  for (const chat of chats) world.telegram.say(chat, 'Hello?');
  const isOver = async () => refused >= 20 || (await settledOutcomes(world)).length === chats.length || undefined;
  await until('end of the trouble', isOver);
  isBroken = false;
  for (const chat of chats) await nextOutcome(world, chat);
  for (const [at, chat] of chats.entries()) await expectWhole(sessions[at] ?? '', 2, chat);
  expect(shown().join('\n')).not.toMatch(/too long/);
});

test('a rate limit in tokens below five conversations is no overflow: all are answered, and nobody is paged', async () => {
  const sessions = await Promise.all(CHATS.map((chat) => givenLong(chat)));
  await start();
  const message =
    "This request would exceed your organization's rate limit of 9,000 input tokens per minute. Please reduce the prompt length.";
  world.claude.react(({ kind, inputTokens }) =>
    kind === 'main' && inputTokens > 9_000
      ? { do: 'error', status: 429, type: 'rate_limit_error', message, headers: { 'retry-after': '0' } }
      : undefined,
  );
  for (const chat of CHATS) world.telegram.say(chat, 'Hello?');
  for (const [at, chat] of CHATS.entries())
    expect(await nextOutcome(world, chat)).toMatchObject({ outcome: 'answered', session: sessions[at] });
  expect(alerts()).toEqual([]);
});

test('a window of 1,500 tokens, stated for a while by a wrong router, is forgotten: a file of 15 kB is then read whole', async () => {
  await start();
  await givenExchanges();
  let isWrong = true;
  world.claude.react((call) =>
    isWrong && call.inputTokens > 1_500 && !isProbe(call)
      ? invalid(`prompt is too long: ${call.inputTokens} tokens > 1500 maximum`)
      : undefined,
  );
  await ask('Hello?');
  await ask('Are you there?', 2);
  isWrong = false;
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered' });
  const text = `${'lorem ipsum dolor '.repeat(850)}The end.`;
  expect(await sendFile('notes.txt', Buffer.from(text), 4)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(JSON.stringify(mainCalls().at(-1)?.body).includes(text)).toBe(true);
  expect(shown().join('\n')).not.toMatch(/I read/);
});
