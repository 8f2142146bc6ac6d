import { expect, test } from '@jest/globals';
import { introduceBot } from '../../../../producer/receive/bot-profile.ts';
import { MENUS } from '../../../../shared/telegram/commands.ts';
import type { TelegramFailure, TelegramResult } from '../../../../shared/telegram/failure.ts';

const failing = (kind: TelegramFailure['kind']): TelegramResult<never> => ({
  ok: false,
  failure: { kind, description: kind, retryAfterMs: 1 },
});
const HERE = { ok: true, value: { id: 1, username: 'spillway_bot' } } as const;
const SET: TelegramResult<void> = { ok: true, value: undefined };

/** A Telegram that gives these answers to each method in turn, and tells when the last one was given. */
function answering(names: TelegramResult<typeof HERE.value>[], commands: TelegramResult<void>[]) {
  const asked: string[] = [];
  const done = Promise.withResolvers<void>();
  const next = <T>(method: string, answers: T[]): T => {
    asked.push(method);
    const answer = answers.shift();
    if (names.length === 0 && commands.length === 0) setImmediate(done.resolve);
    if (answer === undefined) throw new Error(`${method} was called once too often`);
    return answer;
  };
  const telegram = {
    getMe: async () => next('getMe', names),
    setCommands: async () => next('setCommands', commands),
  };
  return { telegram, asked, done: done.promise };
}

test('calls getMe until it succeeds, then setCommands for each menu until it succeeds, then nothing more', async () => {
  const { telegram, asked, done } = answering(
    [failing('unreached'), failing('unauthorized'), HERE],
    [failing('unknown'), SET, SET, SET, SET],
  );
  const bot = introduceBot(telegram, MENUS);
  expect(bot.botName()).toBeUndefined();
  await done;
  expect(bot.botName()).toBe('spillway_bot');
  expect(asked).toEqual(['getMe', 'getMe', 'getMe', ...Array.from({ length: 5 }, () => 'setCommands')]);
  await bot.stop();
});

test.each(['rejected', 'not_offered'] as const)('does not retry setCommands after it is %s', async (kind) => {
  const { telegram, asked, done } = answering([HERE], [failing(kind), SET, SET, SET]);
  const bot = introduceBot(telegram, MENUS);
  await done;
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(asked).toEqual(['getMe', ...MENUS.map(() => 'setCommands')]);
  await bot.stop();
});

test('calls nothing more after stop()', async () => {
  const { telegram, asked } = answering([failing('unreached'), HERE], [SET]);
  const bot = introduceBot(telegram, MENUS);
  await bot.stop();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(asked).toEqual(['getMe']);
});
