import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { chatKey, type EntryId } from '../../../shared/redis/keys.ts';
import type { Conclusion } from '../../../shared/state/turn/record.ts';
import { EN } from '../../../shared/texts/en.ts';
import { until } from '../../chaos/scenario.ts';
import { CHAT, eachWithGateway, shown, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes } from '../../fixture/ledger.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';

eachWithGateway({ env: { TELEGRAM_ALLOWED_IDS: `${CHAT},1` } });

function calls(method: string): number {
  return world.telegram.calls.filter((call) => call.method.toLowerCase() === method.toLowerCase()).length;
}

const BUSY = { status: 429, description: 'Too Many Requests: retry after 1', parameters: { retry_after: 1 } };
const REPEATED = `${EN.repeat}\n\nYou said: Hello`;
const CAME = { outcome: 'answered', delivery: { parts: 1, confirmed: 1, unsure: 0 } };

const messages = () =>
  world.telegram
    .shown(CHAT)
    .map(({ text, notified, edits }) => ({ text, ...(notified !== undefined && { notified }), edits }));

/** A message whose conclusion is stored, and whose delivery a gateway left with these marks to the next one. */
async function leftOver(conclusion: Conclusion, marks: Record<string, string | number>): Promise<string> {
  world.claude.react(({ pendingText }) => (pendingText === 'Hello' ? { do: 'hang' } : undefined));
  world.telegram.say(CHAT, 'Hello');
  await world.claude.waitForCall(({ kind }) => kind === 'main');
  await stopGateways();
  const [entry = ''] = await world.peek.lrange(world.keys.lane(chatKey(CHAT)), '0', '0');
  await world.peek.hset(world.keys.turn(entry as EntryId), { conclusion: JSON.stringify(conclusion), ...marks });
  await start();
  return entry;
}

const longAnswer = () => `${'a'.repeat(3_800)}\n\n${'b'.repeat(3_000)}`;

test('an answer is one message whose notification shows its text; of a long one only the first part rings', async () => {
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  expect(messages()).toEqual([{ text: 'You said: Hello', notified: 'You said: Hello', edits: 0 }]);
  world.claude.react(() => ({ do: 'answer', text: longAnswer() }));
  expect(await ask('Long', 2)).toMatchObject({ outcome: 'answered' });
  expect(messages().map(({ text, notified }) => [text[0], notified?.[0]])).toEqual([
    ['Y', 'Y'],
    ['a', 'a'],
    ['b', undefined],
  ]);
  expect([calls('sendMessage'), calls('editMessageText')]).toEqual([3, 0]);
});

test('an answer whose response is lost is repeated once, and says so', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' });
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  expect(messages()).toEqual([
    { text: 'You said: Hello', notified: 'You said: Hello', edits: 0 },
    { text: REPEATED, notified: REPEATED, edits: 0 },
  ]);
  expect(world.claude.calls).toHaveLength(1);
});

test('where sends are accepted and not answered, a repeat is not repeated: unsure, and the operator gets one alert', async () => {
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1_000, ({ chat_id }) => Number(chat_id) === CHAT);
  world.telegram.say(CHAT, 'Hello');
  const delivery = { parts: 1, confirmed: 0, unsure: 1 };
  const { entry, ...ended } = await nextOutcome(world, CHAT);
  expect(ended).toMatchObject({ outcome: 'answered', delivery });
  expect(shown()).toEqual(['You said: Hello', REPEATED]);
  const { text } = await world.telegram.waitForText(ALERT_CHAT, /^A part of an answer was sent twice/m);
  expect(text).toContain(`Chat ${CHAT}, entry ${entry}`);
});

test('waits that Telegram asks for are no repeats, however many: the answer comes', async () => {
  world.telegram.fail('sendMessage', { do: 'cut' }, 1, ({ chat_id }) => Number(chat_id) === CHAT);
  world.telegram.fail('sendMessage', BUSY, 5, ({ chat_id }) => Number(chat_id) === CHAT);
  expect(await ask('Hello')).toMatchObject(CAME);
  // A send that is surely refused is no repeat.
  world.telegram.fail('sendMessage', BUSY, 2);
  expect(await ask('Hello', 2)).toMatchObject(CAME);
  expect(shown()).toEqual([REPEATED, 'You said: Hello']);
  expect(world.claude.calls).toHaveLength(2);
});

variants([
  ['pages of a proxy, while nothing else is sent', { do: 'html502' }, false],
  ["Telegram's own 500, while others are answered", { status: 500, description: 'Internal Server Error' }, true],
] as const)('repeats that end in %s were not made: the answer waits, and comes', async (_how, failure, withOthers) => {
  world.telegram.fail('sendMessage', failure, 1_000, ({ chat_id }) => Number(chat_id) === CHAT);
  await leftOver({ outcome: 'answered', parts: ['Hello'] }, { 'part:0': 'sending' });
  const sends = () => world.telegram.calls.filter(({ params }) => Number(params.chat_id) === CHAT && params.text);
  for (let nth = 1; nth <= 3; nth++) {
    await until('the next repeat', () => sends().length >= nth);
    if (withOthers) world.telegram.say(1, `Somebody else ${nth}`);
  }
  await pause(1_000);
  expect((await settledOutcomes(world)).filter(({ chat }) => chat === chatKey(CHAT))).toEqual([]);
  world.telegram.heal();
  expect(await nextOutcome(world, CHAT)).toMatchObject(CAME);
  expect(shown()).toEqual([`${EN.repeat}\n\nHello`]);
});

test('a further part that has to wait is resumed, and one whose response is lost comes once more, in order', async () => {
  world.claude.react(() => ({ do: 'answer', text: longAnswer() }));
  world.telegram.fail('sendMessage', BUSY, 2, ({ text }) => String(text).startsWith('b'));
  await ask('Long');
  world.telegram.fail('sendMessage', { do: 'loseReply' }, 1, ({ text }) => String(text).startsWith('b'));
  expect(await ask('Long', 2)).toMatchObject({ outcome: 'answered' });
  expect(shown().map((text) => text[0])).toEqual(['a', 'b', 'a', 'b', '↻']);
});

test.each([
  ['whose line it had sent is made', { 'part:0': 'sending', 'part:placeholder': 'resent', reply: 1 }],
  ['that it had made is unsure', { 'part:0': 'sending', 'part:text': 'sending', 'tried:text': 1 }],
])('a repeat of version 0.3 %s', async (_how, marks) => {
  await leftOver({ outcome: 'answered', parts: ['Hello'] }, marks);
  const isMade = 'reply' in marks;
  const { delivery } = await nextOutcome(world, CHAT);
  expect(delivery).toMatchObject({ unsure: isMade ? 0 : 1 });
  expect(shown()).toEqual(isMade ? [`${EN.repeat}\n\nHello`] : []);
});

test('a bot blocked by the user: undeliverable, the operator is notified, the lane goes on', async () => {
  world.telegram.fail('sendMessage', { status: 403, description: 'Forbidden: bot was blocked by the user' }, 2);
  expect(await ask('Hello')).toMatchObject({ outcome: 'undeliverable', reason: 'telegram_gone' });
  await world.telegram.waitForText(ALERT_CHAT, /could not be delivered/);
  expect(await ask('Again', 2)).toMatchObject({ outcome: 'answered' });
});
