import { afterEach, expect, test } from '@jest/globals';
import type { Service } from '../../../shared/base/lifecycle.ts';
import { EN } from '../../../shared/texts/en.ts';
import { createWorld, startGateway, type World } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';

const CHAT = 1001;
const GROUP = -1_002_000_000_001;
const WORDS = Array.from({ length: 120 }, (_, at) => `word ${at}`).join(', ');

let world: World;
let gateway: Service;

/** A gateway whose model writes for half a second. */
async function begin(env: Record<string, string> = {}, deltaDelayMs = 15): Promise<void> {
  world = await createWorld({ claude: { deltaDelayMs }, env });
  world.claude.react(() => ({ do: 'answer', text: WORDS }));
  gateway = await startGateway(world, { draftsEveryMs: 50 });
}

afterEach(async () => {
  await gateway.stop();
  await world.close();
});

const drafts = () => world.telegram.calls.filter(({ method }) => method === 'sendMessageDraft');

test('a private chat sees growing drafts while the model writes, and then the answer once', async () => {
  await begin();
  world.telegram.say(CHAT, 'tell me');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const texts = drafts().map(({ params }) => String(params.text));
  expect(texts.length).toBeGreaterThan(2);
  expect(drafts().every(({ ok }) => ok)).toBe(true);
  expect(new Set(drafts().map(({ params }) => params.draft_id)).size).toBe(1);
  for (const [at, text] of texts.entries()) {
    expect(WORDS.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(texts[at - 1]?.length ?? 0);
  }
  expect(world.telegram.shown(CHAT).map(({ text }) => text)).toEqual([WORDS]);
  const methods = world.telegram.calls.map(({ method }) => method);
  expect(methods.lastIndexOf('sendMessageDraft')).toBeLessThan(methods.indexOf('sendMessage'));
});

test('the stop button ends the turn, and the words so far stay as a message that says so', async () => {
  await begin({}, 200);
  world.telegram.say(CHAT, 'tell me');
  const { params } = await world.telegram.waitForCall(({ method, ok }) => method === 'sendMessageDraft' && ok);
  expect(params.can_stop).toBe(true);
  world.telegram.pressStop(CHAT);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'cancelled' });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'command' });
  const [words, reply] = world.telegram.shown(CHAT).map(({ text }) => text);
  expect(words).toMatch(/^word 0, .*\n\n⏹ Stopped here\.$/s);
  expect(WORDS.startsWith(String(words).split('\n')[0] ?? '?')).toBe(true);
  expect(reply).toBe(EN.stopped);
  world.claude.react(() => undefined);
  world.telegram.say(CHAT, 'go on');
  expect(await nextOutcome(world, CHAT, 3)).toMatchObject({ outcome: 'answered' });
});

test('words that are stopped inside of bold text stay bold, and show no marks', async () => {
  await begin({}, 200);
  world.claude.react(() => ({ do: 'answer', text: `**${WORDS}**` }));
  world.telegram.say(CHAT, 'tell me');
  await world.telegram.waitForCall(({ method, ok }) => method === 'sendMessageDraft' && ok);
  world.telegram.pressStop(CHAT);
  await nextOutcome(world, CHAT, 2);
  const [words] = world.telegram.shown(CHAT);
  expect(words?.text).toMatch(/^word 0/);
  expect(words?.entities).toEqual([expect.objectContaining({ type: 'bold', offset: 0 })]);
});

test('drafts are formatted, and marks that are not closed yet are', async () => {
  await begin();
  world.claude.react(() => ({ do: 'answer', text: `Look: **${WORDS}**` }));
  world.telegram.say(CHAT, 'tell me');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  for (const { params } of drafts()) {
    expect(String(params.text)).not.toContain('**');
    expect(params.entities).toEqual([expect.objectContaining({ type: 'bold', offset: 6 })]);
  }
});

test('a group sees the answer without drafts', async () => {
  await begin({ TELEGRAM_ALLOWED_IDS: `${GROUP}` });
  world.telegram.say(GROUP, 'tell us');
  expect(await nextOutcome(world, GROUP)).toMatchObject({ outcome: 'answered' });
  expect(drafts()).toEqual([]);
  expect(world.telegram.shown(GROUP).map(({ text }) => text)).toEqual([WORDS]);
});

test.each<[string, { status: number; description: string } | { do: 'cut' | 'html502' }]>([
  ['a 404', { status: 404, description: 'Not Found' }],
  ['a 404 in other words', { status: 404, description: 'no such method here' }],
  ['a cut connection', { do: 'cut' }],
  ['a 502 page of a proxy', { do: 'html502' }],
  ['a 429', { status: 429, description: 'Too Many Requests: retry after 30' }],
])('%s on the first draft ends the drafts and leaves the answer complete', async (_what, failure) => {
  await begin();
  world.telegram.fail('sendMessageDraft', failure, 100);
  world.telegram.say(CHAT, 'tell me');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  expect(drafts()).toHaveLength(1);
  expect(world.telegram.shown(CHAT).map(({ text }) => text)).toEqual([WORDS]);
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
});
