import { expect, test } from '@jest/globals';
import type { Telegram } from '../../../../shared/telegram/client.ts';
import type { TelegramResult } from '../../../../shared/telegram/failure.ts';
import { guardToken } from '../../../../shared/telegram/rejected-token.ts';
import { instantTelegram } from '../../../tools/bench/instant.ts';

const REFUSED: TelegramResult<never> = { ok: false, failure: { kind: 'unauthorized', description: 'Unauthorized' } };
const BUSY: TelegramResult<never> = { ok: false, failure: { kind: 'throttled', description: 'Too Many Requests' } };
const CHAT = { chatId: 1 };
const METHODS = Object.entries(instantTelegram()).flatMap(([name, value]) =>
  typeof value === 'function' ? [name as keyof Telegram] : [],
);

/** A port that answers from a variable, a clock that is moved by hand, and the guard between them. */
function guarded() {
  const world = { answer: REFUSED as TelegramResult<never> | undefined, nowMs: 1_000_000, calls: 0 };
  const answer = async (value: unknown) => {
    world.calls += 1;
    return (world.answer ?? { ok: true, value }) as never;
  };
  const port = { ...instantTelegram() } as Record<string, unknown>;
  for (const name of METHODS) port[name] = () => answer(name);
  return { world, telegram: guardToken(port as unknown as Telegram, () => world.nowMs) };
}

test('after a refused token, methods fail as unauthorized without a call until the backoff is over', async () => {
  const { world, telegram } = guarded();
  expect(await telegram.sendMessage(CHAT, 'a')).toEqual(REFUSED);
  world.nowMs += 4_999;
  const results = await Promise.all(METHODS.map((name) => (telegram[name] as () => Promise<unknown>)()));
  expect(results).toHaveLength(19);
  for (const result of results) expect(result).toMatchObject({ failure: { kind: 'unauthorized', retryAfterMs: 1 } });
  expect(world.calls).toBe(1);
});

test('each refusal doubles the backoff, from 5 seconds up to ten minutes, and a successful call resets it', async () => {
  const { world, telegram } = guarded();
  for (const waitMs of [5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]) {
    const before = world.calls;
    expect(await telegram.getMe()).toEqual(REFUSED);
    world.nowMs += waitMs - 1;
    await telegram.getMe();
    expect(world.calls).toBe(before + 1);
    world.nowMs += 1;
  }
  world.answer = undefined;
  expect(await telegram.getMe()).toMatchObject({ ok: true });
  world.answer = REFUSED;
  await telegram.getMe();
  world.nowMs += 5_000;
  expect(await telegram.getMe()).toEqual(REFUSED);
});

test('concurrent refused calls count as one refusal', async () => {
  const { world, telegram } = guarded();
  await Promise.all(Array.from({ length: 8 }, () => telegram.sendMessage(CHAT, 'a')));
  world.nowMs += 5_000;
  world.answer = undefined;
  expect(await telegram.getMe()).toMatchObject({ ok: true });
});

test('any other failure blocks no call', async () => {
  const { world, telegram } = guarded();
  world.answer = BUSY;
  for (let n = 1; n <= 20; n++) expect(await telegram.sendMessage(CHAT, 'a')).toEqual(BUSY);
  expect(world.calls).toBe(20);
});
