import { expect, test } from '@jest/globals';
import type { Lease } from '../../../../producer/receive/lease.ts';
import { startWebhookKeeper } from '../../../../producer/receive/webhook-manager.ts';
import type { WebhookInfo } from '../../../../shared/telegram/client.ts';
import type { TelegramResult } from '../../../../shared/telegram/failure.ts';
import { instantTelegram } from '../../../bench/instant.ts';
import { term, terms } from '../../../fixture/lease.ts';
import { producerEnv } from '../../../fixture/producer-env.ts';

const URL_OF_OURS = 'https://example.org/hook';
const ADDRESS = { url: URL_OF_OURS, secret: 's' };
const WELL: WebhookInfo = { url: URL_OF_OURS, pending: 0 };
const TAKEN: WebhookInfo = { url: '', pending: 0 };
const UNDELIVERED: WebhookInfo = {
  url: URL_OF_OURS,
  pending: 2,
  lastError: { atS: 1, description: 'Connection refused' },
};
const FAILED: TelegramResult<never> = { ok: false, failure: { kind: 'unreached', description: 'x', retryAfterMs: 1 } };
const NOT_OFFERED: TelegramResult<never> = { ok: false, failure: { kind: 'not_offered', description: 'Not Found' } };

const ok = (value: WebhookInfo) => ({ ok: true, value }) as const;

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
        return { ok: false, failure: { kind: 'aborted', description: 'stopped' } };
      },
    },
  });
  const keeper = startWebhookKeeper(env, ADDRESS, 1);
  await done.promise;
  const seen = { trouble: keeper.trouble(), lastAnswerMs: keeper.lastAnswerMs() };
  await keeper.stop();
  return { did, ...seen };
}

const SET = `set ${URL_OF_OURS} s`;

test('sets the webhook once, and each check that finds it well is a sign of life', async () => {
  const { did, trouble, lastAnswerMs } = await keep([ok(WELL), ok(WELL), ok({ ...WELL, pending: 3 })]);
  expect(did).toEqual([SET, 'answered', 'answered', 'answered']);
  expect([trouble, lastAnswerMs]).toEqual([undefined, expect.any(Number)]);
});

test('sets the webhook again and again while Telegram is unreachable, with no sign of life', async () => {
  const { did } = await keep([FAILED, ok(WELL)], { settings: [FAILED, FAILED] });
  expect(did).toEqual([...Array(3).fill([SET, 'unreached']).flat(), SET, 'answered']);
});

test('an undelivered webhook is no sign of life and is set again, which repairs a wrong secret', async () => {
  const { did, trouble } = await keep([ok(WELL), ok(UNDELIVERED), ok(UNDELIVERED), ok(UNDELIVERED)]);
  expect(did).toEqual([SET, 'answered', 'undelivered', SET, 'undelivered', SET, 'undelivered', SET]);
  expect(trouble).toBe('Connection refused');
  expect((await keep([ok(UNDELIVERED), ok(WELL)])).trouble).toBeUndefined();
});

test('reports why the webhook could not be set, which is no sign of life', async () => {
  const refused = { ok: false, failure: { kind: 'rejected', description: 'bad webhook', retryAfterMs: 1 } } as const;
  const { promise, resolve } = Promise.withResolvers<void>();
  const env = producerEnv({
    heartbeat: { answered: () => {}, failed: () => resolve() },
    telegram: { ...instantTelegram(), setWebhook: async () => refused },
  });
  const keeper = startWebhookKeeper(env, ADDRESS, 1);
  await promise;
  expect([keeper.trouble(), keeper.lastAnswerMs()]).toEqual(['bad webhook', undefined]);
  await keeper.stop();
});

test('a server without getWebhookInfo counts as a sign of life, and the webhook is set again at each check', async () => {
  const { did } = await keep([NOT_OFFERED, NOT_OFFERED]);
  expect(did).toEqual([SET, 'answered', SET, 'answered', SET]);
});

test('sets nothing more after it loses the lease, and sets the webhook first in the next term', async () => {
  const [first, second] = [term(), term()];
  const lease = terms(first.asTerm, second.asTerm);
  const { did } = await keep([ok(WELL), ok(TAKEN), ok(WELL)], { lease, onLook: (nth) => nth === 2 && first.lose() });
  expect(did).toEqual([SET, 'answered', SET, 'answered']);
});

test('sets nothing while the lease cannot be renewed', async () => {
  const lease = terms(term(async () => false).asTerm, term().asTerm);
  expect((await keep([ok(WELL)], { lease })).did).toEqual([SET, 'answered']);
});
