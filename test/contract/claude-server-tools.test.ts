import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, type Params, stream } from '../fixture/claude.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';
import {
  fetched,
  mixed,
  paused,
  resumed,
  searchCut,
  searched,
  searchedOften,
  searchFailed,
} from '../stand-in/claude/searching.ts';
import { call, result } from '../stand-in/claude/specimens.ts';

const lines = new ClaudeLines();
afterEach(() => lines.closeAll());

const TOOLS: NonNullable<Params['tools']> = [
  { type: 'web_search_20260318', name: 'web_search', max_uses: 3, blocked_domains: ['example.org'] },
  { type: 'web_fetch_20260318', name: 'web_fetch', citations: { enabled: true }, max_content_tokens: 5000 },
];
const SEARCH = { id: 'srvtoolu_1', query: 'weather', found: [{ url: 'https://example.com/w', title: 'Weather' }] };
const PAGE = { url: 'https://example.com/w', title: 'Weather' };
const typesOf = ({ content }: Anthropic.Message): string[] => content.map(({ type }) => type);

/** A line whose first answers are given, and the question that all of them belong to. */
async function dialogue(first: Reaction[], thinks?: number) {
  const { claude, client } = await lines.start({ ...(thinks && { thinks, bindThinking: true }) });
  claude.react(({ index }) => first[index]);
  const params = ask('Will it rain?', { tools: TOOLS });
  const goOn = (content: Anthropic.ContentBlockParam[], ...said: string[]): Promise<Anthropic.Message> =>
    stream(client, {
      ...params,
      messages: [
        ...params.messages,
        { role: 'assistant', content },
        ...said.map((text) => ({ role: 'user' as const, content: text })),
      ],
    });
  return { claude, ask: () => stream(client, params), goOn };
}

test('one answer holds a search, its encrypted result and a text citing it, and is accepted when sent back', async () => {
  const { claude, ask: first, goOn } = await dialogue([searched(SEARCH, 'It will rain.')], 50);
  const answer = await first();
  expect(typesOf(answer)).toEqual(['thinking', 'server_tool_use', 'web_search_tool_result', 'text']);
  expect(answer.content.at(-1)).toMatchObject({
    text: 'It will rain.',
    citations: [{ type: 'web_search_result_location', url: 'https://example.com/w', cited_text: 'It will rain.' }],
  });
  expect(answer.content[2]).toMatchObject({ content: [{ encrypted_content: expect.stringMatching(/.{60}/) }] });
  expect(answer.usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
  await goOn(answer.content, 'And tomorrow?');
  expect(claude.violations()).toEqual([]);
});

for (const at of ['call', 'result'] as const) {
  test(`a turn paused at the ${at} continues when it is sent back unchanged`, async () => {
    const rest = at === 'call' ? resumed(SEARCH, 'It will rain.') : searched({ ...SEARCH, id: 'srvtoolu_2' }, 'Rain.');
    const { claude, ask: first, goOn } = await dialogue([paused(SEARCH, at), rest], 50);
    const begun = await first();
    expect(begun.stop_reason).toBe('pause_turn');
    const end = await goOn(begun.content);
    expect(end.stop_reason).toBe('end_turn');
    await goOn([...begun.content, ...end.content], 'And tomorrow?');
    expect(claude.violations()).toEqual([]);
  });
}

test('a failed search and a fetched page are accepted when sent back', async () => {
  const answers = [searchFailed(SEARCH, 'max_uses_exceeded', 'No.'), fetched('srvtoolu_2', PAGE, 'Rain.', 'It rains.')];
  const { claude, ask: first, goOn } = await dialogue(answers);
  const failed = await first();
  const read = await goOn(failed.content, 'Read it.');
  expect(typesOf(read)).toEqual(['server_tool_use', 'web_fetch_tool_result', 'text']);
  await goOn(withoutFiles(read.content), 'Thanks.');
  expect(claude.violations()).toEqual([]);
  expect(await failure(goOn(read.content, 'Thanks.'))).toMatchObject({ status: 400 });
  expect(claude.violations()).toMatchObject([{ violation: { rule: 28 } }]);
});

function withoutFiles(content: Anthropic.ContentBlock[]): Anthropic.ContentBlockParam[] {
  return JSON.parse(JSON.stringify(content, (key, value) => (key === 'file_id' ? undefined : value)));
}

test('a search beside a tool of the client has its result in the next answer, and both are accepted when sent back', async () => {
  const { claude, client } = await lines.start();
  const reactions = [mixed(SEARCH, call('t1')), resumed(SEARCH, 'It will rain.')];
  claude.react(({ index }) => reactions[index]);
  const params = ask('Will it rain?', { tools: TOOLS });
  const messages: Anthropic.MessageParam[] = [...params.messages];
  const next = async (...said: Anthropic.ContentBlockParam[]): Promise<void> => {
    const answer = await stream(client, { ...params, messages });
    messages.push({ role: 'assistant', content: answer.content }, { role: 'user', content: said });
  };
  await next(result('t1') as never);
  await next({ type: 'text', text: 'And tomorrow?' });
  await next({ type: 'text', text: 'Thanks.' });
  expect(claude.violations()).toEqual([]);
  const cut = messages.map((message, at) => (at === 3 ? { ...message, content: message.content.slice(1) } : message));
  expect(await failure(stream(client, { ...params, messages: cut as typeof messages }))).toMatchObject({ status: 400 });
  expect(claude.violations()).toMatchObject([{ violation: { rule: 27 } }]);
});

test('refuses a search that was cut before its result', async () => {
  const { claude, ask: first, goOn } = await dialogue([searchCut(SEARCH, 'I look.')]);
  expect(await failure(goOn((await first()).content, 'And?'))).toMatchObject({ status: 400 });
  expect(claude.violations()).toMatchObject([{ violation: { rule: 27 } }]);
});

test('usage adds up the passes of an answer, and states each of them where the endpoint does', async () => {
  for (const statesPasses of [false, true]) {
    const { claude, client } = await lines.start({ statesPasses });
    claude.react(() => searchedOften(2, SEARCH, 'It will rain.'));
    const answer = await stream(client, ask('Will it rain?', { tools: TOOLS }));
    const [call] = claude.calls;
    const { iterations, input_tokens, cache_read_input_tokens } = call?.usage ?? {};
    expect((input_tokens ?? 0) + (cache_read_input_tokens ?? 0)).toBeGreaterThan((call?.inputTokens ?? 0) * 3);
    expect(iterations?.length).toBe(statesPasses ? 3 : undefined);
    expect(answer.usage.server_tool_use?.web_search_requests).toBe(2);
  }
});

type Edit = (content: Anthropic.ContentBlockParam[]) => Anthropic.ContentBlockParam[];
const without =
  (type: string): Edit =>
  (content) =>
    content.filter((block) => block.type !== type);
const EDITS: [name: string, rule: number, edit: Edit][] = [
  [
    'a search result that was shortened',
    29,
    (content) => content.map((block) => (block.type === 'web_search_tool_result' ? { ...block, content: [] } : block)),
  ],
  [
    'a search call that was changed',
    29,
    (content) => content.map((block) => (block.type === 'server_tool_use' ? { ...block, input: {} } : block)),
  ],
  ['a search call whose result was removed', 27, without('web_search_tool_result')],
  ['a search result whose call was removed', 27, without('server_tool_use')],
];

for (const [name, rule, edit] of EDITS) {
  test(`refuses ${name}`, async () => {
    const { claude, ask: first, goOn } = await dialogue([searched(SEARCH, 'It will rain.')]);
    expect(await failure(goOn(edit((await first()).content), 'And tomorrow?'))).toMatchObject({ status: 400 });
    expect(claude.violations()).toMatchObject([{ violation: { rule } }]);
  });
}

const WRONG: [name: string, tool: object, says: string][] = [
  ['an unknown version', { type: 'web_search_20240101', name: 'web_search' }, "Input tag 'web_search_20240101'"],
  [
    'a wrong name',
    { type: 'web_search_20260318', name: 'search' },
    "web_search_20260318.name: Input should be 'web_search'",
  ],
  [
    'an unknown key',
    { type: 'web_fetch_20260318', name: 'web_fetch', depth: 1 },
    'web_fetch_20260318.depth: Extra inputs',
  ],
  [
    'a key of a later version',
    { type: 'web_search_20250305', name: 'web_search', response_inclusion: 'full' },
    'Extra inputs',
  ],
  [
    'both allowed and blocked domains',
    { type: 'web_search_20260318', name: 'web_search', allowed_domains: ['a.b'], blocked_domains: ['c.d'] },
    'both allowed_domains and blocked_domains',
  ],
];

for (const [name, tool, says] of WRONG) {
  test(`refuses a server tool with ${name}`, async () => {
    const { claude, client } = await lines.start();
    await failure(client.messages.create(ask('Hi', { tools: [tool as never] })));
    expect(claude.violations().map(({ violation }) => violation?.message)).toEqual([expect.stringContaining(says)]);
  });
}
