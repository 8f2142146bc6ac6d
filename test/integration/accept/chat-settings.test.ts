import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { runCli } from '../../fixture/cli.ts';
import { runFile } from '../../fixture/command.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { CHAT, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { temporaryFolder } from '../../fixture/redis.ts';
import { until } from '../../fixture/root.ts';
import { spend } from '../../fixture/spending.ts';
import { ask } from '../../fixture/whole-chat.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';

const USUAL = 'claude-opus-5-5';
const HAIKU = 'claude-haiku-4-5-20251001';
const OTHER = 1002;
const THIRD = 1003;
const OLD_GROUP = -2001;
const GROUP = -1_002_001;
const PROBE = /test of the connection/;

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});

eachWithNotebook({
  env: {
    MODEL: USUAL,
    MODELS: HAIKU,
    TELEGRAM_ALLOWED_IDS: ['1', CHAT, OTHER, THIRD, OLD_GROUP, GROUP].join(','),
  },
});

/** The environment with a table of chats. */
async function withChats(table: object): Promise<Record<string, string>> {
  const file = join(folder, 'chats.json');
  await writeFile(file, JSON.stringify(table, null, 2));
  return { CHATS_FILE: file };
}

const systemOf = ({ body }: ClaudeCall) => JSON.stringify(body.system);
const toolsOf = ({ body }: ClaudeCall) => (body.tools ?? []).map(({ name }) => String(name));
const lastCall = () => mainCalls().at(-1) as ClaudeCall;

test('each chat has the prompt, model, tools and language of its own entry, and any other that of all', async () => {
  await writeFile(join(folder, 'ada.txt'), 'You are Ada.\n');
  await start({
    WEB_SEARCH: 'true',
    ...(await withChats({
      [CHAT]: { systemPromptFile: 'ada.txt', tools: ['recall', 'notebook__*'], language: 'zh-hant' },
      [OTHER]: { systemPrompt: 'You are Grace.', model: HAIKU, tools: [] },
      '*': { tools: ['web_search', 'send_file'] },
    })),
  });
  for (const chat of [CHAT, OTHER, THIRD]) expect(await ask('hello', 1, chat)).toMatchObject({ outcome: 'answered' });
  const [ada, grace, third] = mainCalls() as [ClaudeCall, ClaudeCall, ClaudeCall];
  expect([ada, grace, third].map(({ body }) => body.model)).toEqual([USUAL, HAIKU, USUAL]);
  const prompts = [ada, grace, third].map((call) => /You are (Ada|Grace|a helpful)/.exec(systemOf(call))?.[1]);
  expect(prompts).toEqual(['Ada', 'Grace', 'a helpful']);
  expect(toolsOf(ada)).toEqual(expect.arrayContaining(['recall', 'notebook__look', 'notebook__write']));
  expect(toolsOf(ada).filter((name) => !name.startsWith('notebook__'))).toEqual(['recall']);
  expect([toolsOf(grace), toolsOf(third)]).toEqual([[], ['send_file', 'web_search']]);
  // The prefix of a chat stays the same from message to message.
  expect(await ask('again', 2)).toMatchObject({ outcome: 'answered' });
  expect([systemOf(lastCall()), lastCall().body.tools]).toEqual([systemOf(ada), ada.body.tools]);
  // A tool that a chat does not have is not called either, where the model knows it from before.
  world.claude.react(callsTools([use('one', 'write')]));
  expect(await ask('note it', 2, OTHER)).toMatchObject({ outcome: 'answered' });
  expect(JSON.stringify(resultsIn(lastCall()))).toContain('This chat does not have this tool');
  expect(await notebook.notes()).toEqual([]);
  for (const chat of [CHAT, OTHER]) world.telegram.say(chat, '/lang');
  await world.telegram.waitForText(CHAT, /通知會用繁體中文/);
  await world.telegram.waitForText(OTHER, /My notices here are in English/);
  expect(world.claude.violations()).toEqual([]);
});

test('what a chat chooses with a command wins over its entry, which wins over the environment', async () => {
  await start(await withChats({ [CHAT]: { model: HAIKU, language: 'zh-hant' } }));
  await ask('hello');
  await ask(`/model ${USUAL}`, 2);
  await ask('hello', 3);
  await ask('/lang en', 4);
  expect(shown().at(-1)).toMatch(/My notices here are in English/);
  await ask('/lang auto', 5);
  expect(shown().at(-1)).toMatch(/通知會用繁體中文/);
  expect(mainCalls().map(({ body }) => body.model)).toEqual([HAIKU, USUAL]);
});

test('the limit of a chat is that of its entry, in place of the one for every chat; 0 is none', async () => {
  const table = { [CHAT]: { dailyUsd: 0.5 }, [OTHER]: { dailyUsd: 0, monthlyUsd: 40 } };
  await start({ TOTAL_DAILY_USD: '0', CHAT_DAILY_USD: '0.1', ...(await withChats(table)) });
  for (const chat of [CHAT, OTHER, THIRD]) await spend(`chat:${chat}:usd`, 0.2);
  const outcomes = [];
  for (const chat of [CHAT, OTHER, THIRD]) outcomes.push(await ask('hello', 1, chat));
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['answered', 'answered', 'refused']);
  await ask('/usage', 2);
  expect(shown().at(-1)).toContain('$0.50');
  await ask('/usage', 2, OTHER);
  expect(shown(OTHER).at(-1)).toContain('$40.00');
  await spend(`chat:${CHAT}:usd`, 0.5);
  expect(await ask('hello', 3)).toMatchObject({ outcome: 'refused', reason: 'over_chat_budget' });
});

test('a group that became a supergroup keeps its entry, also under its new id', async () => {
  const upgraded = { status: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat' };
  const moved = { ...upgraded, parameters: { migrate_to_chat_id: GROUP } };
  world.telegram.openChat(GROUP);
  world.telegram.fail('sendMessage', moved, 1_000, (sent) => String(sent.chat_id) === String(OLD_GROUP));
  await start(await withChats({ [OLD_GROUP]: { systemPrompt: 'You are Ada.' } }));
  world.telegram.say(OLD_GROUP, 'one', { chatType: 'group' });
  await world.telegram.waitForText(GROUP, /one/);
  world.telegram.say(GROUP, 'two', { chatType: 'supergroup' });
  await world.telegram.waitForText(GROUP, /two/);
  for (const call of mainCalls()) expect(systemOf(call)).toContain('You are Ada.');
});

test('what every request of one chat holds is refused: only that chat is told, with its own prompt as the proof', async () => {
  const probes = () => mainCalls().filter(({ pendingText }) => PROBE.test(pendingText));
  const table = { [CHAT]: { systemPrompt: 'REFUSED', model: HAIKU, tools: [] }, '*': { dailyUsd: 9 } };
  await start(await withChats(table), { alertEveryMs: 50, watchEveryMs: 100, probeEveryMs: 200 });
  let isRefused = true;
  world.claude.react((call) =>
    isRefused && systemOf(call).includes('REFUSED')
      ? { do: 'error', status: 400, type: 'invalid_request_error', message: 'Something is wrong with this request.' }
      : undefined,
  );
  expect(await ask('hello')).toMatchObject({ outcome: 'failed' });
  expect(await ask('hello', 1, OTHER)).toMatchObject({ outcome: 'answered' });
  const [proof] = probes();
  expect([systemOf(proof as ClaudeCall).includes('REFUSED'), proof?.body.model, proof?.body.tools]).toEqual([
    ...[true, HAIKU, undefined],
  ]);
  await world.telegram.waitForText(ALERT_CHAT, /^The endpoint rejects every request/m);
  // The incident ends when every kind of chat is well again, not when the others are.
  const refused = () => probes().filter(({ status }) => status === 400).length;
  const before = refused();
  await until('the next probes', () => refused() >= before + 2 || undefined);
  expect(world.telegram.shown(ALERT_CHAT).map(({ text }) => text)).not.toContainEqual(
    expect.stringMatching(/^Resolved/),
  );
  isRefused = false;
  await world.telegram.waitForText(ALERT_CHAT, /^Resolved/);
  // A further probe of the usual kind may have come behind the one that ended it.
  const models = probes().map(({ body }) => body.model);
  const last = models.lastIndexOf(HAIKU);
  expect(models.slice(last - 1, last + 1)).toEqual([USUAL, HAIKU]);
});

test('check and start name all that is wrong with the table, by line and field, and exit with 2', async () => {
  const env = await withChats({
    [CHAT]: { model: 'sk-secret', systemPromptFile: 'gone.txt' },
    [OTHER]: { systmPrompt: 'sk-secret', tools: ['nootbook__*'] },
    [THIRD]: { systemPrompt: 'word '.repeat(200_000) },
  });
  const whole = { ...world.env, ...env };
  const named = [
    'CHATS_FILE is malformed:',
    'line 3, chat 1001, model: expected MODEL or one of MODELS',
    'line 4, chat 1001, systemPromptFile: names a file that is empty or cannot be read',
    'line 7, chat 1002, systmPrompt: nothing reads this: did you mean systemPrompt?',
    'line 9, chat 1002, tools.0: expected recall, ',
  ].join('\n');
  const [checked, started] = [await runCli(['check'], whole), await runFile('spillway.ts', [], whole)];
  for (const { code, stderr } of [checked, started]) {
    expect(code).toBe(2);
    expect(stderr).toContain(named);
    expect(stderr).not.toContain('sk-secret');
    expect(stderr).not.toMatch(/^\s+at /m);
  }
  const long = await withChats({ [THIRD]: { systemPrompt: 'word '.repeat(200_000) } });
  const room = await runCli(['check'], { ...world.env, ...long });
  expect([room.code, room.stderr]).toEqual([
    2,
    expect.stringMatching(/^CHATS_FILE, chat 1003: .* no message would fit/m),
  ]);
  const misspelt = await withChats({ '*': { tools: ['notebook__*', 'notebook__look', 'notebook__loko'] } });
  const well = await runCli(['check'], { ...world.env, ...misspelt });
  expect(well).toMatchObject({ code: 0, stderr: '' });
  expect(well.stdout).toMatch(/^advice tools of chat \*: no server offers notebook__loko$/m);
});
