import { expect, test } from '@jest/globals';
import { EN } from '../../../shared/texts/en.ts';
import { CHAT, eachInWorld, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { ask } from '../../fixture/whole-chat.ts';

const GROUP = -1_002_000_000_001;
const WORDS = Array.from({ length: 120 }, (_, at) => `word ${at}`).join(', ');

// The model writes for half a second.
eachInWorld({ claude: { deltaDelayMs: 15 } });

async function begin(env: Record<string, string> = {}): Promise<void> {
  world.claude.react(() => ({ do: 'answer', text: `**${WORDS}**` }));
  await start(env, { draftsEveryMs: 50 });
}

const drafts = () => world.telegram.calls.filter(({ method }) => method === 'sendMessageDraft');

test('a private chat sees growing drafts, whose open marks count as closed, and behind them the answer, once', async () => {
  await begin();
  // The last one is still on its way when the answer is there.
  world.telegram.fail('sendMessageDraft', { do: 'slow', ms: 600 }, 1, ({ text }) => String(text).includes('word 100'));
  expect(await ask('tell me')).toMatchObject({ outcome: 'answered' });
  const texts = drafts().map(({ params }) => String(params.text));
  expect(texts.length).toBeGreaterThan(2);
  expect(drafts().every(({ ok }) => ok)).toBe(true);
  expect(new Set(drafts().map(({ params }) => params.draft_id)).size).toBe(1);
  for (const [at, text] of texts.entries()) {
    expect(WORDS.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(texts[at - 1]?.length ?? 0);
  }
  for (const { params } of drafts())
    expect(params.entities).toEqual([expect.objectContaining({ type: 'bold', offset: 0 })]);
  expect(shown()).toEqual([WORDS]);
  const sent = world.telegram.calls.find(({ method }) => method === 'sendMessage');
  for (const { endedAt } of drafts()) expect(endedAt).toBeLessThanOrEqual(sent?.at ?? 0);
});

test('the stop button ends the turn, and the words so far stay as a message that says so, formatted', async () => {
  await moveToWorld({ claude: { deltaDelayMs: 200 } });
  await begin();
  world.telegram.say(CHAT, 'tell me');
  const { params } = await world.telegram.waitForCall(({ method, ok }) => method === 'sendMessageDraft' && ok);
  expect(params.can_stop).toBe(true);
  world.telegram.pressStop(CHAT);
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'cancelled' });
  expect(await nextOutcome(world, CHAT, 2)).toMatchObject({ outcome: 'command' });
  const [words, reply] = world.telegram.shown(CHAT);
  expect(words?.text).toMatch(/^word 0, .*\n\n⏹ Stopped here\.$/s);
  expect(WORDS.startsWith(words?.text.split('\n')[0] ?? '?')).toBe(true);
  expect(words?.entities).toEqual([expect.objectContaining({ type: 'bold', offset: 0 })]);
  expect(reply?.text).toBe(EN.stopped);
  world.claude.react(() => undefined);
  expect(await ask('go on', 3)).toMatchObject({ outcome: 'answered' });
});

test('a group sees the answer without drafts', async () => {
  await begin({ TELEGRAM_ALLOWED_IDS: `${GROUP}` });
  expect(await ask('tell us', 1, GROUP)).toMatchObject({ outcome: 'answered' });
  expect([drafts(), shown(GROUP)]).toEqual([[], [WORDS]]);
});

/** With how many drafts there were after each of three messages: the next one is tried where others may be offered. */
test.each<[string, { status: number; description: string } | { do: 'cut' | 'html502' }, number[]]>([
  ['a 404, which a proxy that restarts says too', { status: 404, description: 'Not Found' }, [1, 2, 2]],
  ['a 404 in other words', { status: 404, description: 'no such method here' }, [1, 2, 2]],
  ['a 404 about the method', { status: 404, description: 'Not Found: method not found' }, [1, 1, 1]],
  ['a cut connection', { do: 'cut' }, [1, 2, 3]],
  ['a 502 page of a proxy', { do: 'html502' }, [1, 2, 3]],
  ['a 429', { status: 429, description: 'Too Many Requests: retry after 30' }, [1, 2, 3]],
])('%s on the first draft ends the drafts and leaves the answer complete', async (_what, failure, counts) => {
  await begin();
  world.telegram.fail('sendMessageDraft', failure, 100);
  for (const [at, count] of counts.entries()) {
    expect(await ask('tell me', at + 1)).toMatchObject({ outcome: 'answered' });
    expect([at, drafts().length]).toEqual([at, count]);
  }
  expect(shown()).toEqual(counts.map(() => WORDS));
  expect(await world.peek.xlen(world.keys.alerts)).toBe(0);
});
