import { expect, test } from '@jest/globals';
import type { Lease } from '../../../../producer/receive/lease.ts';
import { startWebhookKeeper } from '../../../../producer/receive/webhook-manager.ts';
import type { WebhookInfo } from '../../../../shared/telegram/client.ts';
import type { TelegramFailure, TelegramResult } from '../../../../shared/telegram/failure.ts';
import { term, terms } from '../../../fixture/lease.ts';
import { producerEnv } from '../../../fixture/producer-env.ts';
import { instantTelegram } from '../../../tools/bench/instant.ts';

const URL_OF_OURS = 'https://example.org/hook';
const SET = `set ${URL_OF_OURS} s`;
const WELL: WebhookInfo = { url: URL_OF_OURS, pending: 0 };

const ok = (value: WebhookInfo) => ({ ok: true, value }) as const;
const failed = (kind: TelegramFailure['kind']): TelegramResult<never> => ({
  ok: false,
  failure: { kind, description: `it is ${kind}`, retryAfterMs: 1 },
});

/** Runs a keeper over scripted looks, until they are used up; answers what it did and told, in order. */
async function keep(
  looks: TelegramResult<WebhookInfo>[],
  options: { settings?: TelegramResult<void>[]; lease?: Pick<Lease, 'begin'>; onLook?: (nth: number) => void } = {},
) {
  const did: string[] = [];
  const done = Promise.withResolvers<void>();
  let nth = 0;
  const env = producerEnv({
    ...(options.lease && { lease: options.lease }),
    heartbeat: { answered: () => void did.push('answered'), failed: (kind) => void did.push(kind) },
    telegram: {
      ...instantTelegram(),
      async setWebhook(url, secret) {
        did.push(`set ${url} ${secret}`);
        return options.settings?.shift() ?? { ok: true, value: undefined };
      },
      async getWebhookInfo(signal) {
        const look = looks[nth];
        nth += 1;
        options.onLook?.(nth);
        if (look) return look;
        done.resolve();
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return failed('aborted');
      },
    },
  });
  const keeper = startWebhookKeeper(env, { url: URL_OF_OURS, secret: 's' }, 1);
  await done.promise;
  await keeper.stop();
  return did.join(', ');
}

test('sets the webhook again and again while Telegram is unreachable, with no sign of life', async () => {
  const did = await keep([failed('unreached'), ok(WELL)], { settings: [failed('unreached'), failed('rejected')] });
  expect(did).toBe(`${SET}, unreached, ${SET}, rejected, ${SET}, unreached, ${SET}, answered`);
});

test('a server without getWebhookInfo counts as a sign of life, and the webhook is set again at each check', async () => {
  const did = await keep([failed('not_offered'), failed('not_offered')]);
  expect(did).toBe(`${SET}, answered, ${SET}, answered, ${SET}`);
});

test('sets nothing while the lease cannot be renewed or is lost, and the webhook first in the next term', async () => {
  const [first, second] = [term(), term()];
  const lease = terms(term(async () => false).asTerm, first.asTerm, second.asTerm);
  const looks = [ok(WELL), ok({ url: '', pending: 0 }), ok(WELL)];
  const did = await keep(looks, { lease, onLook: (nth) => nth === 2 && first.lose() });
  expect(did).toBe(`${SET}, answered, ${SET}, answered`);
});
