import { expect, test } from '@jest/globals';
import { CHAT, eachWithGateway, shown, spawn, start, stopGateways, world } from '../../fixture/each-test.ts';
import { ALERT_CHAT } from '../../fixture/gateway.ts';
import { conversation } from '../../fixture/history.ts';
import { untilSettled } from '../../fixture/ledger.ts';
import { ask, givenLines } from '../../fixture/whole-chat.ts';
import type { ClaudeCall, Reaction } from '../../stand-in/claude/reaction.ts';

const DOWN = { do: 'error', status: 529, type: 'overloaded_error', message: 'Overloaded' } as const;

eachWithGateway({ env: { MAX_ATTEMPTS: '2' } }, { WAITING_NOTICE_MS: 1_000 });

async function restart(env: Record<string, string>): Promise<void> {
  await stopGateways();
  await start(env);
}

test('after an error event in a stream and an answer without text the call is retried, and the message is answered once', async () => {
  const first: Reaction[] = [
    { do: 'errorEvent', type: 'overloaded_error', message: 'Overloaded' },
    { do: 'answer', content: [] },
  ];
  world.claude.react((call) => first[call.index]);
  expect(await ask('Patience')).toMatchObject({ outcome: 'answered', recoveries: 0 });
  expect(shown(CHAT)).toHaveLength(1);
  expect(world.claude.calls).toHaveLength(3);
});

test('an outage longer than OUTAGE_PATIENCE_MS fails the message, after several calls, without a word of the endpoint', async () => {
  await restart({ OUTAGE_PATIENCE_MS: '500' });
  world.claude.react(() => ({ do: 'error', status: 500, type: 'api_error', message: 'secret internals' }));
  expect(await ask('Anybody?')).toMatchObject({ outcome: 'failed', reason: 'server_error' });
  expect(shown(CHAT)).toEqual([expect.stringMatching(/couldn't answer just now/)]);
  const alert = await world.telegram.waitForText(ALERT_CHAT, /A message failed/);
  expect(`${alert.text}${shown(CHAT).join()}`).not.toMatch(/secret internals/);
  expect(world.claude.calls.length).toBeGreaterThan(1);
});

test('12 chats wait out an outage with one notice each, are answered in order, and the operator is told of the outage alone', async () => {
  const chats = Array.from({ length: 12 }, (_, at) => CHAT + at);
  let isDown = true;
  world.claude.react((call) => (isDown && call.kind === 'main' ? DOWN : undefined));
  for (const text of ['First', 'Second']) for (const chat of chats) world.telegram.say(chat, text);
  for (const chat of chats) await world.telegram.waitForText(chat, /your message is saved/i);
  isDown = false;
  const settled = await untilSettled(world, 2 * chats.length);
  expect(settled.every(({ outcome, recoveries }) => outcome === 'answered' && recoveries === 0)).toBe(true);
  const answers = ['First', 'Second'].map((text) => expect.stringContaining(text));
  for (const chat of chats) expect(shown(chat)).toEqual([expect.stringMatching(/message is saved/), ...answers]);
  const alerts = shown(ALERT_CHAT).filter((text) => !/^(?:Resolved: t|T)he model endpoint/.test(text));
  expect(alerts).toEqual([]);
});

test('the log of a turn tells why it was postponed, and its end, each line with trace, chat and entry', async () => {
  await stopGateways();
  world.claude.react(({ index }) => (index === 0 ? DOWN : undefined));
  const gateway = await spawn();
  const { entry, traceId } = await ask('My private words');
  await gateway.stop();
  const lines = gateway.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  const own = lines.filter((line) => line.entry === entry);
  expect(own.map(({ msg, reason }) => [msg, reason])).toEqual([
    ['tried again later', 'overloaded'],
    ['settled', undefined],
  ]);
  for (const line of own) expect(line).toMatchObject({ traceId, chat: String(CHAT) });
  expect(gateway.log.join('')).not.toContain('private');
});

const FIRST = 'claude-opus-5-5';
const SECOND = 'claude-haiku-4-5-20251001';

function modelsOf(calls: readonly ClaudeCall[]): string[] {
  return calls.filter(({ kind }) => kind === 'main').map(({ body }) => body.model);
}

test('when a model is overloaded, the fallback answers in the same attempt', async () => {
  await restart({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  world.claude.react((call) => (call.body.model === FIRST ? DOWN : undefined));
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered', attempts: 1 });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND]);
});

test('the fallback is never sent an overflow, and when it is unavailable too, the message waits for the first model', async () => {
  await restart({ MODEL: FIRST, FALLBACK_MODEL: SECOND });
  world.claude.react((call) => (call.index < 2 ? DOWN : undefined));
  expect(await ask('Hello')).toMatchObject({ outcome: 'answered' });
  expect(modelsOf(world.claude.calls)).toEqual([FIRST, SECOND, FIRST]);
  let overflows = 0;
  world.claude.react((call) => (call.kind === 'main' && overflows++ < 2 ? { do: 'overflow' } : undefined));
  await givenLines(conversation(60, 1_000));
  await ask('Hello again', 2);
  expect(new Set(modelsOf(world.claude.calls.slice(3)))).toEqual(new Set([FIRST]));
});
