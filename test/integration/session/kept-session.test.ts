import { expect, test } from '@jest/globals';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, trouble, world } from '../../fixture/each-test.ts';
import { conversation, guiltyConversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { openNotebook, use } from '../../fixture/notebook.ts';
import { ask, givenLines, invalid, sessionOf } from '../../fixture/whole-chat.ts';

/** Trouble that must cost no chat its session, however much it looks as if the conversation were to blame. */

const GUILTY = /GUILTY/;
const PROBE = /test of the connection/;
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;

eachInWorld();

test('a chat keeps its session when the endpoint refuses the 1h cache lifetime', async () => {
  await start();
  const lines = Array.from({ length: 10 }, (_, turn) => {
    const at = new Date(Date.now() - (10 - turn) * 20 * 60_000).toISOString();
    return [
      JSON.stringify({ role: 'user', content: `Question ${turn}`, at }),
      JSON.stringify({ role: 'assistant', content: `Answer ${turn}`, at }),
    ];
  }).flat();
  const old = await givenLines(lines);
  world.claude.react(({ body }) =>
    JSON.stringify(body).includes('"ttl":"1h"')
      ? invalid('cache_control.ttl: Extra inputs are not permitted')
      : undefined,
  );
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session: old });
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 200]);
});

test('a session that the operator binds during the trial of another stays bound', async () => {
  await start();
  await givenLines(guiltyConversation(20));
  world.claude.react(({ body, kind, pendingText }) => {
    if (kind !== 'main' || PROBE.test(pendingText)) return undefined;
    const isOnTrial = !GUILTY.test(JSON.stringify(body));
    const isFirst = !world.claude.calls.some(({ status }) => status === 529);
    return isOnTrial && isFirst ? { ...DOWN, headers: { 'retry-after': '3' } } : invalid('No.');
  });
  world.telegram.say(CHAT, 'Hello?');
  await world.claude.waitForCall(({ status }) => status === 529);
  const bound = await givenLines(conversation(3, 100));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  expect(await sessionOf()).toBe(bound);
});

test('a chat keeps its session when the endpoint hangs until the attempts of a message are used up', async () => {
  await start({ TURN_TIMEOUT_MS: '700', RECOVERY_TIMEOUT_MS: '700', MAX_ATTEMPTS: '4' });
  const old = await givenLines(guiltyConversation(20));
  const answer = trouble({ do: 'hang' });
  expect(await ask('Hello?')).toMatchObject({ outcome: 'failed' });
  answer();
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
  expect(await sessionOf()).toBe(old);
});

test('a group keeps its session when it becomes a supergroup while its message is blamed', async () => {
  const group = -2001;
  const supergroup = -1_002_001;
  await start({ TELEGRAM_ALLOWED_IDS: `1,${group}` });
  world.telegram.openChat(supergroup);
  const old = await givenLines(conversation(10, 100), group);
  const upgraded = {
    status: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: supergroup },
  };
  world.telegram.fail('sendMessage', upgraded, 1, (params) => String(params.chat_id) === String(group));
  world.claude.guard.rejectsText = { pattern: /EVIL/, respond: 'page400' };
  expect(await ask('Something EVIL', 1, group, { chatType: 'group' })).toMatchObject({ outcome: 'failed' });
  expect(await sessionOf(supergroup)).toBe(old);
});

test('a chat keeps its session when an answer exceeds its context budget but not the window of the model', async () => {
  await moveToWorld({ claude: { windowTokens: 1_000_000 } });
  await start();
  const old = await givenLines(guiltyConversation(20));
  world.claude.react(({ index, kind }) =>
    kind === 'main' && index === 0 ? { do: 'answer', text: 'Paid for.', usage: { input_tokens: 210_000 } } : undefined,
  );
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session: old });
  expect(shown()).toEqual(['Paid for.']);
});

test('a chat keeps its session through a turn of 22 tool rounds that overflow without masks', async () => {
  await moveToWorld({ claude: { windowTokens: 40_000 } });
  const notebook = await openNotebook();
  cleanUps.push(() => notebook.remove());
  await start({ ...notebook.env, CONTEXT_WINDOW_TOKENS: '40000' });
  const old = await givenLines(conversation(10, 200));
  let rounds = 0;
  world.claude.react((call) => {
    if (call.kind !== 'main') return { do: 'answer', text: 'They talked. '.repeat(20) };
    rounds += 1;
    return rounds > 22
      ? { do: 'answer', text: 'Read.' }
      : { do: 'answer', content: [use(`t${rounds}`, 'long', { words: 1_250 })], stopReason: 'tool_use' };
  });
  expect(await ask('Read it all')).toMatchObject({ outcome: 'answered', session: old });
});
