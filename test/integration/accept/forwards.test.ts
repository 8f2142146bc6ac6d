import { beforeEach, expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { EN } from '../../../shared/texts/en.ts';
import { HEADER } from '../../fixture/asked.ts';
import { runCli } from '../../fixture/cli.ts';
import { CHAT, eachInWorld, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { jpegPhoto } from '../../fixture/files.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import { ask, seen } from '../../fixture/whole-chat.ts';
import { blocksOf } from '../../stand-in/claude/request.ts';
import { document, forwarded, photo, voice } from '../../stand-in/telegram/inbound-kinds.ts';

const NOW_S = Math.floor(Date.now() / 1000);
const COMMENTS = new Set(['Who is right?', 'All of it']);

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

const outcomes = async () => (await settledOutcomes(world)).map(({ outcome }) => outcome);
const merged = (count: number): string[] => Array(count).fill('merged');

const headerOf = (nth = -1) =>
  blocksOf(mainCalls().at(nth)?.body.messages.at(-1)?.content ?? []).find(({ text }) => HEADER.test(String(text)))
    ?.text;

test('while a burst is answered, neither /stop nor an operator can cancel a piece of it, and both are told so', async () => {
  world.telegram.fail('sendMessage', { do: 'slow', ms: 2_500 }, 1);
  forwardMany(2);
  await start();
  await world.telegram.waitForCall(({ method }) => method === 'sendMessage');
  const [, piece = ''] = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), 0, -1);
  const asked = await runCli(['cancel', piece], world.env);
  expect(asked).toMatchObject({ code: 1, stdout: expect.stringContaining('together with the message before') });
  await ask('/stop', 3);
  expect(await outcomes()).toEqual(['answered', 'merged', 'command']);
  expect(shown()).toEqual([expect.stringContaining('text 2'), EN.nothingToStop]);
});

test('forwards without a comment are one message, whose first line names no author; that of a single one does', async () => {
  forwardMany(3);
  await start();
  await nextOutcome(world, CHAT, 3);
  expect(await outcomes()).toEqual(['answered', ...merged(2)]);
  expect(seen().at(-2)).toBe('[# forwarded from "P3"]');
  expect(headerOf()).not.toContain('forwarded');
  forwardMany(1);
  await nextOutcome(world, CHAT, 4);
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

test('messages that are forwarded three seconds later, or behind something else, are no part of a comment', async () => {
  const chats = [CHAT, CHAT + 1] as const;
  for (const chat of chats) world.telegram.say(chat, 'Hello', { date: NOW_S });
  forwardMany(2, NOW_S + 3);
  world.telegram.say(chats[1], '', { date: NOW_S, extra: voice() });
  world.telegram.say(chats[1], 'text', { date: NOW_S, extra: from('P1') });
  await start();
  const settled = await untilSettled(world, 6);
  const endsOf = (id: number) => settled.filter(({ chat }) => chat === String(id)).map(({ outcome }) => outcome);
  expect(chats.map(endsOf)).toEqual([
    ['answered', 'answered', 'merged'],
    ['answered', 'refused', 'answered'],
  ]);
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
  const whole = mainCalls().findIndex(({ body }) => JSON.stringify(body).includes('"text":"text 90"'));
  expect(seen(whole)).toContain('All of it');
  const forwards = seen(whole).filter((text) => text !== 'All of it');
  expect(forwards.slice(0, 3)).toEqual(['[# forwarded from "P1"]', 'text 1', '[# forwarded from "P2"]']);
  // One notice, or two if the refusals took longer than a notice waits for others.
  const skipped = shown().flatMap((text) => Number(/I skipped (\d+) of them/.exec(text)?.[1]) || []);
  expect(skipped.reduce((sum, each) => sum + each, 0)).toBe(refused);
  expect(skipped.length).toBeLessThanOrEqual(2);
});

test('what cannot be read among forwards is named, and the others are answered; a forwarded command is none', async () => {
  const picture = world.telegram.addFile(await jpegPhoto(90, 60), 'photos/a.jpg');
  const zip = world.telegram.addFile(Buffer.from([0x50, 0x4b, 3, 4, 0, 1]), 'documents/a.zip');
  const extras = [
    { ...voice(), ...from('A') },
    { ...photo(picture, { caption: 'look' }), ...from('B') },
    { ...document({ fileId: zip, fileName: 'a.zip' }), ...from('C "]') },
    { ...photo('file-gone'), ...from('D') },
    { text: '/stop', ...from('E') },
  ];
  for (const extra of extras) world.telegram.say(CHAT, '', { date: NOW_S, extra });
  await start();
  await nextOutcome(world, CHAT, 5);
  expect(await outcomes()).toEqual(['answered', ...merged(4)]);
  expect(seen()).toEqual([
    '[# forwarded from "A": voice, which cannot be read]',
    '[# forwarded from "B"]',
    'image',
    'look',
    '[# forwarded from "C"]',
    '[# a file "a.zip"; it cannot be shown]',
    '[# forwarded from "D"]',
    '[# a photo; it cannot be shown]',
    '[# forwarded from "E"]',
    '/stop',
  ]);
  expect(world.claude.violations()).toEqual([]);
});

test('in a chat that wants to be interrupted, a burst is not left for its own pieces', async () => {
  await start();
  await ask('/busy interrupt');
  world.telegram.say(CHAT, 'Who is right?', { date: NOW_S });
  forwardMany(2);
  const ends = (await untilSettled(world, 4)).map(({ outcome }) => outcome);
  // The comment may have begun alone; then it went into the first forward.
  expect(ends.sort()).toEqual(['answered', 'command', ...merged(2)]);
  expect(seen()).toHaveLength(5);
});

const UNREAD: [object, RegExp][] = [
  [{ giveaway: { winner_count: 3 } }, /\(giveaway\)/],
  [{ giveaway_winners: { winner_count: 3 } }, /\(giveaway winners\)/],
  [{ invoice: { title: 'Tea' } }, /\(invoice\)/],
  [{ paid_media: { star_count: 5, paid_media: [] } }, /\(paid media\)/],
  [{ hologram: { depth: 3 } }, /\(unknown\)/],
];

test('in private, what cannot be read gets a sentence with its kind, also where it was forwarded', async () => {
  await start();
  const refused = { outcome: 'refused', reason: 'unsupported_kind' };
  const send = async (extra: object, nth: number) => {
    expect(await ask('', nth, CHAT, { extra: { ...extra } })).toMatchObject(refused);
  };
  for (const [at, [extra]] of UNREAD.entries()) {
    await send(extra, 2 * at + 1);
    await send({ ...extra, ...from('Ann') }, 2 * at + 2);
  }
  // What looks like news of a chat is none where it was forwarded.
  await send({ gift: { text: 'x' }, ...from('Ann') }, 2 * UNREAD.length + 1);
  const sentences = UNREAD.flatMap(([, sentence]) => Array(2).fill(expect.stringMatching(sentence)));
  expect(shown()).toEqual([...sentences, expect.stringMatching(/\(unknown\)/)]);
  expect(mainCalls()).toEqual([]);
});
