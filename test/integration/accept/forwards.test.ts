import { beforeEach, expect, test } from '@jest/globals';
import type { Failpoint } from '../../../shared/base/failpoint.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { HEADER, saidIn } from '../../fixture/asked.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, shown, spawn, start, takeOver, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';
import { document, forwarded, photo, voice } from '../../stand-in/telegram/inbound-kinds.ts';

const NOW_S = Math.floor(Date.now() / 1000);
const COMMENTS = new Set(['Who is right?', 'All of it', 'What does this do?']);

eachInWorld();

// What is written at once comes one by one, and an attempt at the first may begin before the last: of a comment alone
// the model says nothing.
beforeEach(() =>
  world.claude.react(({ pendingText, body }) =>
    COMMENTS.has(pendingText) && !JSON.stringify(body).includes('forwarded from') ? { do: 'hang' } : undefined,
  ),
);

const from = (name: string) => forwarded({ type: 'hidden_user', name });

/** Somebody forwards messages, each from another person. */
function forwardMany(count: number, date = NOW_S): void {
  for (let n = 1; n <= count; n++) world.telegram.say(CHAT, `text ${n}`, { date, extra: from(`P${n}`) });
}

const seen = (nth = -1) =>
  saidIn(mainCalls().at(nth)).map(({ type, text }) =>
    type === 'text' ? String(text).replace(/#[\w-]{6}/, '#') : type,
  );
const outcomes = async () => (await settledOutcomes(world)).map(({ outcome }) => outcome);
const merged = (count: number): string[] => Array(count).fill('merged');
/** One answer; the others went into it. A comment may have begun alone, and then it went into the first forward. */
const oneOf = (count: number) => ({ answered: 1, merged: count - 1 });
const counted = async () => {
  const found: Record<string, number> = {};
  for (const outcome of await outcomes()) found[outcome] = (found[outcome] ?? 0) + 1;
  return found;
};
const headerOf = (nth = -1) =>
  blocksOf(mainCalls().at(nth)?.body.messages.at(-1)?.content ?? []).find(({ text }) => HEADER.test(String(text)))
    ?.text;

test('a comment and the fifty messages that were forwarded with it are one message, even where fifty are a full lane', async () => {
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  forwardMany(50);
  await start({ LANE_MAX_MESSAGES: '50' });
  await untilSettled(world, 51);
  expect(await counted()).toEqual(oneOf(51));
  expect(seen()).toHaveLength(101);
  expect(
    seen()
      .filter((text) => text !== 'Who is right?')
      .slice(0, 4),
  ).toEqual(['[# forwarded from "P1"]', 'text 1', '[# forwarded from "P2"]', 'text 2']);
  expect(seen()).toContain('Who is right?');
  expect(shown()).toHaveLength(1);
  expect(world.claude.violations()).toEqual([]);
});

test('while a burst is answered, neither /stop nor an operator can cancel a piece of it, and both are told so', async () => {
  world.telegram.fail('sendMessage', { do: 'slow', ms: 2_500 }, 1);
  forwardMany(2);
  await start();
  await world.telegram.waitForCall(({ method }) => method === 'sendMessage');
  const [, piece = ''] = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), 0, -1);
  const asked = await runCli(['cancel', piece], world.env);
  expect(asked).toMatchObject({ code: 1, stdout: expect.stringContaining('was merged into the message before it') });
  world.telegram.say(CHAT, '/stop');
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', 'merged', 'command']);
  expect(shown()).toEqual([expect.stringContaining('text 2'), EN.nothingToStop]);
});

test('forwards without a comment are one message, and its first line names none of their authors', async () => {
  forwardMany(3);
  await start();
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', ...merged(2)]);
  expect(seen().at(-2)).toBe('[# forwarded from "P3"]');
  expect(headerOf()).not.toContain('forwarded');
});

test('a single forward is told from its first line, as before', async () => {
  forwardMany(1);
  await start();
  await nextOutcome(world, CHAT);
  expect([headerOf(), seen()]).toEqual([expect.stringContaining('forwarded from "P1"'), ['text 1']]);
});

test('a text goes to the model at once, and forwards that come a moment later join it: the call is made again with all', async () => {
  await start();
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  const alone = await world.claude.waitForCall(({ pendingText }) => pendingText === 'Who is right?');
  forwardMany(2, NOW_S + 1);
  await untilSettled(world, 3);
  expect(await outcomes()).toEqual(['merged', 'answered', 'merged']);
  expect([alone.aborted, mainCalls().length, shown().length]).toEqual([true, 2, 1]);
  expect(seen()).toEqual(['Who is right?', '[# forwarded from "P1"]', 'text 1', '[# forwarded from "P2"]', 'text 2']);
  expect(world.claude.violations()).toEqual([]);
});

test('what is forwarded once the answer can be seen is a message of its own', async () => {
  world.claude.react(({ pendingText }) =>
    pendingText === 'Who is right?' ? { do: 'answer', text: 'Both are right, I would say.', everyMs: 300 } : undefined,
  );
  await start();
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  await world.telegram.waitForCall(({ method }) => method === 'sendMessageDraft');
  forwardMany(1, NOW_S + 1);
  await untilSettled(world, 2);
  expect([await outcomes(), mainCalls().length]).toEqual([['answered', 'answered'], 2]);
});

test.each<[string, () => void, string[]]>([
  ['three seconds later', () => forwardMany(2, NOW_S + 3), ['answered', 'answered', 'merged']],
  [
    'with something else in between',
    () => {
      world.telegram.say(CHAT, '', { date: NOW_S, extra: voice() });
      forwardMany(1);
    },
    ['answered', 'refused', 'answered'],
  ],
])('messages that are forwarded %s are no part of a comment', async (_, write, expected) => {
  world.telegram.say(CHAT, 'Hello', { date: NOW_S });
  write();
  await start();
  await untilSettled(world, expected.length);
  expect(await outcomes()).toEqual(expected);
});

test('a burst is bounded: what is over a hundred is a message of its own, and what is over the lane is told', async () => {
  world.telegram.say(CHAT, 'All of it', { date: NOW_S });
  forwardMany(120);
  await start({ LANE_MAX_MESSAGES: '5' });
  await untilSettled(world, 121);
  const counts = Object.groupBy(await outcomes(), (outcome) => outcome);
  const refused = counts.refused?.length ?? 0;
  // The comment counts in the burst, unless it went to the model alone.
  expect([counts.answered?.length, (counts.merged?.length ?? 0) + refused]).toEqual([2, 119]);
  expect([15, 16]).toContain(refused);
  expect(shown().filter((text) => text.includes('Too many'))).toEqual([expect.stringContaining(`${refused} of them`)]);
});

test('what cannot be read among forwards is named, and the others are answered', async () => {
  const picture = world.telegram.addFile(await jpegPhoto(90, 60), 'photos/a.jpg');
  const zip = world.telegram.addFile(Buffer.from([0x50, 0x4b, 3, 4, 0, 1]), 'documents/a.zip');
  const extras = [
    { ...voice(), ...from('A') },
    { ...photo(picture, { caption: 'look' }), ...from('B') },
    { ...document({ fileId: zip, fileName: 'a.zip' }), ...from('C "]') },
    { ...photo('file-gone'), ...from('D') },
  ];
  for (const extra of extras) world.telegram.say(CHAT, '', { date: NOW_S, extra });
  await start();
  await nextOutcome(world, CHAT, 4);
  expect(await outcomes()).toEqual(['answered', ...merged(3)]);
  expect(seen()).toEqual([
    '[# forwarded from "A": voice, which cannot be read]',
    '[# forwarded from "B"]',
    'image',
    'look',
    '[# forwarded from "C"]',
    '[# a file "a.zip"; it cannot be shown]',
    '[# forwarded from "D"]',
    '[# a photo; it cannot be shown]',
  ]);
  expect(world.claude.violations()).toEqual([]);
});

test('a forwarded voice message alone is answered with a sentence', async () => {
  world.telegram.say(CHAT, '', { extra: { ...voice(), ...from('A') } });
  await start();
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'refused', reason: 'unsupported_kind' });
});

test('a forwarded command is what somebody wrote, and cancels nothing', async () => {
  world.telegram.say(CHAT, 'What does this do?', { date: NOW_S });
  world.telegram.say(CHAT, '/stop', { date: NOW_S, extra: from('A') });
  await start();
  await nextOutcome(world, CHAT, 2);
  expect(await counted()).toEqual(oneOf(2));
  expect(
    seen()
      .filter((text) => !text.startsWith('[#'))
      .sort(),
  ).toEqual(['/stop', 'What does this do?']);
});

variants<[Failpoint, number]>([
  ['attempt begun', 1],
  ['model called', 1],
  ['answer stored', 1],
  ['settled', 2],
])('killed at "%s" (%i): a burst has one answer, with all of it', async (step, nth) => {
  const victim = await spawn({ SPILLWAY_FAIL_AT: `${step}:${nth}` });
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  forwardMany(3);
  expect(await victim.ended).toBe('SIGKILL');
  await takeOver();
  await untilSettled(world, 4);
  expect(await counted()).toEqual(oneOf(4));
  expect(seen()).toHaveLength(7);
});

test('forwards that come after a call was killed join the text that nobody has seen an answer to', async () => {
  const victim = await spawn({ SPILLWAY_FAIL_AT: 'model called:1' });
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  expect(await victim.ended).toBe('SIGKILL');
  forwardMany(2);
  await takeOver();
  await untilSettled(world, 3);
  expect(await outcomes()).toEqual(['merged', 'answered', 'merged']);
  expect(seen(-1)).toEqual(['Who is right?', '[# forwarded from "P1"]', 'text 1', '[# forwarded from "P2"]', 'text 2']);
});

variants(['merge', 'interrupt'])('in a chat that wants %s, a burst is not left for its own pieces', async (way) => {
  await start();
  world.telegram.say(CHAT, `/busy ${way}`);
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  forwardMany(2);
  await untilSettled(world, 4);
  expect(await counted()).toEqual({ command: 1, ...oneOf(3) });
  expect(seen()).toHaveLength(5);
});

test.each<[string, object, RegExp]>([
  ['a giveaway', { giveaway: { winner_count: 3 } }, /\(giveaway\)/],
  ['winners of a giveaway', { giveaway_winners: { winner_count: 3 } }, /\(winners of a giveaway\)/],
  ['an invoice', { invoice: { title: 'Tea' } }, /\(invoice\)/],
  ['paid media', { paid_media: { star_count: 5, paid_media: [] } }, /\(paid media\)/],
  ['a kind that is new to us', { hologram: { depth: 3 } }, /\(a kind I don't know\)/],
  ['what looks like news of a chat', { gift: { text: 'x' } }, /\(a kind I don't know\)/],
])(
  'in private, %s gets the sentence that it cannot be read, also where it was forwarded',
  async (_, extra, sentence) => {
    await start();
    const isNews = 'gift' in extra;
    if (!isNews) world.telegram.say(CHAT, '', { extra: { ...extra } });
    if (!isNews) await nextOutcome(world, CHAT);
    world.telegram.say(CHAT, '', { extra: { ...extra, ...from('Ann') } });
    expect(await nextOutcome(world, CHAT, isNews ? 1 : 2)).toMatchObject({
      outcome: 'refused',
      reason: 'unsupported_kind',
    });
    expect(shown(CHAT)).toEqual(Array(isNews ? 1 : 2).fill(expect.stringMatching(sentence)));
    expect(mainCalls()).toEqual([]);
  },
);
