import { expect, test } from '@jest/globals';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { isProbe } from '../../fixture/history.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { ask, expectWhole, givenExchanges, invalid, sendFile } from '../../fixture/whole-chat.ts';
import { LIES } from '../../stand-in/claude/lies.ts';

eachInWorld({ claude: { windowTokens: 200_000 }, env: { MODEL: 'claude-sonnet-4-6' } });

test('a bare "Prompt is too long", said for a while to everything, costs four small chats nothing', async () => {
  const chats = [0, 1, 2, 3].map((at) => CHAT + at);
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
