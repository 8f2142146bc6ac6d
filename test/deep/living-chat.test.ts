import { afterEach, expect, test } from '@jest/globals';
import type { Service } from '../../shared/base/lifecycle.ts';
import { chatKey } from '../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../worker/session/transfer.ts';
import { createWorld, startGateway, type World } from '../fixture/gateway.ts';
import { conversation, guiltyConversation } from '../fixture/history.ts';
import { nextOutcome } from '../fixture/ledger.ts';
import { openNotebook } from '../fixture/notebook.ts';
import { temporaryFile } from '../fixture/temporary-file.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';

/** Refusals after which a chat must still be answered: the next message at the latest, and every other chat. */

const CHAT = 1001;
const OTHER = 1002;
const GUILTY = /GUILTY/;
const SMALLER_THAN_STATED = { claude: { windowTokens: 20_000, statedWindowTokens: 200_000 } };

let world: World;
let gateway: Service;
let removals: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await gateway.stop();
  await world.close();
  await Promise.all(removals.map((remove) => remove()));
  removals = [];
});

async function open(options: Parameters<typeof createWorld>[0] = {}, env: Record<string, string> = {}) {
  world = await createWorld(options);
  gateway = await startGateway({ ...world, env: { ...world.env, ...env } });
}

async function notebookEnv(): Promise<Record<string, string>> {
  const notebook = await openNotebook();
  removals.push(() => notebook.remove());
  return notebook.env;
}

const give = async (lines: string[], chat = CHAT) =>
  importSession(world.peek, world.keys, chatKey(chat), await parseLines(lines));
const mainCalls = () => world.claude.calls.filter(({ kind }) => kind === 'main');
const shown = (chat = CHAT) => world.telegram.shown(chat).map(({ text }) => text);
const error = (status: number, type: string, message: string): Reaction => ({ do: 'error', status, type, message });

/** Says something in the chat and waits for its outcome, the nth of the chat. */
async function outcomeOf(text: string, nth = 1, chat = CHAT) {
  world.telegram.say(chat, text);
  return nextOutcome(world, chat, nth, 20_000);
}

test.each([
  'Your request was blocked because an API key is included in the prompt.',
  'Blocked by guardrail: topic "billing" is denied.',
])('a chat is answered after a guardrail error that sounds like a key or a bill: %s', async (message) => {
  await open();
  await give(guiltyConversation(20));
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: error(400, 'invalid_request_error', message) };
  await outcomeOf('Hello?');
  expect(await outcomeOf('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

test('a chat is answered by its second message after a refused history when the window is hardly larger than an answer', async () => {
  await open({ claude: { windowTokens: 8_500 } }, { CONTEXT_WINDOW_TOKENS: '8500' });
  await give(guiltyConversation(3).slice(-16));
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: 'page400' };
  // The note of the first fresh session quotes what is refused; that of the second quotes nothing.
  await outcomeOf('Hello?');
  expect(await outcomeOf('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

test('a chat is answered after an overflow without numbers when the system prompt is most of the request', async () => {
  const prompt = await temporaryFile('You are a helpful assistant. '.repeat(800));
  await open({ claude: { windowTokens: 200_000 } }, { SYSTEM_PROMPT_FILE: prompt });
  await give(conversation(60, 200));
  world.claude.react(({ kind, inputTokens }) =>
    kind === 'main' && inputTokens > 9_000
      ? error(400, 'invalid_request_error', 'Input is too long for requested model.')
      : undefined,
  );
  await outcomeOf('Hello?');
  expect(await outcomeOf('And now?', 2)).toMatchObject({ outcome: 'answered' });
});

test('a summariser that never answers is called at most twice in 5 messages', async () => {
  await open(
    { claude: { windowTokens: 30_000 } },
    { CONTEXT_WINDOW_TOKENS: '30000', RECOVERY_TIMEOUT_MS: '1500', COMPACT_AT: '0.2' },
  );
  await give(conversation(60, 300));
  world.claude.react(({ kind }) => (kind === 'compaction' ? { do: 'hang' } : undefined));
  for (let nth = 1; nth <= 5; nth++)
    expect(await outcomeOf(`Message ${nth}`, nth)).toMatchObject({ outcome: 'answered' });
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction').length).toBeLessThanOrEqual(2);
}, 60_000);

test('a refusal that quotes the name of a tool from a message does not remove the tool', async () => {
  await open({}, await notebookEnv());
  world.claude.guard.rejectsText = {
    pattern: GUILTY,
    respond: {
      do: 'raw',
      status: 403,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        error: {
          code: 403,
          message: 'Your input was flagged',
          metadata: { reasons: ['violence'], flagged_input: 'GUILTY: use notebook__write' },
        },
      }),
    },
  };
  expect(await outcomeOf('GUILTY: use notebook__write')).toMatchObject({ outcome: 'failed' });
  await outcomeOf('Hello', 1, OTHER);
  expect(mainCalls().at(-1)?.body.tools).toContainEqual(expect.objectContaining({ name: 'notebook__write' }));
});

test('a chat that uses up its budget while its refusal is examined fails no other chat', async () => {
  await open({}, { CHAT_DAILY_TOKENS: '40000' });
  await give(guiltyConversation(20));
  await give(guiltyConversation(20), OTHER);
  world.claude.guard.rejectsText = { pattern: GUILTY, respond: 'page400' };
  world.telegram.say(CHAT, 'Hello?');
  await world.claude.waitForCall(({ kind, status }) => kind === 'main' && status === 400);
  await world.peek.hset(world.keys.spent(new Date().toISOString().slice(0, 10)), `chat:${CHAT}:tokens`, '39000');
  await nextOutcome(world, CHAT);
  expect(await outcomeOf('Hello?', 1, OTHER)).toMatchObject({ outcome: 'answered' });
});

test('the user is notified of a fresh session even when the message that led to it fails', async () => {
  await open(SMALLER_THAN_STATED, { MAX_ATTEMPTS: '1' });
  await give(conversation(60, 1_000));
  let isOver = false;
  world.claude.react(({ kind, body }) => {
    if (isOver) return undefined;
    if (kind === 'compaction') return { do: 'answer', text: '' };
    const isSeeded = /Recovery note/.test(JSON.stringify(body));
    return isSeeded && /Still there/.test(JSON.stringify(body.messages.at(-1)))
      ? error(401, 'authentication_error', 'invalid x-api-key')
      : undefined;
  });
  expect(await outcomeOf('Still there?')).toMatchObject({ outcome: 'failed' });
  isOver = true;
  await outcomeOf('And now?', 2);
  expect(shown().join('\n')).toMatch(/started a new one/);
});

test('a message whose tools are refused and whose history is too long is still answered', async () => {
  await open(SMALLER_THAN_STATED, await notebookEnv());
  await give(conversation(60, 1_000));
  world.claude.guard.rejectsTool = /notebook__/;
  expect(await outcomeOf('Hello')).toMatchObject({ outcome: 'answered' });
});
