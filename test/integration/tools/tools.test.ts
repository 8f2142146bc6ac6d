import { expect, test } from '@jest/globals';
import { createBookStore } from '../../../worker/alerts/book-store.ts';
import { runCli } from '../../fixture/cli.ts';
import { call, text } from '../../fixture/content-blocks.ts';
import { eachWithNotebook, notebook } from '../../fixture/each-notebook.ts';
import { mainCalls, moveToWorld, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { settledOutcomes } from '../../fixture/ledger.ts';
import { http } from '../../fixture/mcp-toolbox.ts';
import { callsTools, resultsIn, use } from '../../fixture/notebook.ts';
import { until } from '../../fixture/root.ts';
import { temporaryFile } from '../../fixture/temporary-file.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';

eachWithNotebook();

test('the model gets the results of two calls in one round in its own order, and the user gets one answer', async () => {
  await start();
  world.claude.react(callsTools([text('Let me look.'), use('t1', 'look'), use('t2', 'write')], [use('t3', 'look')]));
  expect(await ask('Find it')).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(shown()).toEqual(['Done after 2 rounds.']);
  expect((await notebook.notes()).sort()).toEqual(['look t1', 'look t3', 'write t2']);
  const [first, second, third] = mainCalls();
  expect(first?.body.tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(['notebook__look', 'recall']));
  expect(second && resultsIn(second)).toEqual([
    expect.objectContaining({ tool_use_id: 't1', content: [text('look: t1')] }),
    expect.objectContaining({ tool_use_id: 't2', content: [text('write: t2')] }),
  ]);
  expect(third && resultsIn(third)).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
  expect(mainCalls()).toHaveLength(3);
});

test('a tool that fails, hangs or does not exist yields an error result, and the turn goes on', async () => {
  await start();
  const tools = ['fail', 'hang', 'absent', 'look', 'fail_with_picture', 'picture'];
  world.claude.react(callsTools(tools.map((tool, at) => use(`t${at}`, tool))));
  expect(await ask('Try')).toMatchObject({ outcome: 'answered', recoveries: 0 });
  const [failed, hung, absent, fine, blank, picture] = resultsIn(mainCalls().at(-1) as never);
  expect(failed).toMatchObject({ is_error: true, content: [text('the disk is on fire')] });
  expect(hung).toMatchObject({ is_error: true });
  expect(JSON.stringify(hung)).toMatch(/did not answer within 1 second/);
  expect(absent).toMatchObject({ is_error: true });
  expect(fine?.is_error).toBeUndefined();
  const named = /^\[image\/png, 1 KB; the tool "recall" shows it with {"ref":"[0-9a-f]{64}"}\]$/;
  expect(blank).toMatchObject({
    is_error: true,
    content: [text('the page is blank'), { type: 'text', text: expect.stringMatching(named) }],
  });
  expect(picture).toMatchObject({ content: [{ type: 'image' }, { type: 'text' }] });
  expect(world.claude.violations()).toEqual([]);
});

test('a long result is cut before it is first sent, and states its full length; recall reads on from there', async () => {
  await start({ TOOL_RESULT_MAX_CHARS: '500' });
  world.claude.react((call) => {
    const [first] = call.kind === 'main' ? resultsIn(call) : [];
    const found = /\{\\"ref\\":\\"(\w+)\\",\\"from\\":(\d+)\}/.exec(JSON.stringify(first ?? ''));
    if (!found) return first ? { do: 'answer', text: 'Read.' } : callsTools([use('t1', 'long', { words: 100 })])(call);
    const input = { ref: found[1], from: Number(found[2]) };
    return { do: 'answer', content: [{ type: 'tool_use', id: `r${call.index}`, name: 'recall', input }] };
  });
  await ask('Read it all');
  const [, cut = '', ...rests] = mainCalls().map((made) => JSON.stringify(resultsIn(made)));
  expect(cut).toMatch(/begin lorem.*\[result cut: 1209 characters in all; the tool \\"recall\\" reads on with/);
  expect(cut.length).toBeLessThan(1_000);
  expect(rests.at(-1)).toMatch(/lorem ipsum end/);
  expect(JSON.stringify(await world.peek.xrange(world.keys.events, '-', '+'))).toMatch(/message\.capped/);
});

test('after TOOL_ROUNDS_MAX rounds the model must answer without tools', async () => {
  await start({ TOOL_ROUNDS_MAX: '2' });
  world.claude.react((call) => {
    if (call.kind !== 'main') return undefined;
    if (call.body.tool_choice) return { do: 'answer', text: 'Enough.' };
    return { do: 'answer', content: [use(`t${call.index}`, 'look')] };
  });
  expect(await ask('Go on for ever')).toMatchObject({ outcome: 'answered' });
  expect(mainCalls().map(({ body }) => body.tool_choice)).toEqual([undefined, undefined, { type: 'none' }]);
  expect(shown()).toEqual(['Enough.']);
  expect(world.claude.violations()).toEqual([]);
});

test('when the model adds nothing after its tools, its text before them is the answer', async () => {
  await start();
  world.claude.react((call) =>
    resultsIn(call).length > 0
      ? { do: 'answer', content: [] }
      : callsTools([text('I write it down.'), use('t1', 'write')])(call),
  );
  expect(await ask('Note this')).toMatchObject({ outcome: 'answered' });
  expect(shown()).toEqual(['I write it down.']);
});

test('a call whose input was cut is not made, and the next message is answered without a violation', async () => {
  await start();
  const cut = { type: 'tool_use', id: 't1', name: 'notebook__write', input: '{"text": "half' };
  let isCut = false;
  world.claude.react((call) => {
    if (call.kind !== 'main' || isCut) return undefined;
    isCut = true;
    return { do: 'answer', content: [text('I begin'), cut], stopReason: 'max_tokens' };
  });
  await ask('Write a lot');
  expect(shown()[0]).toMatch(/^I begin[\s\S]*reached its length limit/);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered' });
  expect(await notebook.notes()).toEqual([]);
  expect(JSON.stringify(mainCalls()[1]?.body.messages)).not.toContain('tool_use');
  expect(world.claude.violations()).toEqual([]);
});

/** A call whose input goes over the wire as it stands here. */
const raw = (id: string, input: string) => call(id, { name: 'notebook__write', input });
const REFUSED = { is_error: true, content: [{ type: 'text', text: expect.stringMatching(/was not valid JSON/) }] };

variants([
  ['that breaks off', '{"text": "half'],
  ['with something behind it', '{"text": "a"} and so on'],
  ['that is a text', '"text"'],
  ['that is a list', '[1]'],
  ['that is nothing but words', 'I write it down.'],
  ['that nests without an end', '['.repeat(20_000)],
])('an input %s goes back to the model; its call is not made, the one beside it is', async (_what, input) => {
  await start();
  world.claude.react(callsTools([raw('t1', input), use('t2', 'write')], [use('t3', 'write')]));
  expect(await ask('Write it down')).toMatchObject({ outcome: 'answered', attempts: 1, recoveries: 0 });
  expect(shown()).toEqual(['Done after 2 rounds.']);
  expect(await notebook.notes()).toEqual(['write t2', 'write t3']);
  const [, second] = mainCalls();
  expect(second && resultsIn(second)).toMatchObject([{ tool_use_id: 't1', ...REFUSED }, { tool_use_id: 't2' }]);
  const made = blocksOf(second?.body.messages.at(-2)?.content ?? []).find(({ id }) => id === 't1');
  expect(made?.input).toEqual({ unreadable: expect.stringContaining(input.slice(0, 900)) });
  expect(mainCalls()).toHaveLength(3);
  expect(world.claude.violations()).toEqual([]);
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});

test('a model that never writes JSON is called three times, and its message fails with what it said', async () => {
  await start();
  let ids = 0;
  const content = () => [{ type: 'text', text: 'I write it down.' }, raw(`t${ids++}`, '{"text": ')];
  world.claude.react(({ kind }) => (kind === 'main' ? { do: 'answer', content: content() } : undefined));
  expect(await ask('Write it down')).toMatchObject({ outcome: 'failed', reason: 'unreadable_calls' });
  expect(shown()).toEqual([expect.stringMatching(/^I write it down\..*breaks off here.*couldn't answer/s)]);
  expect(mainCalls()).toHaveLength(3);
  expect(await notebook.notes()).toEqual([]);
  expect(await world.peek.xlen(world.keys.dead)).toBe(1);
  world.claude.react(() => ({ do: 'answer', text: 'Well.' }));
  expect(await ask('And now?', 2)).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(world.claude.violations()).toEqual([]);
});

test.each(['claude-sonnet-4-6', 'claude-opus-5-5'])(
  'results that outgrow the window between two rounds are masked, without a refusal or a compaction (%s)',
  async (model) => {
    const bindThinking = model === 'claude-opus-5-5';
    await moveToWorld({ claude: { windowTokens: 30_000, bindThinking }, env: notebook.env });
    await start({ MODEL: model, TOOL_RESULT_MAX_CHARS: '40000' });
    const long = (id: string) => use(id, 'long', { words: 2_500 });
    world.claude.react(callsTools([long('t1')], [long('t2')], [long('t3')], [use('t4', 'look')]));
    expect(await ask('Read all of it')).toMatchObject({ outcome: 'answered' });
    expect(shown()).toEqual(['Done after 4 rounds.']);
    expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
    expect(JSON.stringify(mainCalls().at(-1)?.body)).toMatch(
      /notebook__long .*returned 30009 characters, left out here/,
    );
    expect(mainCalls().every(({ status }) => status === 200)).toBe(true);
    expect(world.claude.violations()).toEqual([]);
    expect(await settledOutcomes(world)).toHaveLength(1);
  },
);

test('a tool that the API would refuse is omitted, the chat is answered, and the operator gets one alert', async () => {
  const broken = await http({
    list: () => ({
      tools: [
        { name: 'odd', inputSchema: { type: 'object', properties: { a: { type: 'any' } } } },
        { name: 'bound', inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '^(a|a)*$' } } } },
        { name: 'choice', inputSchema: { type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] } },
      ],
    }),
  });
  const config = await temporaryFile(JSON.stringify({ mcpServers: { web: { url: broken.url } } }));
  await start({ MCP_CONFIG: config });
  expect(await ask('Are you there?')).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(mainCalls()[0]?.body.tools?.map(({ name }) => name)).toEqual([
    'recall',
    'send_file',
    'reminders',
    'memory',
    'ask_user',
    'web__bound',
  ]);
  expect(world.claude.violations()).toEqual([]);
  const alerts = () => world.telegram.shown(ALERT_CHAT).map((message) => message.text);
  await until('the alert', () => alerts()[0]);
  // Another start finds the same, which the operator knows already.
  await stopGateways();
  await start();
  await until('the second alert is taken', async () => {
    const { book } = await createBookStore(world.peek).read();
    const known = [...book.values()].find(({ cause }) => cause === 'tools-omitted');
    return known?.messages === 2 ? true : undefined;
  });
  expect(alerts()).toEqual([
    expect.stringContaining('The MCP server "web" has 2 tools that cannot be used: odd, choice.\n'),
  ]);
  const checked = await runCli(['check'], world.env);
  expect(checked).toMatchObject({ code: 0 });
  expect(checked.stdout).toMatch(/^ok {4} tools of web: 1 tool; 2 left out: "odd" \(.*type.*\), "choice" \(.*\)$/m);
});

test('check names an MCP server that does not start, and an MCP_CONFIG that is empty', async () => {
  const check = async (json: string) => runCli(['check'], { ...world.env, MCP_CONFIG: await temporaryFile(json) });
  const missing = await check('{"mcpServers":{"gone":{"command":"no-such-program-anywhere"}}}');
  expect(missing.code).toBe(1);
  expect(missing.stdout).toMatch(/^FAILED tools of gone: .*not found/m);
  expect(await check('')).toMatchObject({ code: 2, stderr: expect.stringMatching(/empty or cannot be read/) });
});
