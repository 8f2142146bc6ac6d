import type Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, test } from '@jest/globals';
import { ask, ClaudeLines, failure, type Params, stream } from '../fixture/claude.ts';
import type { Reaction } from '../stand-in/claude/reaction.ts';
import { fetched, paused, resumed, searched, searchFailed } from '../stand-in/claude/searching.ts';

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
  await goOn(read.content, 'Thanks.');
  expect(claude.violations()).toEqual([]);
});

type Edit = (content: Anthropic.ContentBlockParam[]) => Anthropic.ContentBlockParam[];
const without =
  (type: string): Edit =>
  (content) =>
    content.filter((block) => block.type !== type);
const EDITS: [name: string, rule: number, edit: Edit][] = [
  [
    'a search result that was shortened',
    15,
    (content) => content.map((block) => (block.type === 'web_search_tool_result' ? { ...block, content: [] } : block)),
  ],
  [
    'a search call that was changed',
    15,
    (content) => content.map((block) => (block.type === 'server_tool_use' ? { ...block, input: {} } : block)),
  ],
  ['a search call whose result was removed', 7, without('web_search_tool_result')],
  ['a search result whose call was removed', 8, without('server_tool_use')],
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
