import { expect, test } from '@jest/globals';
import { introduceBot } from '../../../../producer/receive/bot-profile.ts';
import { MENUS, type Menu } from '../../../../shared/telegram/commands.ts';
import type { TelegramFailure, TelegramResult } from '../../../../shared/telegram/failure.ts';

const failing = (kind: TelegramFailure['kind']): TelegramResult<never> => ({
  ok: false,
  failure: { kind, description: kind, retryAfterMs: 1 },
});
const HERE = { ok: true, value: { id: 1, username: 'spillway_bot' } } as const;
const [first, ...others] = MENUS;

test.each<[string, TelegramResult<typeof HERE.value>[], TelegramResult<void>, asked: unknown[]]>([
  [
    'that is away is asked again',
    [failing('unreached'), failing('unauthorized')],
    failing('unknown'),
    [first, ...MENUS],
  ],
  ['that refuses a menu is asked for that menu once', [], failing('rejected'), [first, ...others]],
  ['that has no menus is asked for each once', [], failing('not_offered'), [first, ...others]],
])('a Telegram %s, its name first and then each menu', async (_, failures, menuFailure, menus) => {
  const expected = [...failures.map(() => 'name'), 'name', ...menus];
  const asked: unknown[] = [];
  const done = Promise.withResolvers<void>();
  const telegram = {
    async getMe() {
      asked.push('name');
      return failures.shift() ?? HERE;
    },
    async setCommands(menu: Menu) {
      const isFirst = asked.at(-1) === 'name';
      asked.push(menu);
      if (asked.length === expected.length) setImmediate(done.resolve);
      return isFirst ? menuFailure : ({ ok: true, value: undefined } as const);
    },
  };
  const bot = introduceBot(telegram, MENUS);
  expect(bot.botName()).toBeUndefined();
  await done.promise;
  expect(bot.botName()).toBe('spillway_bot');
  await bot.stop();
  expect(asked).toEqual(expected);
});
