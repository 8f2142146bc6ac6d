import { afterEach, expect, test } from '@jest/globals';
import { type ChatKey, chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, trouble, world } from '../../fixture/each-test.ts';
import { conversation, guiltyConversation } from '../../fixture/history.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { callsTools, openNotebook, use } from '../../fixture/notebook.ts';
import { ask } from '../../fixture/whole-chat.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';

/** Trouble that must cost no chat its session, however much it looks as if the conversation were to blame. */

const GUILTY = /GUILTY/;
const PROBE = /test of the connection/;
const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;

const removals: (() => Promise<unknown>)[] = [];

eachInWorld();
afterEach(() => Promise.all(removals.splice(0).map((remove) => remove())));

async function startWithNotebook(env: Record<string, string> = {}) {
  const notebook = await openNotebook();
  removals.push(() => notebook.remove());
  await start({ ...notebook.env, ...env });
}

const give = async (lines: string[], chat: ChatKey = chatKey(CHAT)) =>
  importSession(world.peek, world.keys, chat, await parseLines(lines));
const sessionOf = (chat: number) => world.peek.hget(world.keys.chat(chatKey(chat)), 'session');
const refusal = (message: string): Reaction => ({ do: 'error', status: 400, type: 'invalid_request_error', message });

test('a chat keeps its session when the endpoint refuses the 1h cache lifetime', async () => {
  await start();
  const lines = Array.from({ length: 10 }, (_, turn) => {
    const at = new Date(Date.now() - (10 - turn) * 20 * 60_000).toISOString();
    return [
      JSON.stringify({ role: 'user', content: `Question ${turn}`, at }),
      JSON.stringify({ role: 'assistant', content: `Answer ${turn}`, at }),
    ];
  }).flat();
  const old = await give(lines);
  world.claude.react(({ body }) =>
    JSON.stringify(body).includes('"ttl":"1h"')
      ? refusal('cache_control.ttl: Extra inputs are not permitted')
      : undefined,
  );
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session: old });
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 200]);
});

test('a session that the operator binds during the trial of another stays bound', async () => {
  await start();
  await give(guiltyConversation(20));
  world.claude.react(({ body, kind, pendingText }) => {
    if (kind !== 'main' || PROBE.test(pendingText)) return undefined;
    const isOnTrial = !GUILTY.test(JSON.stringify(body));
    const isFirst = !world.claude.calls.some(({ status }) => status === 529);
    return isOnTrial && isFirst ? { ...DOWN, headers: { 'retry-after': '3' } } : refusal('No.');
  });
  world.telegram.say(CHAT, 'Hello?');
  await world.claude.waitForCall(({ status }) => status === 529);
  const bound = await give(conversation(3, 100));
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'failed' });
  expect(await sessionOf(CHAT)).toBe(bound);
});

test('a chat keeps its session through an outage before a round of tools and another one after it', async () => {
  await startWithNotebook({ OUTAGE_PATIENCE_MS: '1000' });
  const old = await give(guiltyConversation(20));
  const rule = callsTools([use('t1', 'write', { text: 'first line' })]);
  const failed = new Set<boolean>();
  world.claude.react((call) => {
    if (call.kind !== 'main' || PROBE.test(call.pendingText)) return undefined;
    const hasResult = /write: first line/.test(JSON.stringify(call.body.messages));
    if (failed.has(hasResult)) return rule(call);
    failed.add(hasResult);
    return DOWN;
  });
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session: old });
  expect(failed.size).toBe(2);
});

test('a chat keeps its session when the endpoint hangs until the attempts of a message are used up', async () => {
  await start({ TURN_TIMEOUT_MS: '700', RECOVERY_TIMEOUT_MS: '700', MAX_ATTEMPTS: '4' });
  const old = await give(guiltyConversation(20));
  const answer = trouble({ do: 'hang' });
  expect(await ask('Hello?')).toMatchObject({ outcome: 'failed' });
  answer();
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
  expect(await sessionOf(CHAT)).toBe(old);
});

test('a group keeps its session when it becomes a supergroup while its message is blamed', async () => {
  const group = -2001;
  const supergroup = -1_002_001;
  await start({ TELEGRAM_ALLOWED_IDS: `1,${group}` });
  world.telegram.openChat(supergroup);
  const old = await give(conversation(10, 100), chatKey(group));
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
  const old = await give(guiltyConversation(20));
  world.claude.react(({ index, kind }) =>
    kind === 'main' && index === 0 ? { do: 'answer', text: 'Paid for.', usage: { input_tokens: 210_000 } } : undefined,
  );
  expect(await ask('Hello?')).toMatchObject({ outcome: 'answered', session: old });
  expect(shown()).toEqual(['Paid for.']);
});

test('a chat keeps its session when the endpoint refuses the result of a tool', async () => {
  await startWithNotebook();
  const old = await give(conversation(30, 200));
  world.claude.guard.rejectsText = { pattern: /write: first line/, respond: 'page400' };
  world.claude.react((call) => {
    if (call.kind !== 'main' || PROBE.test(call.pendingText)) return undefined;
    return /do not make it again/.test(JSON.stringify(call.body.messages))
      ? { do: 'answer', text: 'It is written.' }
      : callsTools([use('t1', 'write', { text: 'first line' })])(call);
  });
  await ask('Write a line');
  expect(await sessionOf(CHAT)).toBe(old);
});

test('a chat keeps its session through a turn of 22 tool rounds that overflow without masks', async () => {
  await moveToWorld({ claude: { windowTokens: 40_000 } });
  await startWithNotebook({ CONTEXT_WINDOW_TOKENS: '40000' });
  const old = await give(conversation(10, 200));
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

test('a chat keeps its session when a blamed message is stopped before the trial of a fresh session', async () => {
  await start();
  const old = await give(conversation(30, 200));
  world.claude.guard.rejectsText = { pattern: /EVIL/, respond: 'page400' };
  world.claude.react(({ kind, pendingText }) =>
    kind === 'main' && PROBE.test(pendingText) ? { do: 'answer', text: 'ready', afterMs: 1_500 } : undefined,
  );
  world.telegram.say(CHAT, 'Something EVIL');
  await world.claude.waitForCall(({ pendingText }) => PROBE.test(pendingText));
  await ask('/stop', 2);
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered' });
  expect(await sessionOf(CHAT)).toBe(old);
});
