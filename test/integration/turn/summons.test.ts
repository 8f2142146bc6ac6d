import { expect, test } from '@jest/globals';
import { summonsBook } from '../../../shared/state/turn/summons.ts';
import { EN } from '../../../shared/texts/en.ts';
import { runCli } from '../../fixture/cli.ts';
import { eachInWorld, hold, killAt, mainCalls, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome, settledOutcomes, untilSettled } from '../../fixture/ledger.ts';
import {
  ABROAD,
  abroad,
  answers,
  CALLER,
  callsOf,
  GUEST_ENV,
  HERE,
  IN_PRIVATE,
  summon,
} from '../../fixture/summons.ts';

const EXPIRED = {
  status: 400,
  description: 'Bad Request: query is too old and response timeout expired or query ID is invalid',
};
const LONG = `${'A lane keeps order. '.repeat(40)}\n\n`.repeat(12);

eachInWorld({ env: GUEST_ENV });

test('expired: the answer comes to the person, in as many messages as it takes; killed between them, each comes once', async () => {
  answers(LONG);
  // A message of theirs may have the number of the one that called.
  world.telegram.say(CALLER, 'Hello', { messageId: 1 });
  world.telegram.fail('answerGuestQuery', EXPIRED);
  const call = () => summon('What is a lane?', { messageId: 1 });
  await killAt('part marked:2', call, async () => {
    // A word about what stands there that comes after the answer began to come in private changes nothing.
    const [turn = ''] = await world.peek.keys(`${world.keys.turnPrefix}*`);
    await world.peek.hset(turn, 'reply:there', 'AQlate');
  });
  const { outcome, delivery } = await nextOutcome(world, HERE);
  expect([outcome, delivery]).toEqual(['answered', { parts: 4, confirmed: 4, unsure: 0 }]);
  expect(shown(CALLER)).toEqual([IN_PRIVATE, ...Array(3).fill(expect.stringMatching(/^A lane keeps order/))]);
  expect(world.telegram.shown(CALLER).filter(({ replyTo }) => replyTo !== undefined)).toEqual([]);
  expect([abroad(), callsOf('editMessageText'), mainCalls().length]).toEqual([[], [], 1]);
  // What is noted of a message that is over leaves nothing behind.
  expect(await summonsBook(world.peek, world.keys).put('1-1' as never, 'AQlate')).toBeUndefined();
  expect(await world.peek.exists(world.keys.turn('1-1' as never))).toBe(0);
});

test('expired, and the person has no chat with the bot: the operator is told, and the answer is kept', async () => {
  answers();
  await start();
  world.telegram.fail('answerGuestQuery', EXPIRED);
  summon();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'undeliverable', reason: 'telegram_gone' });
  await world.telegram.waitForText(ALERT_CHAT, /2002@-100555/);
  world.telegram.openChat(CALLER);
  const listed = await runCli(['dead', 'list'], world.env);
  const [letter = ''] = /\d{10,}-\d+/.exec(listed.stdout) ?? [];
  expect((await runCli(['dead', 'replay', letter], world.env)).code).toBe(0);
  expect(await nextOutcome(world, HERE, 2)).toMatchObject({ outcome: 'answered' });
  expect(shown(CALLER)).toEqual([IN_PRIVATE, 'It is a lane.']);
  expect(mainCalls()).toHaveLength(1);
});

test('a message that fails is told so in its place, without a button; the operator cancels one there, too', async () => {
  const refusal = { do: 'error', status: 401, type: 'authentication_error', message: 'nope' } as const;
  world.claude.react(({ kind }) => (kind === 'main' ? refusal : undefined));
  await start();
  summon();
  expect((await nextOutcome(world, HERE)).outcome).toBe('failed');
  expect(abroad()).toEqual([expect.stringMatching(/operator has been notified/)]);
  expect(world.telegram.shownAbroad(ABROAD)[0]?.replyMarkup).toBeUndefined();
  world.claude.react(({ kind }) => (kind === 'main' ? { do: 'hang' } : undefined));
  summon('hang');
  await world.claude.waitForCall(({ pendingText }) => pendingText === 'hang');
  expect((await runCli(['cancel', HERE], world.env)).code).toBe(0);
  expect(await nextOutcome(world, HERE, 2)).toMatchObject({ outcome: 'cancelled' });
  // The command itself, whose reply is refused twice: the person has no chat with the bot.
  await untilSettled(world, 3);
  expect(abroad()[1]).toBe(EN.stoppedByOperator);
  expect((await runCli(['chat', HERE], world.env)).stdout).toContain(HERE);
  expect((await runCli(['session', 'forget', HERE, '--yes', '--by', 'Ada'], world.env)).code).toBe(0);
  expect(await world.peek.hexists(world.keys.chat(HERE), 'session')).toBe(0);
});

test('who has blocked the bot is answered where they call it all the same', async () => {
  world.telegram.openChat(CALLER);
  await start({ TELEGRAM_ALLOWED_IDS: String(CALLER) });
  world.telegram.setMembership(CALLER, 'kicked');
  answers('**Here:**\n\n| a | b |\n|---|---|\n| 1 | 2 |');
  summon();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  expect((await settledOutcomes(world)).length).toBe(1);
  // A table is no rich message there, so the rest keeps its format.
  const [edit] = world.telegram.calls.filter(({ method }) => method === 'editMessageText');
  expect(edit?.params.entities).toMatchObject([{ type: 'bold' }, { type: 'pre' }]);
});

test('an answer there loses a format that Telegram does not take, is cut to one message, and comes to the person where it has no place', async () => {
  world.telegram.openChat(CALLER);
  await start();
  answers(`**A lane** keeps order. ${LONG}The end.`);
  const noFormat = { status: 400, description: "Bad Request: can't parse entities" };
  world.telegram.fail('editMessageText', noFormat, 9, ({ entities }) => entities !== undefined);
  summon();
  expect(await nextOutcome(world, HERE)).toMatchObject({ outcome: 'answered' });
  const [{ text, edits } = { text: '', edits: 0 }] = world.telegram.shownAbroad(ABROAD);
  expect([text.startsWith('A lane keeps order'), edits]).toEqual([true, 1]);
  expect(text.length).toBeLessThanOrEqual(4_096);
  expect(text.length).toBeGreaterThan(3_800);
  expect(text.endsWith(EN.onlyOneMessage)).toBe(true);
  const answer = hold('It is a lane.');
  summon('And then?');
  await world.telegram.waitAbroad(ABROAD, EN.oneMoment);
  world.telegram.clearAbroad(ABROAD);
  answer();
  expect(await nextOutcome(world, HERE, 2)).toMatchObject({ outcome: 'answered' });
  expect(shown(CALLER)).toEqual([IN_PRIVATE, 'It is a lane.']);
  // It is whole in the conversation.
  expect(JSON.stringify(mainCalls().at(-1)?.body.messages)).toContain('The end.');
});
