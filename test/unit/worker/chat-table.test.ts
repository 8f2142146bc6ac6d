import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { ChatKey } from '../../../shared/redis/keys.ts';
import { type ChatTable, hasTool, settingsOfChat } from '../../../shared/state/chat/chat-settings.ts';
import { promptOf, readChatTable } from '../../../worker/chat-table.ts';
import { forCasesAsync } from '../../fixture/texts.ts';

const KNOWN = { models: ['m-1', 'm-2'], servers: ['wiki', 'my notes'] };
const FILES: Readonly<Record<string, string>> = { 'ada.txt': ' You are Ada.\n', 'empty.txt': ' \n' };
const read = (json: string, known: Parameters<typeof readChatTable>[1] = KNOWN) =>
  readChatTable(json, known, async (file) => FILES[file] ?? '');
const problemsOf = async (...args: Parameters<typeof read>) => (await read(...args)).problems;

test('an entry may state everything, and each of it may be absent', async () => {
  const full = {
    systemPrompt: 'Be kind.',
    model: 'm-2',
    tools: ['recall', 'web_search', 'wiki__*', 'wiki__find', 'my_notes__read_0123abcd'],
    language: 'zh-hant',
    dailyUsd: 0,
    monthlyUsd: 12.5,
  };
  const json = JSON.stringify({ '1001': full, '-100.7': {}, '*': { systemPromptFile: 'ada.txt', tools: [] } });
  const { table, problems } = await read(json);
  expect(problems).toEqual([]);
  expect(Object.fromEntries(table)).toEqual({
    '1001': { ...full, systemPrompt: promptOf('Be kind.') },
    '-100.7': {},
    '*': { systemPrompt: promptOf('You are Ada.'), tools: [] },
  });
});

const WRONG = `{
  "1001": {
    "systemPrompt": "",
    "systemPromptFile": "prompt.txt",
    "model": "sk-secret",
    "tools": ["recall",
      "wikki__*", 7],
    "language": "sk-secret"
  },
  "007": { "dailyUsd": "sk-secret", "monthlyUsd": -1 },
  "everybody": "sk-secret",
  "1002": { "systemPromptFile": "empty.txt", "model": 1 }, "1003": { "systemPromptFile": "gone.txt" },
  "*": { "systmPrompt": "sk-secret", "nothing like it": 1,
    "tools": "sk-secret",
    "tools": []
  }
}`;

test('all problems are named at once, each by line, chat and field, and no value is quoted', async () => {
  const problems = await problemsOf(WRONG);
  expect(problems).toEqual([
    'line 3, chat 1001, systemPrompt: expected a text that is not empty',
    'line 4, chat 1001, systemPromptFile: expected this or systemPrompt, not both',
    'line 5, chat 1001, model: expected MODEL or one of MODELS',
    expect.stringMatching(/^line 7, chat 1001, tools\.1: expected recall, .* or server__\* of a server in MCP_CONFIG$/),
    'line 7, chat 1001, tools.2: expected the name of a tool',
    'line 8, chat 1001, language: expected en or zh-hant',
    expect.stringMatching(/^line 10, chat 007: expected the id of a person or group, .* or \*$/),
    'line 10, chat 007, dailyUsd: expected a number of dollars, such as 25 or 0.5; 0 is no limit',
    'line 10, chat 007, monthlyUsd: expected 0 to 1000000 dollars; 0 is no limit',
    expect.stringMatching(/^line 11, chat everybody: expected the id/),
    'line 11, chat everybody: expected an object with the settings of the chat',
    'line 12, chat 1002, model: expected the name of a model',
    'line 12, chat 1002, systemPromptFile: names a file that is empty or cannot be read',
    'line 12, chat 1003, systemPromptFile: names a file that is empty or cannot be read',
    'line 13, chat *, systmPrompt: nothing reads this: did you mean systemPrompt?',
    'line 13, chat *, nothing like it: nothing reads this',
    'line 15, chat *, tools: this is here twice',
  ]);
  expect(problems.join('\n')).not.toContain('sk-secret');
});

test.each([
  ['{"1": {},\n', 'line 1: this is not JSON'],
  ['\n[]', 'line 2: expected an object with the settings of each chat under its id'],
])('%j: %s', async (json, problem) => {
  expect(await problemsOf(json)).toEqual([problem]);
});

test('where models and servers are not known, since other settings are wrong, their names are not judged', async () => {
  const json = '{"1": {"model": "m-9", "tools": ["other__*"]}}';
  expect(await problemsOf(json, { models: undefined, servers: undefined })).toEqual([]);
  expect(await problemsOf(json)).toHaveLength(2);
});

test('nothing makes the reading fail, and every problem has a line of the file', async () => {
  const key = fc.constantFrom(...'1001 * __proto__ constructor systemPrompt tools model dailyUsd x'.split(' '));
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      fc.array(key),
      fc.dictionary(key, tie('tree')),
      fc.array(tie('tree')),
    ),
  }));
  const laidOut = tree.map((value) => JSON.stringify(value, null, 1));
  await forCasesAsync(300, [fc.oneof(laidOut, fc.string())], async (json) => {
    const lines = json.split('\n').length;
    for (const problem of await problemsOf(json)) {
      const line = Number(/^line (\d+)/.exec(problem)?.[1]);
      expect(line > 0 && line <= lines).toBe(true);
    }
  });
});

test('a topic has the entry of its chat, a supergroup that of the group that it was, any other chat that of all', () => {
  const table: ChatTable = new Map(['1001', '-100', '-100.7', '-5', '*'].map((name) => [name, { systemPrompt: name }]));
  const promptFor = (chat: string, { home = chat, was = '', of = table } = {}) =>
    settingsOfChat(of, chat as ChatKey, home as ChatKey, was as ChatKey).systemPrompt;
  expect(['1001', '-100', '-100.7', '-100.8', '1002', '1002.3'].map((chat) => promptFor(chat))).toEqual([
    ...['1001', '-100', '-100.7', '-100', '*', '*'],
  ]);
  // Under its new id, and what still comes under the old one; with an entry for the old id, and with one for both.
  expect([promptFor('-200', { was: '-5' }), promptFor('-5', { home: '-200' })]).toEqual(['-5', '-5']);
  expect([promptFor('-100', { was: '-5' }), promptFor('-5', { home: '-100' })]).toEqual(['-100', '-100']);
  expect(promptFor('7', { of: new Map() })).toBeUndefined();
  // Where the bot is no part of the chat, nothing of the person's own chat is known, nor of one with the same id.
  expect(['1001@-100', '-100@1001', '1@1001'].map((chat) => promptFor(chat))).toEqual(['*', '*', '*']);
});

test('a chat has the tools that its list names, all where there is none, and none where it is empty', () => {
  const has = (tools: string[] | undefined, name: string) => hasTool({ tools }, name);
  expect([has(undefined, 'a'), has([], 'a'), has(['a'], 'a'), has(['a'], 'ab')]).toEqual([true, false, true, false]);
  expect(['wiki__find', 'wiki_x__find', 'wiki'].map((name) => has(['wiki__*'], name))).toEqual([true, false, false]);
});
