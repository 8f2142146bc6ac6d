import { expect, test } from '@jest/globals';
import { chatKey } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { CHAT, eachInWorld, mainCalls, moveToWorld, shown, start, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';
import { type Block, blocksOf, type Message } from '../../stand-in/claude/request.ts';
import { assistant, image, png, text, thinking, user } from '../../stand-in/claude/specimens.ts';

const SIGNED = { signature: 'EuYBCkQYAiJA0123456789ABCDEFGH==' };

eachInWorld();

async function givenHistory(...messages: Message[]): Promise<void> {
  const lines = messages.map((message) => JSON.stringify(message));
  await importSession(world.peek, world.keys, chatKey(CHAT), await parseLines(lines));
}

function mediaIn({ body }: ClaudeCall): number {
  return body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'image').length;
}

/** Refuses main calls as long as a request is of a kind. */
function refuseWhile(isBad: (call: ClaudeCall) => boolean, reaction: Reaction): void {
  world.claude.react((call) => (call.kind === 'main' && isBad(call) ? reaction : undefined));
}

const bytesOf = ({ body }: ClaudeCall): number => JSON.stringify(body).length;
const TOO_LARGE: Reaction = {
  do: 'raw',
  status: 413,
  body: '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
};
const badRequest = (message: string): Reaction => ({
  do: 'error',
  status: 400,
  type: 'invalid_request_error',
  message,
});

test('wire: the largest parts are cut for good, the question is answered, and the user is notified', async () => {
  await givenHistory(
    user(text('small'), image(png(10, 10, 900_000))),
    assistant('seen'),
    user(text('x'.repeat(60_000))),
    assistant('read'),
  );
  await start();
  refuseWhile((call) => bytesOf(call) > 1_000_000, TOO_LARGE);
  world.telegram.say(CHAT, 'What was it?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().map(({ status }) => status)).toEqual([413, 413, 200]);
  expect(world.claude.calls.filter(({ kind }) => kind === 'compaction')).toEqual([]);
  expect(mainCalls().map(mediaIn)).toEqual([1, 1, 0]);
  expect(shown()).toEqual([
    expect.stringMatching(/left out the middle of a long text, a picture/),
    expect.stringMatching(/What was it/),
  ]);
  world.telegram.say(CHAT, 'And now?');
  await nextOutcome(world, CHAT, 2);
  expect(mainCalls().map(({ status }) => status)).toEqual([413, 413, 200, 200]);
  expect(world.claude.violations()).toEqual([]);
});

test('wire: a 413 for a small request costs no history before the fixed parts alone were asked', async () => {
  await givenHistory(
    ...Array.from({ length: 40 }, (_, at) => [user(`q${at} ${'x'.repeat(900)}`), assistant('ok')]).flat(),
  );
  await start();
  refuseWhile((call) => bytesOf(call) > 30_000, TOO_LARGE);
  world.telegram.say(CHAT, 'Still there?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered' });
  const asked = world.claude.calls.map(({ pendingText, status }) => [pendingText.slice(0, 14), status]);
  expect(asked).toContainEqual(['This is a test', 200]);
  await world.telegram.waitForText(ALERT_CHAT, /fresh session/);
});

test('media: only the picture that the error names is removed', async () => {
  await givenHistory(
    user(text('first'), image(png(10, 10))),
    assistant('seen'),
    user(text('second'), image(png(20, 20)), image(png(30, 30))),
    assistant('seen too'),
  );
  await start();
  refuseWhile(
    (call) => mediaIn(call) === 3,
    badRequest('messages.2.content.1.image.source.base64.data: Could not process image'),
  );
  world.telegram.say(CHAT, 'Compare them');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  const [, , third] = mainCalls();
  const kept = third?.body.messages.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'image');
  expect(kept?.map(({ source }) => (source as Block).data)).toEqual([png(10, 10), png(30, 30)]);
  expect(shown()[0]).toMatch(/left out a picture/);
  world.telegram.say(CHAT, 'Again');
  await nextOutcome(world, CHAT, 2);
  expect(mainCalls().map(mediaIn)).toEqual([3, 3, 2, 2]);
});

test('media: an error that names no picture removes all of them', async () => {
  await givenHistory(
    user(text('a'), image(png(10, 10))),
    assistant('b'),
    user(text('c'), image(png(20, 20))),
    assistant('d'),
  );
  await start();
  refuseWhile((call) => mediaIn(call) > 0, badRequest('Could not process image'));
  world.telegram.say(CHAT, 'What did you see?');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().map(mediaIn)).toEqual([2, 2, 0]);
});

test('poison: refused thinking is removed in one step and for good', async () => {
  await givenHistory(user('a'), assistant(thinking('hm', SIGNED), text('b')));
  await start();
  const thinks = ({ body }: ClaudeCall) => JSON.stringify(body.messages).includes(SIGNED.signature);
  refuseWhile(thinks, badRequest('messages.1.content.0: Invalid `signature` in `thinking` block'));
  world.telegram.say(CHAT, 'Go on');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(mainCalls().map(thinks)).toEqual([true, true, false]);
  expect(shown()).toHaveLength(1);
  world.telegram.say(CHAT, 'And on');
  await nextOutcome(world, CHAT, 2);
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 400, 200, 200]);
});

test('poison: trouble other than thinking leads to a fresh session, and the notice does not mention size', async () => {
  await givenHistory(user('the poisoned one'), assistant('b'));
  await start();
  refuseWhile(
    ({ body }) => JSON.stringify(body.messages[0]).includes('"text":"the poisoned one"'),
    badRequest('messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1'),
  );
  world.telegram.say(CHAT, 'Go on');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 1 });
  expect(shown()[0]).toMatch(/started a new one/);
  expect(shown()[0]).not.toMatch(/too large/);
  world.telegram.say(CHAT, 'And on');
  await nextOutcome(world, CHAT, 2);
  expect(mainCalls().map(({ status }) => status)).toEqual([400, 400, 200, 200, 200]);
});

test('unknown: a 400 that a session always gets occurs at most three times a message', async () => {
  await givenHistory(user('a'), assistant('b'));
  await start();
  refuseWhile(({ body }) => body.messages.length > 2, badRequest('something that nobody has ever seen'));
  world.telegram.say(CHAT, 'One');
  await nextOutcome(world, CHAT);
  world.telegram.say(CHAT, 'Two');
  await nextOutcome(world, CHAT, 2);
  expect(mainCalls().filter(({ status }) => status === 400).length).toBeLessThanOrEqual(6);
});

test('media: a second refusal removes all pictures at once, with one notice in all', async () => {
  await givenHistory(user(text('a'), image(png(10, 10)), image(png(20, 20)), image(png(30, 30))), assistant('b'));
  await start();
  refuseWhile(
    (call) => mediaIn(call) > 0,
    badRequest('messages.0.content.1.image.source.base64.data: Could not process image'),
  );
  world.telegram.say(CHAT, 'Look');
  expect(await nextOutcome(world, CHAT)).toMatchObject({ outcome: 'answered', recoveries: 2 });
  expect(mainCalls().map(mediaIn)).toEqual([3, 3, 2, 0]);
  expect(shown()).toEqual([expect.stringMatching(/left out a picture/), expect.any(String)]);
});

test('a model that binds its thinking accepts the requests after a compaction', async () => {
  await moveToWorld({ claude: { bindThinking: true, windowTokens: 60_000 } });
  await start();
  world.claude.react((call) =>
    call.kind === 'main' ? { do: 'answer', content: [thinking(`about ${call.index}`), text('b')] } : undefined,
  );
  const long = 'lorem ipsum '.repeat(300);
  for (let n = 1; n <= 14; n++) {
    if (n === 10) world.claude.windowTokens = 9_000;
    world.telegram.say(CHAT, `${n} ${long}`);
    expect(await nextOutcome(world, CHAT, n)).toMatchObject({ outcome: 'answered' });
  }
  expect(world.claude.calls.some(({ kind }) => kind === 'compaction')).toBe(true);
  const events = JSON.stringify(await world.peek.xrange(world.keys.events, '-', '+'));
  expect(events).toMatch(/context\.compacted/);
  expect(events).not.toMatch(/thinking-dropped|request\.invalid/);
  expect(world.claude.violations()).toEqual([]);
});

test('the press of a button that names no command, such as one of an earlier bot, is answered', async () => {
  await start();
  const { url, token } = world.telegram;
  world.telegram.openChat(CHAT);
  const reply_markup = { inline_keyboard: [[{ text: 'Old', callback_data: 'of another program' }]] };
  const sent = await fetch(`${url}/bot${token}/sendMessage`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ chat_id: CHAT, text: 'From before', reply_markup }),
  });
  const { result } = (await sent.json()) as { result: { message_id: number } };
  const queryId = world.telegram.press(CHAT, result.message_id, 'of another program');
  await until('an answer', () => world.telegram.answers.find((answer) => answer.queryId === queryId), 20_000);
});
