import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { call, image, png } from '../../fixture/content-blocks.ts';
import { CHAT, eachInWorld, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { conversation } from '../../fixture/history.ts';
import { ask, givenLines, sessionOf, summaries } from '../../fixture/whole-chat.ts';
import type { Reaction } from '../../stand-in/claude/reaction.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';
import { fetched, mixed, paused, resumed, searchCut, searchedOften } from '../../stand-in/claude/searching.ts';

const SEARCH = {
  id: 'srvtoolu_1',
  query: 'spillway',
  found: [{ url: 'https://example.org/spillway', title: 'Spillways' }],
};
const WEB = { TELEGRAM_ALLOWED_IDS: '*', WEB_SEARCH: 'true', WEB_FETCH: 'true' };

eachInWorld({ env: WEB });

test.each([
  [200_000, false],
  [1_000_000, true],
])(
  'four searches in a chat of 45,000 tokens cost neither the answer nor the session (window %d, passes stated: %s)',
  async (windowTokens, statesPasses) => {
    await moveToWorld({ env: WEB, claude: { windowTokens, statesPasses } });
    await givenLines(conversation(90, 1_000));
    await start();
    const before = await sessionOf();
    world.claude.react(({ pendingText }) =>
      pendingText === 'Look it up' ? searchedOften(4, SEARCH, 'A spillway lets water pass.') : undefined,
    );
    for (const nth of [1, 2, 3]) {
      expect(await ask(nth === 1 ? 'Look it up' : `And ${nth}?`, nth)).toMatchObject({
        outcome: 'answered',
        recoveries: 0,
      });
    }
    const [search, next] = world.claude.calls;
    const { input_tokens = 0, cache_read_input_tokens = 0, cache_creation_input_tokens = 0 } = search?.usage ?? {};
    expect(search?.inputTokens).toBeGreaterThan(40_000);
    expect(input_tokens + cache_read_input_tokens + cache_creation_input_tokens).toBeGreaterThan(200_000);
    expect(next?.inputTokens).toBeLessThan(60_000);
    expect(shown(CHAT)[0]).toMatch(/^A spillway lets water pass\./);
    expect(shown(CHAT)).toHaveLength(3);
    expect(await sessionOf()).toBe(before);
    expect(summaries()).toEqual([]);
    expect(Number(await world.peek.hget(world.keys.chat(chatKey(CHAT)), 'calibration'))).toBeLessThan(1.6);
    const used = await world.peek.hgetall(world.keys.usage(new Date().toISOString().slice(0, 10), chatKey(CHAT)));
    expect(Number(used.cost) / 1e9).toBeCloseTo(world.claude.usd(), 6);
  },
);

/** Says two messages, of which the first is answered with these reactions, one a call. */
async function twoTurns(...reactions: Reaction[]): Promise<void> {
  await start();
  world.claude.react(({ index }) => reactions[index]);
  expect(await ask('Look it up')).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  expect(world.claude.violations()).toEqual([]);
}

/** The messages of a call from its `from`th on, without what was thought. */
const sent = (at: number, from: number) =>
  world.claude.calls
    .at(at)
    ?.body.messages.slice(from)
    .map(({ content }) => blocksOf(content).filter(({ type }) => type !== 'thinking')) ?? [];
/** What the model is shown of its answer to the first message. */
const lastAnswer = () => sent(-1, -2)[0] ?? [];

test('citations of a page come back without the key that the API refuses, and are otherwise as they were', async () => {
  const page = { url: 'https://example.org/spillway', title: 'Spillways' };
  await twoTurns(fetched('srvtoolu_1', page, 'A spillway lets water pass.', 'Water passes.'));
  const [cited] = (lastAnswer().at(-1)?.citations ?? []) as object[];
  expect(cited).toMatchObject({ type: 'char_location', cited_text: 'A spillway lets water pass.', document_index: 0 });
  expect(cited).not.toHaveProperty('file_id');
});

test('a search that the length limit cut off is left out of the next request, and the words stay', async () => {
  await twoTurns(searchCut(SEARCH, 'I look it up.'));
  expect(lastAnswer()).toEqual([expect.objectContaining({ type: 'text', text: 'I look it up.' })]);
});

test('a search that was paused when its message was stopped is left out of the next request', async () => {
  await start();
  const { promise, resolve } = Promise.withResolvers<void>();
  world.claude.react(({ index }) =>
    index === 0 ? paused(SEARCH, 'call') : index === 1 ? { do: 'answer', text: 'late', after: promise } : undefined,
  );
  world.telegram.say(CHAT, 'Look it up');
  await world.claude.waitForCall(({ index }) => index === 1);
  expect(await ask('/stop')).toMatchObject({ outcome: 'cancelled' });
  resolve();
  expect(await ask('And now?', 3)).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  expect(JSON.stringify(world.claude.calls.at(-1)?.body.messages)).not.toContain('server_tool_use');
  expect(world.claude.violations()).toEqual([]);
});

test('a log of an earlier version with a cut search and a failed picture is healed', async () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } };
  const failed = { type: 'tool_result', tool_use_id: 't1', is_error: true, content: [image(png(10, 10))] };
  const lines = [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, search] },
    { role: 'user', content: 'Then see' },
    { role: 'assistant', content: [call('t1')] },
    { role: 'user', content: [failed] },
    { role: 'assistant', content: 'I see nothing.' },
  ];
  await givenLines(lines.map((line) => JSON.stringify(line)));
  await start();
  expect(await ask('And now?')).toMatchObject({ outcome: 'answered', recoveries: 0, attempts: 1 });
  expect(world.claude.calls).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('a search beside a tool of ours has its result in the next answer, and all of it goes back as it was', async () => {
  const recall = call('t1', { name: 'recall', input: { query: 'dam' } });
  await twoTurns(mixed(SEARCH, recall), resumed(SEARCH, 'Water passes.'));
  const begun = [[{ type: 'server_tool_use' }, { type: 'tool_use' }], [{ type: 'tool_result', tool_use_id: 't1' }]];
  expect(sent(1, -2)).toMatchObject(begun);
  expect(sent(2, -4).slice(0, 3)).toMatchObject([...begun, [{ type: 'web_search_tool_result' }, { type: 'text' }]]);
});

test.each(['call', 'result'] as const)(
  'a turn that paused at the %s goes on, and all of it goes back as it was',
  async (at) => {
    const rest = at === 'call' ? resumed(SEARCH, 'Water passes.') : ({ do: 'answer', text: 'Water passes.' } as const);
    await twoTurns(paused(SEARCH, at), rest);
    expect(lastAnswer().map(({ type }) => type)).toEqual(['server_tool_use', 'web_search_tool_result', 'text']);
  },
);
